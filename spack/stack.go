// Package spack knows what goes together in an MPI and GPU stack, writes
// Spack's environment for it and reads the lock that Spack makes of it.
//
//	stacks/*.yaml ─→ Catalogue ─→ Check(Request) ─→ nil | *Conflict (reason, nearest stack that works)
//	Environment ─→ Render ─→ spack.yaml ─→ (spack concretize) ─→ spack.lock ─→ ReadLock ─→ Lock
//
// The rules are data: each piece of software is one YAML file with the versions
// that Spack knows, the variants that the field wants, and what it needs of the
// others, with the reason and its source.
package spack

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// Software is one piece of a stack: one file of stacks/.
type Software struct {
	Name     string   `yaml:"name"`     // as a recipe calls it
	Package  string   `yaml:"package"`  // as Spack calls it; "" is no package (driver)
	What     string   `yaml:"what"`     // one line
	MPI      bool     `yaml:"mpi"`      // may stand at mpi:
	Versions []string `yaml:"versions"` // newest first
	Variants []string `yaml:"variants"` // always asked of Spack
	With     []With   `yaml:"with"`     // asked when another piece is in the stack
	Rules    []Rule   `yaml:"rules"`
}

// With is a variant that goes with another piece of the stack.
type With struct {
	Has      string `yaml:"has"`
	When     string `yaml:"when"` // versions of this software, "" all
	Variants string `yaml:"variants"`
	Else     string `yaml:"else"` // where the other piece is not there
}

// Rule is what some versions of a software need of another.
type Rule struct {
	When     string `yaml:"when"`     // versions of this software, "" all
	Needs    string `yaml:"needs"`    // NAME or NAME@RANGE
	Named    bool   `yaml:"named"`    // the recipe has to name it; otherwise the rule only binds what is named
	Excludes bool   `yaml:"excludes"` // the opposite: these do not go together
	Reason   string `yaml:"reason"`
	Source   string `yaml:"source"`
}

// target splits what a rule needs into the software and its range.
func (r Rule) target() (name, ranges string) {
	name, ranges, _ = strings.Cut(r.Needs, "@")
	return name, ranges
}

// Catalogue is all the software, in the order that a stack is listed in.
type Catalogue []Software

//go:embed stacks/*.yaml
var stacks embed.FS

// order of the catalogue: MPI first, then from what MPI stands on to what
// stands on MPI. A file that is not listed is an error of Load.
var order = []string{
	"openmpi", "mpich", "pmix", "prrte", "ucx", "ucc", "libfabric", "hwloc", "rdma-core", "xpmem", "gdrcopy", "cuda",
	"nccl", "aws-ofi-nccl", "nccl-tests", "osu-micro-benchmarks", "driver",
}

// Names lists the software that an image may carry, MPI first.
func Names() []string {
	return order[:len(order)-1] // the driver is the host's
}

// Load gives the embedded catalogue; it is read once.
func Load() (Catalogue, error) { return loaded() }

var loaded = sync.OnceValues(read)

func read() (Catalogue, error) {
	files, err := fs.Glob(stacks, "stacks/*.yaml")
	if err != nil || len(files) != len(order) {
		return nil, fmt.Errorf("stacks: %d files, %d in the order: %v", len(files), len(order), err)
	}
	c := make(Catalogue, len(order))
	for i, name := range order {
		text, err := stacks.ReadFile("stacks/" + name + ".yaml")
		if err != nil {
			return nil, err
		}
		d := yaml.NewDecoder(strings.NewReader(string(text)))
		d.KnownFields(true)
		if err := d.Decode(&c[i]); err != nil {
			return nil, fmt.Errorf("stacks/%s.yaml: %w", name, err)
		}
	}
	return c, nil
}

// Find gives a software by its name.
func (c Catalogue) Find(name string) (Software, bool) {
	for _, s := range c {
		if s.Name == name {
			return s, true
		}
	}
	return Software{}, false
}
