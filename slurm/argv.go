package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultMPI is the Slurm plugin used unless a plan or site names another:
// PMI-1 and PMI-2 are gone from Open MPI 5.
const DefaultMPI = "pmix"

// Argv gives the argument vector of the step. It is handed to execve(2) as it
// is; nothing in it is parsed by a shell. The environment that belongs to it is
// Environ's.
func (p Plan) Argv() ([]string, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	out := append(p.moduleArgs(), "srun")
	out = append(out, p.srunArgs()...)
	return append(out, guardColons(p.Target.argv(p))...), nil
}

// undot takes the dot off each of its arguments and becomes them; constant, so
// that no argument is ever parsed.
const undot = `for a do shift; set -- "$@" "${a#.}"; done; exec "$@"`

// guardColons hides lone colons: srun cuts its command line at each, also
// behind the program's name, into components of a heterogeneous job (srun(1),
// "HETEROGENEOUS JOBS"; seen with 24.11).
func guardColons(argv []string) []string {
	if !slices.Contains(argv, ":") {
		return argv
	}
	out := []string{"sh", "-c", undot, "nearmetal"}
	for _, a := range argv {
		if a == "--" && len(out) == 4 {
			continue // it was there for srun, which now sees sh first
		}
		out = append(out, "."+a)
	}
	return out
}

// loadModules loads the first $1 names and becomes the rest. The text is
// constant: names and program are positional parameters, never part of it.
// Environment modules and Lmod are shell functions, hence the login shell.
const loadModules = `n=$1; shift; while [ "$n" -gt 0 ]; do module load "$1" || exit 125; shift; n=$((n-1)); done; exec "$@"`

func (p Plan) moduleArgs() []string {
	mods := p.Target.Modules
	if p.Target.Kind != Native || len(mods) == 0 {
		return nil
	}
	return append([]string{"bash", "-lc", loadModules, "nearmetal", strconv.Itoa(len(mods))}, mods...)
}

// srunArgs are srun's own options, in a fixed order.
func (p Plan) srunArgs() []string {
	var a args
	// A job submitted with --export=NONE leaves SLURM_EXPORT_ENV=NONE behind,
	// and its steps would lose the environment (srun(1), --export).
	a.add("--export=ALL")
	a.add("--mpi=" + orDefault(p.MPI, DefaultMPI))
	a.number("-N", p.Nodes)
	a.number("-n", p.Ranks)
	a.number("--ntasks-per-node=", p.PerNode)
	a.number("-c", p.CPUsPerTask)
	a.text("--job-name=", p.JobName)
	a.text("--nodelist=", strings.Join(p.NodeList, ","))
	a.text("--partition=", p.Partition)
	a.text("--account=", p.Account)
	a.text("--qos=", p.QOS)
	a.text("--time=", Minutes(p.Time))
	a.text("--gpus-per-node=", p.GPUsPerNode)
	a.text("--gpu-bind=", p.GPUBind)
	a.text("--cpu-bind=", p.CPUBind)
	a.text("--distribution=", p.Distrib)
	if p.Target.Kind != Container { // a container's may exist there only
		a.text("--chdir=", p.Workdir)
	}
	a.flag("--exclusive", p.Exclusive)
	a.flag("--exact", p.Exact)
	a.flag("--overlap", p.Overlap)
	a.flag("--kill-on-bad-exit=1", p.KillOnBad)
	a.flag("--label", p.Label)
	a.add(p.SrunOptions...)
	return a
}

// argv is the program as the target's world starts it.
func (t Target) argv(p Plan) []string {
	switch t.Kind {
	case Container:
		line := t.apptainer(p)
		if t.Joined() {
			line = t.Start.entered(line)
		}
		return append(line, p.Program...)
	case Unpacked:
		return append(t.unpacked(), p.Program...)
	}
	if strings.HasPrefix(p.Program[0], "-") {
		return append([]string{"--"}, p.Program...)
	}
	return p.Program
}

// apptainer is the exec line up to the image. -s leaves errors only: it drops
// INFO lines that would mix with every rank's own stderr.
func (t Target) apptainer(p Plan) []string {
	a := args{"apptainer", "-s", "exec"}
	// Without it Apptainer has a shell evaluate the values of APPTAINERENV_
	// variables: $(…) is executed, a lone backslash breaks all of them
	// (apptainer-exec(1); seen with 1.4.5).
	a.flag("--no-eval", len(p.own())+len(p.Env) > 0)
	a.flag("--nv", t.NV)
	for _, b := range p.Binds {
		a.add(b.args()...)
	}
	if p.Workdir != "" {
		a.add("--pwd", p.Workdir)
	}
	a.add(t.options()...)
	return append(a, t.Image)
}

// args writes a bind the short way where the path allows it. Apptainer splits
// --bind at commas and colons; --mount is a CSV record, in which a quoted field
// may hold anything (apptainer-exec(1)).
func (b Bind) args() []string {
	dest := orDefault(b.Dest, b.Source)
	if strings.ContainsAny(b.Source+dest, ",:\"\\\n\r") {
		fields := []string{"type=bind", csvField("src=" + b.Source), csvField("dst=" + dest)}
		if b.ReadOnly {
			fields = append(fields, "ro")
		}
		return []string{"--mount", strings.Join(fields, ",")}
	}
	spec := b.Source
	if dest != b.Source || b.ReadOnly {
		spec += ":" + dest
	}
	if b.ReadOnly {
		spec += ":ro"
	}
	return []string{"--bind", spec}
}

// csvField quotes as RFC 4180 does.
func csvField(s string) string {
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// Minutes writes a duration as Slurm's H:MM:00, rounded up; "" for none.
func Minutes(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	m := int((d + time.Minute - 1) / time.Minute)
	return fmt.Sprintf("%d:%02d:00", m/60, m%60)
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// args grows an argument vector; an empty value adds nothing.
type args []string

func (a *args) add(s ...string) { *a = append(*a, s...) }

func (a *args) text(option, value string) {
	if value != "" {
		a.add(option + value)
	}
}

// number adds "-N 2" for a short option and "--x=2" for one that ends in "=".
func (a *args) number(option string, n int) {
	switch {
	case n <= 0:
	case strings.HasSuffix(option, "="):
		a.add(option + strconv.Itoa(n))
	default:
		a.add(option, strconv.Itoa(n))
	}
}

func (a *args) flag(option string, on bool) {
	if on {
		a.add(option)
	}
}
