package campaign

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/bench/probe"
	"github.com/nearmetal/nearmetal/internal/attrib"
	"github.com/nearmetal/nearmetal/internal/store"
	"github.com/nearmetal/nearmetal/slurm"
)

// explanations makes one launch of each arm in each shape with the libraries
// talking (attrib.Settings). It is not timed and its numbers are not read.
// A failure is no reason to stop: the reason is then not found.
func (e *executor) explanations(ctx context.Context) error {
	m := e.dir.Manifest
	if !m.Explain {
		return nil
	}
	for _, c := range talking(m.Cases) {
		for _, a := range m.Arms {
			name := talkName(twin(m, a), c)
			if e.dir.HasEnvironment(name) {
				continue
			}
			if err := e.talk(ctx, a, c, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *executor) talk(ctx context.Context, a store.Arm, c bench.Case, name string) error {
	rec, err := e.dir.BeginEnvironment(name)
	if err != nil {
		return err
	}
	run, err := e.start(ctx, talkPlan(a, c), rec)
	if err != nil {
		rec.Abort()
		return err
	}
	_, err = rec.Commit(run)
	return err
}

// talkPlan is the case's plan with its program kept short, told to talk, and
// started through the preamble where the arm has a shell.
func talkPlan(a store.Arm, c bench.Case) slurm.Plan {
	c.Args = briefArgs(c)
	p := PlanOf(a, c)
	p.Env = slices.Clone(p.Env)
	for _, s := range attrib.Settings {
		if !slices.ContainsFunc(p.Env, func(v slurm.EnvVar) bool { return v.Name == s.Name }) {
			p.Env = append(p.Env, slurm.EnvVar{Name: s.Name, Value: s.Value, Why: "tells what was chosen"})
		}
	}
	if p.Target.Kind != slurm.Unpacked {
		p.Program = append([]string{"sh", "-c", attrib.Preamble, "nearmetal"}, p.Program...)
	}
	return p
}

// briefArgs asks the probe for a few messages: enough to make every connection
// and every protocol show.
func briefArgs(c bench.Case) []string {
	if c.Suite != probe.Suite {
		return c.Args
	}
	args, err := probe.Options{
		Benchmarks: []string{"init", "latency"}, MinBytes: 4096, MaxBytes: 4 << 20, Iterations: 3, WarmUp: 1, Ranks: c.Ranks, JSON: "-",
	}.Args()
	if err != nil {
		return c.Args
	}
	return args
}

// talking gives one case for each shape, the probe's before others'.
func talking(cases []bench.Case) []bench.Case {
	cases = slices.Clone(cases)
	slices.SortStableFunc(cases, func(a, b bench.Case) int { return rank(a) - rank(b) })
	var out []bench.Case
	for _, c := range cases {
		if !slices.ContainsFunc(out, func(o bench.Case) bool { return o.Nodes == c.Nodes && o.Ranks == c.Ranks }) {
			out = append(out, c)
		}
	}
	return out
}

// rank puts first what says most and takes least time.
func rank(c bench.Case) int {
	switch {
	case c.Suite == probe.Suite:
		return 0
	case path.Base(c.Program) == "osu_init":
		return 2 // sends nothing
	}
	return 1
}

func talkName(arm string, c bench.Case) string {
	return fmt.Sprintf("%s@%dx%d", arm, c.Nodes, c.Ranks)
}

// twin is the first arm that is started alike: native-again is native.
func twin(m store.Manifest, a store.Arm) string {
	for _, b := range m.Arms {
		if b.Dir == a.Dir && reflect.DeepEqual(b.Plan, a.Plan) {
			return b.Name
		}
	}
	return a.Name
}

// factsOf reads what an arm said, by placement.
func factsOf(dir *store.Dir, arm string) map[string]attrib.Facts {
	a, _ := dir.Manifest.Arm(arm)
	out := map[string]attrib.Facts{}
	for _, c := range talking(dir.Manifest.Cases) {
		name := talkName(twin(dir.Manifest, a), c)
		if !dir.HasEnvironment(name) {
			continue
		}
		facts := attrib.Facts{}
		stdout, stderr := store.EnvironmentPaths(name)
		for _, rel := range []string{stdout, stderr} {
			f, err := dir.Output(rel)
			if err != nil {
				continue
			}
			if more, err := attrib.Extract(f, rel); err == nil {
				facts.Merge(more)
			}
			f.Close()
		}
		out[placement(c)] = facts
	}
	return out
}

// Places sets two arms' facts side by side, for attrib.Explain.
func Places(base, other map[string]attrib.Facts, order []bench.Case) (out []attrib.Place) {
	for _, c := range talking(order) {
		p := placement(c)
		b, o := base[p], other[p]
		if len(b)+len(o) > 0 {
			out = append(out, attrib.Place{Placement: p, Base: b, Other: o})
		}
	}
	return out
}
