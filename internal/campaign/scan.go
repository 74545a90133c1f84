package campaign

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/nearmetal/nearmetal/bench/probe"
	"github.com/nearmetal/nearmetal/bench/scan"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/slurm"
)

// ScanPlan is what to measure of which nodes.
type ScanPlan struct {
	Nodes   []string // names, of the allocation around us
	Rounds  [][]scan.Link
	Program string        // the probe
	AtOnce  int           // steps at a time; slurmctld serves them all
	Timeout time.Duration // of one pair
}

// Sizes of the two values of a pair: a message that is all latency, and one
// that is all bandwidth.
const (
	scanSmall = 8
	scanLarge = 1 << 20
)

// Scan measures the rounds one after the other, the pairs of a round at once.
// A pair that fails has no values (NaN). tell is called with the pairs done.
func Scan(ctx context.Context, w World, p ScanPlan, tell func(done, total int)) ([]scan.Pair, error) {
	var out []scan.Pair
	total := 0
	for _, r := range p.Rounds {
		total += len(r)
	}
	for _, r := range p.Rounds {
		for len(r) > 0 {
			n := min(len(r), max(1, p.AtOnce))
			got, err := scanAtOnce(ctx, w, p, r[:n])
			if err != nil {
				return nil, err
			}
			out, r = append(out, got...), r[n:]
			tell(len(out), total)
		}
	}
	return out, nil
}

func scanAtOnce(ctx context.Context, w World, p ScanPlan, links []scan.Link) ([]scan.Pair, error) {
	out := make([]scan.Pair, len(links))
	errs := make([]error, len(links))
	var all sync.WaitGroup
	for i, l := range links {
		all.Go(func() { out[i], errs[i] = scanPair(ctx, w, p, l) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// scanPair starts one rank on each node. Slurm sorts node lists, and a scan
// wants rank 0 where the link begins: hence the arbitrary distribution, which
// keeps the order and takes no -N (srun(1)).
func scanPair(ctx context.Context, w World, p ScanPlan, l scan.Link) (scan.Pair, error) {
	out := scan.Pair{Link: l, Latency: math.NaN(), Bandwidth: math.NaN()}
	args, err := probe.Options{Benchmarks: []string{"latency", "bw"}, MinBytes: scanSmall, MaxBytes: scanLarge, Budget: 10 * time.Millisecond, Ranks: 2, JSON: "-"}.Args()
	if err != nil {
		return out, err
	}
	plan := slurm.Plan{Ranks: 2, NodeList: []string{p.Nodes[l.From], p.Nodes[l.To]}, Distrib: "arbitrary", Overlap: true, KillOnBad: true,
		Target: slurm.Target{Kind: slurm.Native}, Program: append([]string{p.Program}, args...)}
	argv, err := plan.Argv()
	if err != nil {
		return out, err
	}
	limit, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	var text, errs bytes.Buffer
	res, err := w.Runner.Run(limit, runner.Cmd{Argv: argv, Env: plan.Environ(w.Getenv("PATH")), Stdout: &text, Stderr: &errs, Own: true, Tied: true})
	if limit.Err() != nil {
		out.Why = "took longer than " + p.Timeout.String()
		return out, nil
	}
	if err != nil {
		return out, fail.New(fail.Missing, "run it where Slurm's client commands are", "start %s: %w", argv[0], err)
	}
	if res.ExitCode != 0 {
		out.Why = fmt.Sprintf("exit code %d", res.ExitCode)
		if last := lastLines(bytes.NewReader(errs.Bytes()), 1); len(last) > 0 {
			out.Why += ": " + last[0]
		}
		return out, nil
	}
	readPair(&out, &text)
	return out, nil
}

func readPair(out *scan.Pair, text *bytes.Buffer) {
	res, err := probe.Parse(text)
	if err != nil {
		out.Why = err.Error()
		return
	}
	for _, pt := range res.Points {
		switch {
		case pt.Bench == "latency" && pt.Size == scanSmall:
			out.Latency = pt.TimeUS.P50
		case pt.Bench == "bw" && pt.Size == scanLarge && pt.TimeUS.P50 > 0:
			out.Bandwidth = pt.Value * pt.TimeUS.Mean / pt.TimeUS.P50
		}
	}
}
