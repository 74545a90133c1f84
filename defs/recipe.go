// Package defs turns a recipe into an Apptainer definition.
//
//	recipe.yaml ─→ Decode ─→ Recipe ─→ Validate ─→ Render ─→ Definition ─→ (apptainer build)
//	                                                             ↑
//	any .def file ──────────────────────────────→ Parse ─→ []Stage
//
// A recipe is portable: no site, no host, no user in it. Nothing that a recipe
// says is ever read as a section, a template or a shell word: a value arrives
// literally, or the recipe is refused with the line it stands on.
package defs

// Recipe is what an image is made of. The zero value of a field means that
// the recipe does not say.
type Recipe struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Base        Base              `json:"base"`
	Provider    string            `json:"provider"`
	Spack       *Spack            `json:"spack,omitempty"` // with provider: spack only
	Stack       Stack             `json:"stack"`
	Packages    Packages          `json:"packages"`
	Files       []File            `json:"files,omitempty"`
	Build       []Step            `json:"build,omitempty"` // in the build stage
	Final       []Step            `json:"final,omitempty"` // in the final stage
	Copy        []Copy            `json:"copy,omitempty"`  // build stage → final stage
	Env         map[string]string `json:"env,omitempty"`
	Prepend     []Prepend         `json:"prepend,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Runscript   *Step             `json:"runscript,omitempty"`
	Test        []Step            `json:"test,omitempty"`
	Probe       bool              `json:"probe"`

	Lock *Lock `json:"-"` // what nearmetal lock pinned; not part of the recipe

	lines map[string]int // field path → line of the file, for Validate
}

// Base is the root filesystem that both stages start from.
type Base struct {
	From   string `json:"from"`             // docker, localimage or debootstrap
	Ref    string `json:"ref,omitempty"`    // docker: [registry/]name[:tag]
	Digest string `json:"digest,omitempty"` // docker: sha256:<64 hex>
	Path   string `json:"path,omitempty"`   // localimage: SIF file or sandbox directory
	Suite  string `json:"suite,omitempty"`  // debootstrap: trixie, noble …
	Mirror string `json:"mirror,omitempty"` // debootstrap: http(s) URL
	Distro string `json:"distro,omitempty"` // debian, ubuntu, rocky, alma, opensuse
}

// Stack is the communication software that the image carries.
type Stack struct {
	MPI        Component   `json:"mpi"`                  // openmpi or mpich
	Components []Component `json:"components,omitempty"` // pmix, ucx, libfabric …; in the catalogue's order
	Driver     string      `json:"driver,omitempty"`     // oldest NVIDIA driver it must run under
}

// Spack says how Spack builds the stack.
type Spack struct {
	Version  string            `json:"version"`            // 0.22 … 1.x: decides the form of spack.yaml
	Git      string            `json:"git,omitempty"`      // where Spack comes from without --spack-root
	Ref      string            `json:"ref,omitempty"`      // tag, branch; "" is v<version>
	Target   string            `json:"target,omitempty"`   // by archspec's names
	Compiler string            `json:"compiler,omitempty"` // as in gcc@14.2.0: the base's
	Specs    []string          `json:"specs,omitempty"`    // more root specs: applications
	Variants map[string]string `json:"variants,omitempty"` // software of the stack → variants on top of ours
	Repos    []string          `json:"repos,omitempty"`    // overlay repositories beside the recipe
	Mirrors  map[string]string `json:"mirrors,omitempty"`  // name → URL, sources and signed build caches
	External map[string]string `json:"external,omitempty"` // NAME@VERSION of what the base has → prefix
}

// Lock is what a locked recipe adds: Spack does not concretize again.
type Lock struct {
	Base   string // digest of a docker base, when the recipe has none
	Path   string // spack.lock beside the recipe, "" with provider: distro
	SHA256 string // of the spack.lock
}

// Site is what a build host adds to a definition without being part of the
// recipe: the air-gapped way. The image is the same.
type Site struct {
	SpackRoot string // absolute path of a Spack tree, in place of git
	Mirror    string // absolute path or URL of a Spack mirror, asked first
}

// Component is one piece of the stack. Version is a prefix in whole numbers:
// 5.0 accepts 5.0.7 and refuses 5.01; "" accepts any.
type Component struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Packages are the distribution's packages beyond the stack's own.
type Packages struct {
	Build   []string `json:"build,omitempty"`   // build stage only
	Runtime []string `json:"runtime,omitempty"` // final stage
}

// File is copied from beside the recipe into a stage.
type File struct {
	From   string `json:"from"` // relative to the recipe, below it
	To     string `json:"to"`   // absolute
	Stage  string `json:"stage"`
	SHA256 string `json:"sha256,omitempty"` // of the content; see Sum
}

// Stages that a File may go to.
const (
	StageBuild = "build"
	StageFinal = "final"
)

// Step is one command: an argument vector that no shell reads, or a script for
// /bin/sh -e. Exactly one of the two is set.
type Step struct {
	Argv   []string `json:"run,omitempty"`
	Script string   `json:"script,omitempty"`
}

// Copy takes a file or directory from the build stage to the final stage.
type Copy struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Prepend puts directories before what a search path holds when the container
// starts.
type Prepend struct {
	Name string   `json:"name"`
	Dirs []string `json:"dirs"`
}

// Definition is a rendered recipe.
type Definition struct {
	Text   string // for `apptainer build`
	Digest string // sha256:<hex> of the recipe, also a label of the image
}
