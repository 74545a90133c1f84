package defs

import (
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/spack"
)

// baseKind is which keys go with one base.from; the first ones are needed.
type baseKind struct {
	from   string
	keys   []string
	needed int
}

var baseKeys = []baseKind{
	{"docker", []string{"ref", "digest"}, 1},
	{"localimage", []string{"path"}, 1},
	{"debootstrap", []string{"suite", "mirror"}, 2}, // Apptainer has no default mirror
}

func (c *checker) base(b Base) {
	i := slices.IndexFunc(baseKeys, func(k baseKind) bool { return k.from == b.From })
	if i < 0 {
		c.fault("base.from", "\"%s\" is not docker, localimage or debootstrap", clip(b.From))
		return
	}
	values := map[string]string{"ref": b.Ref, "digest": b.Digest, "path": b.Path, "suite": b.Suite, "mirror": b.Mirror}
	keys := baseKeys[i].keys
	for j, k := range keys {
		if values[k] == "" && j < baseKeys[i].needed {
			c.fault("base."+k, "needed with from: %s", b.From)
		}
	}
	for _, k := range sortedKeys(values) {
		if values[k] != "" && !slices.Contains(keys, k) {
			c.fault("base."+k, "does not go with from: %s", b.From)
		}
	}
	c.baseValues(b)
	c.baseDistro(b)
}

func (c *checker) baseValues(b Base) {
	if b.Ref != "" {
		c.match("base.ref", b.Ref, refRE, "a docker reference as in debian:trixie-slim (the digest has its own key)")
	}
	if b.Digest != "" {
		c.match("base.digest", b.Digest, digestRE, "a digest: sha256:<64 hexadecimal digits>")
	}
	if b.Suite != "" {
		c.match("base.suite", b.Suite, suiteRE, "a suite as in trixie")
	}
	if b.Mirror != "" {
		c.match("base.mirror", b.Mirror, mirrorRE, "a mirror's URL")
	}
	if b.Path != "" {
		c.path("base.path", b.Path, strings.HasPrefix(b.Path, "/"))
	}
}

func (c *checker) baseDistro(b Base) {
	if b.family() != "" {
		return
	}
	if b.Distro != "" {
		c.fault("base.distro", "\"%s\" is not one of %s", clip(b.Distro), distroNames())
		return
	}
	c.fault("base", "the base's distribution cannot be told from it; add distro: (%s)", distroNames())
}

func (c *checker) stack(r Recipe) {
	s := r.Stack
	if s.MPI.Name == "" {
		c.fault("stack", "mpi: is needed (%s)", strings.Join(mpiNames(), ", "))
	} else if !slices.Contains(mpiNames(), s.MPI.Name) {
		c.fault("stack.mpi", "\"%s\" is not one of %s", clip(s.MPI.Name), strings.Join(mpiNames(), ", "))
	}
	c.version("stack.mpi", s.MPI.Version)
	for _, comp := range s.Components {
		at := "stack." + comp.Name
		if !slices.Contains(componentNames(), comp.Name) {
			c.fault(at, "not known in a stack; known: mpi, %s", strings.Join(componentNames(), ", "))
			continue
		}
		c.version(at, comp.Version)
		if fam, ok := families[r.Base.family()]; ok && r.Provider == ProviderDistro && len(fam.software[comp.Name].runtime)+len(fam.software[comp.Name].build) == 0 {
			c.fault(at, "%s comes with provider: spack only", comp.Name)
		}
	}
	c.version("stack.driver", s.Driver)
	if len(c.faults) == 0 {
		c.together(s)
	}
}

// together refuses a stack that cannot work, with the nearest one that does.
func (c *checker) together(s Stack) {
	cat, err := spack.Load()
	if err != nil {
		panic(err) // part of the binary
	}
	if conflict := cat.Check(s.pieces()); conflict != nil {
		field := "stack." + conflict.Name
		if conflict.Name == s.MPI.Name {
			field = "stack.mpi"
		}
		c.fault(field, "%s", conflict.Error())
	}
}

func (s Stack) pieces() []spack.Piece {
	var out []spack.Piece
	for _, c := range s.everything() {
		out = append(out, spack.Piece{Name: c.Name, Version: c.Version})
	}
	if s.Driver != "" {
		out = append(out, spack.Piece{Name: driver, Version: s.Driver})
	}
	return out
}

func (c *checker) version(field, v string) {
	if v != "" {
		c.match(field, v, versionRE, "a version as in 5.0 or 5.0.7, or any")
	}
}
