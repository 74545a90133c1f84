package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/bench/probe"
	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/slurm"
)

// launchCase is one shape of launch, in an allocation of its own. With held a
// container is held on each node, as bench does; without, every joined launch is
// the first of an allocation.
type launchCase struct {
	nodes, perNode int
	held           bool
	plain          bool // also a container for each rank
	init, step     string
	plainInit      string
}

// launchCases need 16 CPUs a node, cgroupCases Slurm's control groups.
var (
	launchCases = []launchCase{
		{1, 2, false, true, "launch.init_first_ratio.2", "launch.step_first_ratio.2", "launch.plain_init_ratio.2"},
		{1, 2, true, false, "launch.init_ratio.2", "launch.step_ratio.2", ""},
		{1, 8, true, false, "launch.init_ratio.8", "launch.step_ratio.8", ""},
		{1, 16, true, false, "launch.init_ratio.16", "launch.step_ratio.16", ""},
		{2, 2, true, false, "launch.init_ratio_2nodes.2", "launch.step_ratio_2nodes.2", ""},
		{2, 16, true, false, "launch.init_ratio_2nodes.16", "launch.step_ratio_2nodes.16", ""},
	}
	cgroupCases = []launchCase{
		{1, 2, false, true, "launch.cgroup.init_first_ratio.2", "launch.cgroup.step_first_ratio.2", "launch.cgroup.plain_init_ratio.2"},
		{1, 2, true, false, "launch.cgroup.init_ratio.2", "launch.cgroup.step_ratio.2", ""},
		{2, 2, true, false, "launch.cgroup.init_ratio_2nodes.2", "launch.cgroup.step_ratio_2nodes.2", ""},
	}
)

func measureLaunch(ctx context.Context, s setup) ([]Figure, error) {
	return launches(ctx, s, launchCases)
}
func measureLaunchCgroup(ctx context.Context, s setup) ([]Figure, error) {
	return launches(ctx, s, cgroupCases)
}

func launches(ctx context.Context, s setup, cases []launchCase) ([]Figure, error) {
	var out []Figure
	for _, c := range cases {
		figures, err := c.measure(ctx, s)
		if err != nil {
			return out, fmt.Errorf("%d nodes, %d ranks each: %w", c.nodes, c.perNode, err)
		}
		out = append(out, figures...)
	}
	return out, nil
}

// plans are the arms: the same step with another target.
func (c launchCase) plans(s setup) (map[string]slurm.Plan, error) {
	native := slurm.Plan{
		Nodes: c.nodes, Ranks: c.nodes * c.perNode, PerNode: c.perNode, Overlap: true, KillOnBad: true,
		// There are more ranks than cores.
		Env:     []slurm.EnvVar{{Name: "OMPI_MCA_mpi_yield_when_idle", Value: "1"}},
		Target:  slurm.Target{Kind: slurm.Native, Path: []string{s.bin}},
		Program: []string{"nearmetal-probe", "-b", "init", "--json", "-"},
	}
	joined, plain := native, native
	joined.Target = slurm.Target{Kind: slurm.Container, Image: s.image}
	plain.Target = joined.Target
	start, err := slurm.ChooseStart(slurm.StartAuto, filepath.Join(s.bin, "nearmetal-enter"), joined.Target)
	joined.Target.Start = start
	out := map[string]slurm.Plan{"native": native, "joined": joined}
	if c.plain {
		out["plain"] = plain
	}
	return out, err
}

func (c launchCase) measure(ctx context.Context, s setup) ([]Figure, error) {
	plans, err := c.plans(s)
	if err != nil {
		return nil, err
	}
	job, err := allocation(ctx, s.runner, c)
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = runner.Output(context.WithoutCancel(ctx), s.runner, "scancel", "-Q", job) }()
	release, err := c.hold(ctx, s.runner, job, plans["joined"])
	if err != nil {
		return nil, err
	}
	defer release()
	var samples []bench.Sample
	order := arms(plans)
	for block := -1; block < s.n; block++ { // one block of warm-ups
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, arm := range order {
			got, err := launchAgain(ctx, s.runner, job, plans[arm])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", arm, err)
			}
			for i := range got {
				got[i].Arm, got[i].Block, got[i].Launch = arm, block, block*len(order)
			}
			if block >= 0 {
				samples = append(samples, got...)
			}
		}
	}
	return c.figures(samples), nil
}

func arms(plans map[string]slurm.Plan) []string {
	var out []string
	for _, a := range []string{"native", "joined", "plain"} {
		if _, ok := plans[a]; ok {
			out = append(out, a)
		}
	}
	return out
}

