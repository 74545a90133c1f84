package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Status is what status and up report.
type Status struct {
	Schema  string       `json:"schema"`
	Dir     string       `json:"dir"`
	Up      bool         `json:"up"`
	Slurm   *Slurm       `json:"slurm,omitempty"`
	Suite   string       `json:"suite,omitempty"`
	Root    string       `json:"root,omitempty"`
	Started *time.Time   `json:"started,omitempty"`
	Shared  string       `json:"shared"` // the machine's path of the nodes' /shared
	Nodes   []NodeStatus `json:"nodes,omitempty"`
	Problem string       `json:"problem,omitempty"` // why Slurm did not answer
}

// NodeStatus is one node: its first process as the machine counts, and its
// state as Slurm sees it.
type NodeStatus struct {
	Name  string `json:"name"`
	Addr  string `json:"addr"`
	PID   int    `json:"pid,omitempty"`
	State string `json:"state"` // sinfo's word; "login" for the head; "gone" without a process
}

// Status looks at the lab and changes nothing.
func (l *Lab) Status(ctx context.Context) (*Status, error) {
	set, err := l.settings()
	if err != nil {
		return nil, err
	}
	procs, err := l.procs()
	if err != nil {
		return nil, err
	}
	st := &Status{Schema: Schema, Dir: l.Dir, Shared: l.path("shared")}
	if set == nil || len(procs) == 0 {
		return st, nil
	}
	states, slurmErr := l.sinfo(ctx)
	if ctx.Err() != nil {
		return nil, slurmErr
	}
	st.Slurm, st.Suite, st.Root, st.Started = &set.Slurm, set.Suite, set.Root, &set.Started
	st.Nodes = nodeStates(set.Nodes, procs, states)
	if slurmErr != nil {
		st.Problem = slurmErr.Error()
	}
	_, net := procs[fabric]
	st.Up = net && wholeNodes(st.Nodes) == ""
	return st, nil
}

func nodeStates(n int, procs map[string]proc, states map[string]string) []NodeStatus {
	var out []NodeStatus
	for i, name := range names(n) {
		p, alive := procs[name]
		state := states[name]
		switch {
		case !alive:
			state = "gone"
		case name == Head && states == nil:
			state = "no slurmctld"
		case name == Head:
			state = "login"
		case state == "":
			state = "unknown"
		}
		out = append(out, NodeStatus{name, addr(i), p.pid, state})
	}
	return out
}

// usable are the states of a node that takes jobs or runs one (sinfo(1)).
var usable = []string{"login", "idle", "mixed", "allocated", "completing"}

// wholeNodes names the first node that is not usable, with its state.
func wholeNodes(nodes []NodeStatus) string {
	for _, n := range nodes {
		if !slices.Contains(usable, n.State) {
			return n.Name + " is " + n.State
		}
	}
	return ""
}

// sinfo asks slurmctld for the state of each compute node.
func (l *Lab) sinfo(ctx context.Context) (map[string]string, error) {
	out, code, err := l.output(ctx, Head, "sinfo", "-N", "-h", "-o", "%N %T")
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("sinfo: exit status %d: %s", code, out)
	}
	return parseSinfo(out), nil
}

func parseSinfo(out string) map[string]string {
	states := map[string]string{}
	for _, line := range strings.Split(out, "\n") {
		if f := strings.Fields(line); len(f) == 2 {
			states[f[0]] = f[1]
		}
	}
	return states
}

// whole is the status of a lab of which nothing is broken.
func (l *Lab) whole(ctx context.Context, set *Settings) (*Status, error) {
	st, err := l.Status(ctx)
	if err != nil {
		return nil, err
	}
	if st.Up && len(st.Nodes) == set.Nodes+1 {
		return st, nil
	}
	if bad := wholeNodes(st.Nodes); bad != "" {
		return nil, errors.New(strings.TrimSpace(bad + " " + st.Problem))
	}
	return nil, errors.New("the lab is not whole")
}

// slurmctldPort is SlurmctldPort's default as /proc/net/tcp writes it: 6817.
const slurmctldPort = ":1AA1"

// awaitPort waits until slurmctld listens: a slurmd that asks before waits for
// many seconds until it asks again.
func (l *Lab) awaitPort(ctx context.Context) error {
	p, err := l.find(Head)
	if err != nil {
		return err
	}
	for deadline := l.Now().Add(readyTimeout); ; {
		for _, table := range []string{"tcp", "tcp6"} {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.pid, table))
			if err == nil && listens(string(b), slurmctldPort) {
				return nil
			}
		}
		if l.Now().After(deadline) {
			return fmt.Errorf("slurmctld does not listen after %s", readyTimeout)
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// listens finds a listening port (state 0A) in /proc/net/tcp
// (Documentation/networking/proc_net_tcp.rst).
func listens(table, port string) bool {
	for _, line := range strings.Split(table, "\n") {
		f := strings.Fields(line)
		if len(f) > 3 && strings.HasSuffix(f[1], port) && f[3] == "0A" {
			return true
		}
	}
	return false
}

// readyTimeout is how long Slurm may take; two nodes take a second.
const readyTimeout = 60 * time.Second

// await waits until Slurm has every node.
func (l *Lab) await(ctx context.Context, set *Settings) (*Status, error) {
	if err := l.save(set); err != nil {
		return nil, err
	}
	for deadline := l.Now().Add(readyTimeout); ; {
		st, err := l.whole(ctx, set)
		if err == nil {
			return st, nil
		}
		if l.Now().After(deadline) {
			return nil, fail.New(fail.Failed, "nearmetal-lab exec head -- scontrol show nodes", "Slurm does not have all nodes after %s: %w", readyTimeout, err)
		}
		if err := sleep(ctx, 30*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// withLogs adds the last lines of the daemons' logs to an error.
func (l *Lab) withLogs(err error, nodes []string) error {
	var b strings.Builder
	for _, n := range append([]string{Head}, nodes...) {
		for _, path := range l.logFiles(n) {
			text, readErr := os.ReadFile(path)
			if readErr != nil || (n == Head && strings.Contains(b.String(), path)) {
				continue
			}
			t := &tail{max: 6}
			_, _ = t.Write(text)
			fmt.Fprintf(&b, "\n--- %s: %s\n%s", n, path, t)
		}
	}
	if b.Len() == 0 {
		return err
	}
	return fmt.Errorf("%w%s", err, b.String())
}

func (l *Lab) logFiles(node string) []string {
	files, err := filepath.Glob(l.path("run", node, "upper", "var", "log", "slurm", "slurm*.log"))
	if err != nil {
		return nil
	}
	return files
}
