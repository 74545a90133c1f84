package defs

import (
	"maps"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/spack"
)

// component reads "openmpi@5.0" into a name and a version.
func component(s string) Component {
	name, v, _ := strings.Cut(s, "@")
	return Component{Name: name, Version: v}
}

// version turns "any" into no version.
func version(s string) string {
	if s == "any" {
		return ""
	}
	return s
}

// driver is what a stack names and no image carries: the oldest NVIDIA driver
// that it must run under.
const driver = "driver"

func componentNames() []string {
	return slices.DeleteFunc(slices.Clone(spack.Names()), func(n string) bool { return slices.Contains(mpiNames(), n) })
}

func mpiNames() []string { return []string{"openmpi", "mpich"} }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// distros maps the distribution of a base to its family of packages.
var distros = []struct{ name, family string }{
	{"debian", "apt"},
	{"ubuntu", "apt"},
	{"rocky", "dnf"},
	{"rockylinux", "dnf"},
	{"alma", "dnf"},
	{"almalinux", "dnf"},
	{"opensuse", "zypper"},
	{"leap", "zypper"},
	{"tumbleweed", "zypper"},
}

// Distro is the base's distribution: as the recipe says, or as the name of a
// docker reference does; "" when neither tells.
func (b Base) distro() string {
	switch {
	case b.Distro != "":
		return b.Distro
	case b.From == "debootstrap":
		return "debian"
	case b.From == "docker":
		repo := b.Ref[strings.LastIndex(b.Ref, "/")+1:]
		repo, _, _ = strings.Cut(repo, ":")
		return repo
	}
	return ""
}

// family gives apt, dnf or zypper; "" for a distribution we do not know.
func (b Base) family() string {
	for _, d := range distros {
		if d.name == b.distro() {
			return d.family
		}
	}
	return ""
}

// distroNames lists what base.distro may be.
func distroNames() string { return "debian, ubuntu, rocky, alma, opensuse" }

// StackNames lists what a stack may name, MPI first: the order of the labels.
func StackNames() []string { return slices.Clone(spack.Names()) }
