package campaign

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/store"
	"github.com/nearmetal/nearmetal/slurm"
)

// PlanOf is the step of a case in an arm: the arm's plan with the case's shape
// and program. Arms differ in their target alone.
func PlanOf(a store.Arm, c bench.Case) slurm.Plan {
	p := a.Plan
	p.Nodes, p.Ranks, p.PerNode = c.Nodes, c.Ranks, c.Ranks/max(c.Nodes, 1)
	program := c.Program
	if a.Dir != "" && !strings.Contains(program, "/") {
		program = path.Join(a.Dir, program)
	}
	p.Program = append([]string{program}, c.Args...)
	p.KillOnBad = true
	return p
}

// World is what a campaign reaches the world through.
type World struct {
	Runner runner.Runner
	Getenv func(string) string
	Now    func() time.Time
}

// carry carries out a launch, for the caller to store. The error is ours: a
// launch that failed is a run whose Exit or Error says so.
func (e *executor) carry(ctx context.Context, l bench.Launch) (*store.Record, bench.Run, Output, error) {
	arm, _ := e.dir.Manifest.Arm(l.Arm)
	c, _ := e.dir.Manifest.Case(l.Case)
	rec, err := e.dir.Begin(l)
	if err != nil {
		return nil, bench.Run{}, Output{}, err
	}
	run, err := e.start(ctx, PlanOf(arm, c), rec)
	run.Launch = l
	if err == nil && run.Exit != 0 {
		err = lost(e.dir, rec.Stderr)
	}
	if err != nil {
		rec.Abort()
		return nil, run, Output{}, err
	}
	out := Output{}
	if run.Exit == 0 && run.Error == "" {
		if out, err = e.read(rec, c, run); err != nil {
			run.Error = err.Error()
		}
	}
	run.Nodes = unique(out.Hosts)
	return rec, run, out, nil
}

// start runs a step into a record. A launch that outlasts its time is stopped
// and stored as failed; when we are told to stop ourselves, it is not stored.
func (e *executor) start(ctx context.Context, p slurm.Plan, rec *store.Record) (bench.Run, error) {
	p.Overlap = p.Overlap || e.inStep
	argv, err := p.Argv()
	if err != nil {
		return bench.Run{}, err
	}
	env := p.Environ(e.world.Getenv("PATH"))
	limit, cancel := context.WithTimeoutCause(ctx, e.dir.Manifest.Timeout, errTimeout)
	defer cancel()
	res, err := e.world.Runner.Run(limit, runner.Cmd{
		Argv: argv, Env: env, Stdout: rec.Stdout, Stderr: rec.Stderr, Own: true, Tied: true, Grace: 15 * time.Second,
	})
	run := bench.Run{Argv: argv, Env: env, Facts: e.dir.Manifest.Facts, Exit: res.ExitCode, Start: res.Start.UTC(), End: res.End.UTC()}
	switch {
	case ctx.Err() != nil:
		return run, context.Cause(ctx)
	case errors.Is(err, errTimeout):
		run.Error = fmt.Sprintf("%s %v", tooLong, e.dir.Manifest.Timeout)
	case err != nil:
		return run, fail.New(fail.Missing, "run it where Slurm's client commands are", "start %s: %w", argv[0], err)
	}
	return run, nil
}

// tooLong begins the error of a launch that we have stopped.
const tooLong = "stopped after"

var errTimeout = errors.New("launch took too long")

func (e *executor) read(rec *store.Record, c bench.Case, run bench.Run) (Output, error) {
	if _, err := rec.Stdout.Seek(0, 0); err != nil {
		return Output{}, err
	}
	return readOutput(rec.Stdout, c, run.Launch, run.End.Sub(run.Start))
}

func unique(names []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}
