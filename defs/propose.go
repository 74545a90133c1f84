package defs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nearmetal/nearmetal/spack"
)

var reSoftware = regexp.MustCompile(`(?i)\b(ucx|pmix|libfabric|ucc|hwloc|gdrcopy|nccl|osu-micro-benchmarks)[-_/]v?([0-9]+\.[0-9]+)`)

// Propose writes a recipe with the stack of somebody's definition: the MPI that
// it has, what else it names with a version, CUDA where it is there. Where that
// stack cannot work, it is the nearest one that does, and a remark says so.
func Propose(stages []Stage) string {
	v := newLintView(stages)
	mpi, provider := v.mpi()
	stack := append([]spack.Piece{mpi}, v.named(mpi.Name)...)
	var remark string
	if cat, err := spack.Load(); err == nil {
		if c := cat.Check(stack); c != nil && c.Nearest != nil {
			remark, stack = c.Error(), c.Nearest
		}
	}
	for _, p := range stack[1:] {
		if apt := families["apt"].software[p.Name]; len(apt.build)+len(apt.runtime) == 0 {
			provider = ProviderSpack
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Proposed by nearmetal lint --fix: the stack of the definition, to start from.\n")
	if remark != "" {
		fmt.Fprintf(&b, "# The definition's own stack was changed: %s\n", remark)
	}
	fmt.Fprintf(&b, "name: proposed\nbase:\n  from: docker\n  ref: %s\n  # digest: sha256:…      # nearmetal lock finds it\nprovider: %s\n", v.proposedBase(), provider)
	if provider == ProviderSpack {
		b.WriteString("spack:\n  version: 0.23\n  target: x86_64_v3       # not that of the build machine\n")
	}
	b.WriteString("stack:\n")
	for i, p := range stack {
		version := p.Version
		if version == "" {
			version = "any"
		}
		if i == 0 {
			fmt.Fprintf(&b, "  mpi: %s\n", strings.TrimSuffix(p.Name+"@"+p.Version, "@"))
			continue
		}
		fmt.Fprintf(&b, "  %s: %s\n", p.Name, version)
	}
	b.WriteString("# packages, files, build and copy: what the definition builds of its own, see nearmetal init\n")
	return b.String()
}

// mpi is the definition's MPI in a form that a recipe may name.
func (v *lintView) mpi() (spack.Piece, string) {
	s, built := v.source()
	name := "openmpi"
	if s.name == "mpich" {
		name = "mpich"
	}
	switch {
	case built && s.major() >= 4 && s.name != "mvapich" && s.name != "mvapich2":
		return spack.Piece{Name: name, Version: twoParts(s.version)}, ProviderSpack
	case built, v.hasCUDA():
		return spack.Piece{Name: name}, ProviderSpack
	case anyMatch(v.post, regexp.MustCompile(`\bmpich(-devel)?\b|\blibmpich-dev\b`)):
		name = "mpich"
	}
	return spack.Piece{Name: name}, ProviderDistro
}

func (v *lintView) hasCUDA() bool {
	_, ok := v.cuda()
	return ok
}

// named is what else the definition brings in from source, with two parts of
// its version, and UCX, which every fabric wants.
func (v *lintView) named(mpi string) []spack.Piece {
	found := map[string]string{}
	for _, l := range v.post {
		for _, m := range reSoftware.FindAllStringSubmatch(l.text, -1) {
			found[strings.ToLower(m[1])] = m[2]
		}
	}
	if _, ok := found["ucx"]; !ok && mpi == "openmpi" {
		found["ucx"] = ""
	}
	if v.hasCUDA() {
		found["cuda"] = ""
	}
	var out []spack.Piece
	for _, name := range componentNames() {
		if version, ok := found[name]; ok {
			out = append(out, spack.Piece{Name: name, Version: version})
		}
	}
	return out
}

func twoParts(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// proposedBase is the last base where nearmetal knows its packages and it is
// still supported; Debian otherwise.
func (v *lintView) proposedBase() string {
	bases := v.bases()
	if len(bases) > 0 {
		ref, _, _ := strings.Cut(bases[len(bases)-1].text, "@")
		b := Base{From: "docker", Ref: strings.TrimPrefix(ref, "docker.io/")}
		if b.family() != "" && refRE.MatchString(ref) && !reEOL.MatchString(ref) && !v.hasCUDA() {
			return ref
		}
	}
	return "debian:trixie-slim"
}
