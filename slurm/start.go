package slurm

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// StartMode is how the ranks of a node get into their container.
type StartMode string

// The ways in. Joined ranks enter a container that one of them, or a keeper of
// the allocation, holds open on the node: one user namespace for all, so that
// CMA works as natively, and no container to set up. nearmetal-enter does it, and
// gives a rank a container of its own where something would differ.
const (
	StartExec    StartMode = "exec"    // apptainer exec for each rank
	StartJoined  StartMode = "joined"  // nearmetal-enter: one container a node
	StartShareNS StartMode = "sharens" // apptainer exec --sharens
)

// StartAuto leaves the choice to ChooseStart.
const StartAuto StartMode = "auto"

// Start is the way in and why it was chosen. The zero value is StartExec.
type Start struct {
	Mode   StartMode `json:"mode,omitempty"`
	Enter  string    `json:"enter,omitempty"`  // joined: path of nearmetal-enter on the nodes, absolute
	Forced bool      `json:"forced,omitempty"` // joined because the user said so
	Why    string    `json:"why,omitempty"`
}

// shareable are the exec options with which one container for all ranks of a
// node looks the same as one for each: everything else may give each rank
// something of its own (a /tmp, a process namespace, an overlay), change user,
// or be read from the environment of each rank (apptainer-exec(1)).
var shareable = map[string]int{ // number of words that follow
	"--bind": 1, "-B": 1, "--mount": 1, "--nv": 0, "--rocm": 0, "--pwd": 1, "--cwd": 1, "--no-eval": 0,
	"--no-mount": 1, "--no-home": 0, "--home": 1, "-H": 1, "--no-umask": 0, "--disable-cache": 0, "--silent": 0, "-s": 0,
}

// private gives the first option that is not shareable.
func private(options []string) string {
	for i := 0; i < len(options); i++ {
		name, _, hasValue := strings.Cut(options[i], "=")
		words, ok := shareable[name]
		if !ok {
			return name
		}
		if !hasValue {
			i += words
		}
	}
	return ""
}

// ChooseStart decides how ranks start. enter is nearmetal-enter's path, or "".
func ChooseStart(want StartMode, enter string, t Target) (Start, error) {
	switch want {
	case StartExec:
		return Start{Mode: StartExec, Why: "asked for with --start"}, nil
	case StartShareNS:
		return Start{Mode: StartShareNS, Why: "asked for with --start; fails at random when the first rank of a node ends early (apptainer issue 1906)"}, nil
	case StartJoined:
		if enter == "" {
			return Start{}, fail.Missingf("--start exec", "--start joined: nearmetal-enter is not beside nearmetal")
		}
		return Start{StartJoined, enter, true, "asked for with --start"}, nil
	case StartAuto, "":
		return chooseAuto(enter, t), nil
	}
	return Start{}, fail.Usagef("--start auto, joined, sharens or exec", "no way to start is called %q", want)
}

func chooseAuto(enter string, t Target) Start {
	if enter == "" {
		return Start{Mode: StartExec, Why: "a container for each rank: nearmetal-enter is not beside nearmetal"}
	}
	if o := private(t.Options); o != "" {
		return Start{Mode: StartExec, Why: fmt.Sprintf("a container for each rank: with %s each sees something of its own, or may", o)}
	}
	return Start{StartJoined, enter, false,
		"the ranks of a node share one container: MPI starts and copies between them as natively; a node that does not allow it (setuid Apptainer) gives each rank its own"}
}

// entered puts nearmetal-enter before an apptainer exec line.
func (s Start) entered(line []string) []string {
	out := []string{s.Enter}
	if s.Forced {
		out = append(out, "--force", "--verbose")
	}
	return append(append(out, strconv.Itoa(len(line))), line...)
}

// HoldBehind gives the line that leaves such a step behind for the life of the
// allocation, once. nil where ranks do not join.
func (p Plan) HoldBehind(nodes int) ([]string, error) {
	argv, err := p.hold(nodes, "--hold")
	if err != nil || argv == nil {
		return nil, err
	}
	return append([]string{p.Target.Start.Enter, "--once"}, argv...), nil
}

// Hold gives the step that holds a container open on each of so many nodes for
// the ranks of later steps of the allocation, until its standard input ends. It
// belongs to the plan's own Environ. nil where ranks do not join.
func (p Plan) Hold(nodes int) ([]string, error) { return p.hold(nodes, "--hold", "--until-eof") }

func (p Plan) hold(nodes int, how ...string) ([]string, error) {
	if p.Target.Kind != Container || p.Target.Start.Mode != StartJoined {
		return nil, nil
	}
	p.Program = []string{"hold"}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	n := strconv.Itoa(max(nodes, 1))
	// No MPI, no CPUs or memory of its own, and bound nowhere: it works for all.
	argv := []string{"srun", "--export=ALL", "--mpi=none", "--overlap", "--mem=0", "--cpu-bind=none", "-N", n, "-n", n, "--ntasks-per-node=1",
		"--job-name=nearmetal-hold", p.Target.Start.Enter}
	argv = append(argv, how...)
	line := p.Target.apptainer(p)
	return append(append(argv, strconv.Itoa(len(line))), line...), nil
}

func (s Start) validate() error {
	switch s.Mode {
	case "", StartExec, StartShareNS:
		return nil
	case StartJoined:
		if !path.IsAbs(s.Enter) || strings.Contains(s.Enter, "\x00") {
			return fail.Usagef("", "nearmetal-enter %q: an absolute path is needed", s.Enter)
		}
		return nil
	}
	return fail.Usagef("", "start mode %q: want exec, joined or sharens", s.Mode)
}

// Joined says whether ranks are meant to share containers.
func (t Target) Joined() bool { return t.Kind == Container && t.Start.Mode == StartJoined }

// options are the exec options with the mode's own.
func (t Target) options() []string {
	if t.Start.Mode == StartShareNS && !slices.Contains(t.Options, "--sharens") {
		return append([]string{"--sharens"}, t.Options...)
	}
	return t.Options
}

// part is the word of the line that the mode shows in.
func (s Start) part() string {
	switch s.Mode {
	case StartJoined:
		return s.Enter
	case StartShareNS:
		return "--sharens"
	}
	return "exec"
}
