package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/site"
)

// collecting marks our own step's processes; it also carries the credential.
const (
	collecting = "NEARMETAL_COLLECT"
	credential = "NEARMETAL_CREDENTIAL"
)

// Step is the one job step that looks at the nodes.
type Step struct {
	Nodes     int
	Partition string
	Account   string
	QOS       string
	Options   []string      // further srun options
	Limit     time.Duration // for waiting and looking, 2 minutes when 0
}

// rounds is how often the step is started: nodes that could not be started on
// are left out the next time.
const rounds = 3

// Cluster gives the facts of this login node and of the step's nodes. A step
// that fails is no error: how it failed is a fact of the login node.
func (c *Collector) Cluster(ctx context.Context, s Step) ([]site.Facts, error) {
	image, nodes := c.Image, s.Nodes
	c.Image = ""
	login := c.Node(ctx)[0]
	c.Image = image
	login.Login = true
	login.Slurm.States, login.Launch = c.states(ctx)
	if nodes <= 0 {
		return []site.Facts{login}, nil
	}
	if _, err := c.Run.Look("srun"); err != nil {
		return nil, fail.Missingf("run it where Slurm's client commands are, or leave -N away", "srun: not found in PATH")
	}
	out, launch, err := c.step(ctx, s)
	if err != nil {
		return nil, err
	}
	launch.Asked, launch.Answered = nodes, answered(out)
	if launch.Answered < launch.Asked {
		// slurmctld knows of a node that is gone once somebody tried to reach it.
		if after, _ := c.states(context.WithoutCancel(ctx)); after != nil {
			login.Slurm.States = after
		}
	}
	if login.Launch != nil {
		launch.Said = append(login.Launch.Said, launch.Said...)
	}
	login.Launch = launch
	return append([]site.Facts{login}, out...), nil
}

func answered(fs []site.Facts) int {
	n := 0
	for _, f := range fs {
		if f.Image == "" {
			n++
		}
	}
	return n
}

func (c *Collector) step(ctx context.Context, s Step) ([]site.Facts, *site.Launch, error) {
	limit := s.Limit
	if limit == 0 {
		limit = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	launch := &site.Launch{}
	var out []site.Facts
	for range rounds {
		facts, failed, err := c.once(ctx, s, launch)
		if err != nil {
			return nil, nil, err
		}
		out = facts
		if len(failed) == 0 || s.Nodes <= len(failed) {
			break
		}
		launch.Silent = append(launch.Silent, failed...)
		s.Nodes -= len(failed)
	}
	return out, launch, nil
}

// once starts the step on nodes that are not silent and gives the nodes that
// could not be started on.
func (c *Collector) once(ctx context.Context, s Step, l *site.Launch) ([]site.Facts, []string, error) {
	argv := c.argv(s, l.Silent)
	start := c.Now()
	cred, _ := c.output(ctx, "munge", "-n")
	env := []string{collecting + "=1", credential + "=" + cred}
	var out, errs bytes.Buffer
	res, err := c.Run.Run(ctx, runner.Cmd{Argv: argv, Env: env, Stdout: &out, Stderr: &errs})
	end := c.Now()
	said := strings.Split(strings.TrimSpace(errs.String()), "\n")
	if err != nil && ctx.Err() == nil {
		return nil, nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		said = append(said, "nearmetal: the step did not end in time")
		res.ExitCode = 124
	}
	l.Command, l.ExitCode = strings.Join(argv, " "), res.ExitCode
	l.Said = append(l.Said, trimmed(said)...)
	facts, bad := Decode(&out)
	if bad != nil {
		l.Said = append(l.Said, "nearmetal: "+bad.Error())
	}
	for i := range facts {
		clocks(&facts[i], start, end)
	}
	slices.SortStableFunc(facts, func(a, b site.Facts) int { return strings.Compare(a.Node, b.Node) })
	return facts, failedNodes(said, facts), nil
}

// trimmed drops empty lines and what is said of every step that ends early.
func trimmed(lines []string) []string {
	const most = 200
	out := slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return strings.TrimSpace(s) == "" })
	return out[:min(len(out), most)]
}

func (c *Collector) argv(s Step, without []string) []string {
	argv := []string{"srun", "-N", strconv.Itoa(s.Nodes), "--ntasks-per-node=1", "--mpi=none", "--kill-on-bad-exit=0", "--input=none"}
	for _, o := range [][2]string{{"-p", s.Partition}, {"-A", s.Account}, {"-q", s.QOS}} {
		if o[1] != "" {
			argv = append(argv, o[0], o[1])
		}
	}
	if c.getenv("SLURM_JOB_ID") != "" {
		argv = append(argv, "--overlap")
	}
	if len(without) > 0 {
		argv = append(argv, "--exclude="+strings.Join(without, ","))
	}
	argv = append(argv, s.Options...)
	argv = append(argv, c.Self, "doctor", "--collect")
	if c.Image != "" {
		argv = append(argv, "--image", c.Image)
	}
	if c.NV {
		argv = append(argv, "--nv")
	}
	return argv
}

// failedOn are srun's ways of naming a node that did not take the step.
var failedOn = []*regexp.Regexp{
	regexp.MustCompile(`Task launch for StepId=\S+ failed on node ([A-Za-z0-9_.-]+):`),
	regexp.MustCompile(`Node failure on ([A-Za-z0-9_.-]+)`),
	regexp.MustCompile(`slurm_receive_msgs: \[\[([A-Za-z0-9_.-]+)\]`),
	regexp.MustCompile(`srun: error: ([A-Za-z0-9_.-]+): task \d+: (?:Exited with exit code 127|Bus error)`),
}

func failedNodes(said []string, got []site.Facts) []string {
	var out []string
	for _, line := range said {
		for _, re := range failedOn {
			m := re.FindStringSubmatch(line)
			here := m != nil && slices.ContainsFunc(got, func(f site.Facts) bool { return f.Node == m[1] })
			if m != nil && !here && !slices.Contains(out, m[1]) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// credentialLife is munge's default time to live; a credential that waited
// longer in the queue says nothing (munge(7)).
const credentialLife = 290 * time.Second

// clocks turns a node's times into how far they lie outside the time that the
// step took by the login node's clock. munged counts whole seconds.
func clocks(f *site.Facts, start, end time.Time) {
	if t := f.System.Time; t != nil {
		f.System.Skew = site.Of(outside(t.Value, start, end), "clock, against the login node's around srun")
	}
	if end.Sub(start) > credentialLife {
		f.Slurm.Munge, f.Slurm.MungeTime = nil, nil
	}
	if m := f.Slurm.MungeTime; m != nil {
		s := outside(time.Unix(m.Value, 0), start.Truncate(time.Second), end)
		f.Slurm.MungeSkew = site.Of(s, m.Source)
	}
}

func outside(t, start, end time.Time) float64 {
	switch {
	case t.Before(start):
		return t.Sub(start).Seconds()
	case t.After(end):
		return t.Sub(end).Seconds()
	}
	return 0
}

// InStep makes the collector of one node from the environment that Cluster
// gave its step.
func InStep(c Collector) Collector {
	c.Cred = c.getenv(credential)
	return c
}