// allocation takes nodes without a shell; steps join it by SLURM_JOB_ID.
func allocation(ctx context.Context, r runner.Runner, c launchCase) (string, error) {
	var errs bytes.Buffer
	res, err := r.Run(ctx, runner.Cmd{Argv: []string{"salloc", "--no-shell", "-N", fmt.Sprint(c.nodes), fmt.Sprintf("--ntasks-per-node=%d", c.perNode)}, Stderr: &errs})
	if err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(errs.String(), "Granted job allocation ")
	if res.ExitCode != 0 || !ok {
		return "", fmt.Errorf("salloc: exit status %d: %s", res.ExitCode, strings.TrimSpace(errs.String()))
	}
	return strings.Fields(rest)[0], nil
}

// hold starts the step that holds the containers, as bench does.
func (c launchCase) hold(ctx context.Context, r runner.Runner, job string, p slurm.Plan) (func(), error) {
	argv, err := p.Hold(c.nodes)
	if err != nil || !c.held || argv == nil {
		return func() {}, err
	}
	in, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		_, _ = r.Run(ctx, runner.Cmd{Argv: argv, Env: append(p.Environ(""), "SLURM_JOB_ID="+job), Stdin: in, Tied: true})
		in.Close()
		close(ended)
	}()
	return func() { out.Close(); <-ended }, nil
}

// startRace is where Open MPI 5.0 crashes now and then in MPI_Init over TCP, natively
// and in containers: a message that comes before its communicator is set up
// (ompi issue 12495, pull request 13559).
const startRace = "mca_pml_ob1_recv_frag_callback_match"

// launchAgain repeats a launch that met startRace; any other failure is one.
func launchAgain(ctx context.Context, r runner.Runner, job string, p slurm.Plan) ([]bench.Sample, error) {
	for try := 1; ; try++ {
		got, err := launchOnce(ctx, r, job, p)
		if err == nil || try == 4 || !strings.Contains(err.Error(), startRace) {
			return got, err
		}
		fmt.Fprintf(os.Stderr, "a launch of %s met Open MPI's race in MPI_Init (ompi issue 12495) and is made again\n", p.Target.Kind)
	}
}

// launchOnce gives the wall time of the step, srun to exit, and the slowest
// rank's MPI_Init.
func launchOnce(ctx context.Context, r runner.Runner, job string, p slurm.Plan) ([]bench.Sample, error) {
	argv, err := p.Argv()
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	res, err := r.Run(ctx, runner.Cmd{Argv: argv, Env: append(p.Environ("/usr/local/bin:/usr/bin:/bin"), "SLURM_JOB_ID="+job), Stdout: &out, Stderr: &errs})
	if err != nil {
		return nil, err
	}
	if res.ExitCode != 0 {
		return nil, fmt.Errorf("exit status %d: %s", res.ExitCode, strings.TrimSpace(errs.String()))
	}
	got, err := probe.Parse(&out)
	if err != nil {
		return nil, err
	}
	slowest := 0.0
	for _, k := range got.Env.Ranks {
		slowest = max(slowest, k.InitMS)
	}
	if len(got.Env.Ranks) != p.Ranks || slowest <= 0 {
		return nil, fmt.Errorf("%d ranks of %d started", len(got.Env.Ranks), p.Ranks)
	}
	return []bench.Sample{
		{Suite: "launch", Benchmark: "init", Metric: "time", Unit: "ms", Size: bench.NoSize, Value: slowest},
		{Suite: "launch", Benchmark: "step", Metric: "time", Unit: "ms", Size: bench.NoSize, Value: res.Wall().Seconds() * 1e3},
	}, nil
}

func (c launchCase) figures(samples []bench.Sample) []Figure {
	out := []Figure{launchRatio(c.init, samples, "joined", "init"), launchRatio(c.step, samples, "joined", "step")}
	if c.plain {
		out = append(out, launchRatio(c.plainInit, samples, "plain", "init"))
	}
	return out
}

// launchRatio is the blocked ratio of compare: Hodges–Lehmann with its interval.
func launchRatio(name string, samples []bench.Sample, arm, benchmark string) Figure {
	f := figure(name)
	for _, cell := range compare.Compare(samples, compare.Options{Base: "native", Other: arm}).Cells {
		if cell.Benchmark != benchmark {
			continue
		}
		e := cell.Effect
		f.Value, f.Lo, f.Hi, f.N, f.Peer = ptr(e.Ratio), ptr(e.Lo), ptr(e.Hi), e.N, ptr(1)
		f.Note += fmt.Sprintf("; medians %.1f ms, native %.1f ms", cell.Other.Median, cell.Base.Median)
	}
	return f
}
