package defs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// labelPrefix is of the labels that nearmetal writes and reads back.
const labelPrefix = "org.nearmetal."

// Labels of an image that nearmetal built. The versions of the stack are at
// LabelStack + name.
const (
	LabelRecipe = labelPrefix + "recipe.digest"
	LabelName   = labelPrefix + "recipe.name"
	LabelBase   = labelPrefix + "base"
	LabelMPI    = labelPrefix + "mpi"
	LabelProbe  = labelPrefix + "probe"
	LabelDriver = labelPrefix + "minimum-driver" // oldest NVIDIA driver it must run under
	LabelLock   = labelPrefix + "lock.digest"    // of the spack.lock
	LabelStack  = labelPrefix + "stack."
)

// ProbePath is where an image's MPI probe lies.
const ProbePath = "/usr/local/bin/nearmetal-probe"

// Digest is the recipe's identity: sha256:<hex> over its values, not over the
// text of the file, with the digests of the files beside it.
func (r Recipe) Digest() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings, lists and maps of strings only
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Render writes the definition. The same recipe gives the same bytes. The
// error is a Faults.
func Render(r Recipe) (Definition, error) { return RenderAt(r, Site{}) }

// RenderAt writes the definition for a build host that brings Spack or its
// sources itself.
func RenderAt(r Recipe, site Site) (Definition, error) {
	if err := append(Validate(r), site.faults(r)...).asError(); err != nil {
		return Definition{}, err
	}
	fam := families[r.Base.family()]
	d := Definition{Digest: r.Digest()} // the recipe's, whatever the lock adds
	if r.Lock != nil && r.Base.From == "docker" && r.Base.Digest == "" {
		r.Base.Digest = r.Lock.Base
	}
	w := &writer{site: site}
	if r.Provider == ProviderSpack {
		fam = spackFamily(fam)
	}
	if r.staged() {
		w.buildStage(r, fam)
	}
	w.finalStage(r, fam, d.Digest)
	d.Text = w.b.String()
	return d, nil
}

// staged says whether anything has to be built.
func (r Recipe) staged() bool {
	return r.Provider == ProviderSpack || r.Probe || len(r.Build) > 0 || len(r.Packages.Build) > 0 || len(r.Copy) > 0 || len(r.filesOf(StageBuild)) > 0
}

func (r Recipe) filesOf(stage string) []File {
	var out []File
	for _, f := range r.Files {
		if f.Stage == stage {
			out = append(out, f)
		}
	}
	return out
}

// sectionMax is less than the 64 KiB that Apptainer's scanner takes; sections
// of the same name are joined again (parser.parseTokenSection).
const sectionMax = 60 << 10

// writer holds the text and the section it is in.
type writer struct {
	b       strings.Builder
	section string
	size    int
	site    Site
}

func (w *writer) open(section string) {
	fmt.Fprintf(&w.b, "\n%s\n", section)
	w.section, w.size = section, 0
}

// add writes one whole block of shell into the section, indented but for what
// stands in quotes, and begins the section anew where it would grow too long.
func (w *writer) add(block string) {
	if w.size+len(block) > sectionMax {
		w.open(w.section)
	}
	w.b.WriteString(block)
	w.b.WriteString("\n")
	w.size += len(block) + 5
}

func (w *writer) line(format string, args ...any) { w.add("    " + fmt.Sprintf(format, args...)) }

// header begins a stage. The remarks stand in the first one and not before it:
// what comes before the first Bootstrap: is not kept in the image.
func (w *writer) header(r Recipe, stage string) {
	b := r.Base
	first := w.b.Len() == 0
	if !first {
		w.b.WriteString("\n")
	}
	fmt.Fprintf(&w.b, "Bootstrap: %s\n", b.From)
	switch b.From {
	case "docker":
		fmt.Fprintf(&w.b, "From: %s\n", b.pinned())
	case "localimage":
		fmt.Fprintf(&w.b, "From: %s\n", b.Path)
	case "debootstrap":
		fmt.Fprintf(&w.b, "OSVersion: %s\nMirrorURL: %s\n", b.Suite, b.Mirror)
	}
	if stage != "" {
		fmt.Fprintf(&w.b, "Stage: %s\n", stage)
	}
	if !first {
		return
	}
	fmt.Fprintf(&w.b, "# %s: made by nearmetal from a recipe; edit the recipe, not this file.\n", r.Name)
	if len(r.Files) > 0 {
		w.b.WriteString("# Build it in the folder of the recipe: files are named from there.\n")
	}
}

// pinned is the reference that docker:// takes; a tag beside a digest is for
// people only and would be refused by the registry client.
func (b Base) pinned() string {
	if b.Digest == "" {
		return b.Ref
	}
	name := b.Ref
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name = name[:i]
	}
	return name + "@" + b.Digest
}

// String names the base as --base takes it and as the label records it.
func (b Base) String() string {
	switch b.From {
	case "docker":
		return "docker:" + b.pinned()
	case "localimage":
		return "localimage:" + b.Path
	}
	return "debootstrap:" + b.Suite
}
