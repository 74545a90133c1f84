package defs

import (
	"sort"
	"strings"

	"github.com/nearmetal/nearmetal/bench/probe"
	"github.com/nearmetal/nearmetal/spack"
)

func (w *writer) buildStage(r Recipe, f family) {
	w.header(r, StageBuild)
	w.files("%files", r.filesOf(StageBuild))
	w.spackFiles(r)
	w.open("%post")
	w.line("set -eu")
	w.install(f, r.buildPackages(f))
	w.spack(r)
	w.mpiPath(r, f)
	w.steps(r.Build)
	if r.Probe {
		w.probe()
	}
}

func (w *writer) finalStage(r Recipe, f family, digest string) {
	stage := ""
	if r.staged() {
		stage = StageFinal
	}
	w.header(r, stage)
	w.copies(r)
	w.files("%files", r.filesOf(StageFinal))
	w.open("%post")
	w.line("set -eu")
	w.install(f, r.runtimePackages(f))
	w.mpiPath(r, f)
	w.steps(r.Final)
	w.checks(r, f)
	w.labels(r, digest)
	w.line("set -x")
	for _, c := range f.clean {
		w.line("%s", c)
	}
	w.environment(r, f)
	w.runscript(r.Runscript)
	w.test(r)
}

// install writes what brings the packages in; each name has been checked.
func (w *writer) install(f family, packages []string) {
	if len(packages) == 0 {
		return
	}
	list := strings.Join(packages, " \\\n        ")
	if w.site.SpackRoot != "" { // no network: the base may have them all
		w.line("%s \\\n        %s >/dev/null 2>&1 || {", f.has, list)
		defer w.line("}")
	}
	for _, p := range f.prepare {
		w.line("%s", p)
	}
	w.line("%s \\\n        %s", f.install, list)
}

// mpiPath makes mpicc and mpirun found where the distribution hides them.
func (w *writer) mpiPath(r Recipe, f family) {
	if p := f.software[r.Stack.MPI.Name]; p.bin != "" {
		lib := ""
		if p.lib != "" {
			lib = " LD_LIBRARY_PATH=" + p.lib
		}
		w.line("export PATH=%s:\"$PATH\"%s", p.bin, lib)
	}
}

// files writes a %files section. Blanks are allowed in a path between double
// quotes; a source begins with ./ so that cp takes none for an option.
func (w *writer) files(head string, files []File) {
	if len(files) == 0 {
		return
	}
	w.open(head)
	for _, f := range files {
		if f.SHA256 != "" {
			w.line("# sha256 %s", f.SHA256)
		}
		w.line(`"./%s" "%s"`, f.From, f.To)
	}
}

func (w *writer) copies(r Recipe) {
	if !r.Probe && len(r.Copy) == 0 && r.Provider != ProviderSpack {
		return
	}
	w.open("%files from " + StageBuild)
	if r.Provider == ProviderSpack {
		w.line("%s", spack.Install)
		w.line("%s", spack.View)
		w.line("%s", spackList)
	}
	if r.Probe {
		w.line("%s", ProbePath)
	}
	for _, c := range r.Copy {
		w.line(`"%s" "%s"`, c.From, c.To)
	}
}

// steps writes the recipe's own commands, each in a shell of its own, so that
// none leaves a directory, a variable or an open quote to the next.
func (w *writer) steps(steps []Step) {
	for _, s := range steps {
		if len(s.Argv) > 0 {
			w.line("%s </dev/null", command(s.Argv))
		} else {
			w.line("/bin/sh -e -c -- %s </dev/null", quote(s.Script))
		}
	}
}

// command runs a program, never a keyword or a builtin of the shell.
func command(argv []string) string {
	return "env -- " + words(argv)
}

// probe compiles nearmetal's MPI probe from the source that stands here in
// clear: the definition alone says what the binary is.
func (w *writer) probe() {
	w.line("# nearmetal's MPI probe, compiled with this image's MPI")
	w.line("mkdir -p /usr/local/bin /tmp/nearmetal-probe")
	w.line("set +x") // Apptainer traces %post: not these lines
	for _, s := range probe.Sources() {
		w.line("printf %%s %s >/tmp/nearmetal-probe/%s", quote(s.Text), s.Name)
	}
	w.line("set -x")
	w.line("mpicc %s -o %s /tmp/nearmetal-probe/*.c %s", probe.Build, ProbePath, probe.Libs)
	w.line("rm -r /tmp/nearmetal-probe")
}

// checks reads the versions that were really installed, refuses what the
// recipe does not allow, and labels the image with them. Debian marks repacked
// sources behind a + (1.18.1+ds): that is not the software's version.
func (w *writer) checks(r Recipe, f family) {
	w.line("set +x") // Apptainer traces %post: not these lines
	w.line("labels=${APPTAINER_LABELS:-${SINGULARITY_LABELS:-/dev/null}}")
	w.line("installed=$(%s)", f.versions)
	w.add(`    stack() { # name, its package, version wanted
        v=$(printf '%s\n' "$installed" | awk -v p="$2" '$1 == p && !n++ { print $2 }')
        v=${v%%+*}
        [ -n "$v" ] || { echo "nearmetal: $1: not installed by the packages of this recipe" >&2; exit 1; }
        case "$v" in
        "$3" | "$3"[!0-9]* | "${3:-$v}") ;;
        *) echo "nearmetal: $1: the recipe wants $3, the distribution has $v" >&2; exit 1 ;;
        esac
        printf '` + LabelStack + `%s %s\n' "$1" "$v" >>"$labels"
    }`)
	for _, c := range r.Stack.everything() {
		w.line("stack %s %s %s", c.Name, f.software[c.Name].query, quote(c.Version))
	}
}

// labels writes the labels through Apptainer's file of labels, not %labels:
// there a value may hold anything but a line end, and it overrides what a base
// image brings (build/metadata.go: insertLabelsJSON).
func (w *writer) labels(r Recipe, digest string) {
	all := map[string]string{
		LabelRecipe:                            digest,
		LabelName:                              r.Name,
		LabelBase:                              r.Base.String(),
		LabelMPI:                               r.Stack.MPI.Name,
		LabelLock:                              r.lockDigest(),
		LabelDriver:                            r.Stack.Driver,
		"org.opencontainers.image.title":       r.Name,
		"org.opencontainers.image.base.name":   r.Base.name(),
		"org.opencontainers.image.base.digest": r.Base.Digest,
		"org.opencontainers.image.description": r.Description,
	}
	if r.Probe {
		all[LabelProbe] = ProbePath
	}
	for k, v := range r.Labels {
		all[k] = v
	}
	for _, k := range sortedKeys(all) {
		if _, own := r.Labels[k]; all[k] != "" || own {
			w.line("printf '%%s %%s\\n' %s %s >>\"$labels\"", k, quote(all[k]))
		}
	}
}

func (b Base) name() string {
	if b.From == "docker" {
		return b.Ref
	}
	return b.String()
}

// environment writes %environment, which Apptainer reads with a shell at every
// start.
func (w *writer) environment(r Recipe, f family) {
	prepend := r.Prepend
	if p := f.software[r.Stack.MPI.Name]; p.bin != "" {
		own := []Prepend{{"PATH", []string{p.bin}}}
		if p.lib != "" {
			own = append(own, Prepend{"LD_LIBRARY_PATH", []string{p.lib}})
		}
		prepend = append(own, prepend...)
	}
	if len(r.Env) == 0 && len(prepend) == 0 {
		return
	}
	w.open("%environment")
	for _, k := range sortedKeys(r.Env) {
		w.line("export %s=%s", k, quote(r.Env[k]))
	}
	sort.SliceStable(prepend, func(i, j int) bool { return prepend[i].Name < prepend[j].Name })
	for _, p := range prepend {
		w.line(`export %s=%s"${%s:+:$%s}"`, p.Name, quote(strings.Join(p.Dirs, ":")), p.Name, p.Name)
	}
}

func (w *writer) runscript(s *Step) {
	if s == nil {
		return
	}
	w.open("%runscript")
	if len(s.Argv) > 0 {
		w.line(`exec env -- %s "$@"`, words(s.Argv))
		return
	}
	w.line(`exec /bin/sh -c -- %s runscript "$@"`, quote(s.Script))
}

// test starts MPI for real, on one node, without Slurm: two ranks of the probe,
// which refuses to run as two worlds of one. Under --fakeroot the test runs as
// root, which Open MPI wants to be told twice.
func (w *writer) test(r Recipe) {
	w.open("%test")
	w.line("set -eu")
	w.line("unset $(env | sed -n 's/^\\(SLURM_[A-Za-z0-9_]*\\)=.*/\\1/p')")
	w.line("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	program := "/bin/true" // the launcher alone: probe: false leaves no MPI program here
	if r.Probe {
		program = ProbePath + " -b init,latency -m 1:8 -i 10 -x 1 --expect-ranks 2"
	}
	w.line("export OMPI_MCA_btl=^tcp") // one node: the network of the build host does not matter
	w.line("%s %s", launchers[r.Stack.MPI.Name], program)
	w.steps(r.Test)
}

// launchers start two ranks on one node whatever the number of cores.
var launchers = map[string]string{
	"openmpi": "mpirun --oversubscribe -np 2",
	"mpich":   "mpiexec -launcher fork -np 2",
}

// Sources gives the paths beside the recipe that the definition copies.
func (r Recipe) Sources() []string {
	out := make([]string, len(r.Files))
	for i, f := range r.Files {
		out[i] = f.From
	}
	return out
}
