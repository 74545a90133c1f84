package campaign

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/bench/app"
	"github.com/nearmetal/nearmetal/bench/nccl"
	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// appPrefix begins a suite that is a program: app:neuron-ring, app:my.yaml.
const appPrefix = app.Suite + ":"

// appSuite finds a program's definition: a ready-made name, or a file.
func appSuite(name string) (Suite, error) {
	name = strings.TrimPrefix(name, appPrefix)
	d, ok := app.Find(name)
	if !ok {
		f, err := os.Open(filepath.Clean(name))
		if err != nil {
			return Suite{}, fail.Usagef("ready-made: "+strings.Join(app.Names(), ", ")+"; or a file: app:my.yaml", "app %q: %w", name, err)
		}
		defer f.Close()
		if d, err = app.Read(f, name); err != nil {
			return Suite{}, err
		}
	}
	return Suite{Name: app.Suite, About: d.About, Cases: d.Cases}, nil
}

// readOutput turns a launch's standard output into samples by its case.
func readOutput(r io.Reader, c bench.Case, l bench.Launch, wall time.Duration) (Output, error) {
	if c.App != nil {
		samples, err := app.Parse(r, c, l, wall)
		return Output{Samples: samples}, err
	}
	s, err := FindSuite(c.Suite)
	if err != nil {
		return Output{}, err
	}
	return s.Read(r, l)
}

// ncclArgs sweep from 8 bytes to 1 GiB, one GPU a rank; nccl-tests must be
// built with MPI=1 for more than one rank.
var ncclArgs = []string{"-b", "8", "-e", "1G", "-f", "4", "-g", "1"}

// ncclPrograms are the programs of a block, one launch each.
var ncclPrograms = []string{"all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "alltoall_perf", "sendrecv_perf"}

func ncclCases(nodes int) ([]bench.Case, error) {
	var out []bench.Case
	for _, c := range placements(nodes) {
		for _, p := range ncclPrograms {
			c.Suite, c.Program, c.Name, c.Args = nccl.Suite, p, p+": "+placement(c), ncclArgs
			out = append(out, c)
		}
	}
	return out, nil
}

// readNCCL takes one program's table. A row that could not be read makes the
// launch fail: a sweep with a hole is no sweep.
func readNCCL(r io.Reader, l bench.Launch) (Output, error) {
	res, err := nccl.Parse(r)
	if err != nil {
		return Output{}, err
	}
	if len(res.Warnings) > 0 {
		return Output{}, fail.New(fail.Failed, "", "line %d: %s", res.Warnings[0].Line, res.Warnings[0].Text)
	}
	program, shape, ok := strings.Cut(l.Case, ": ")
	if ok {
		l.Case = shape
	}
	return Output{Samples: res.Samples(l, program), Hosts: res.Hosts()}, nil
}

// Scaled lists the programs that ran at several numbers of ranks.
func Scaled(cases []bench.Case) (out []compare.Scaled) {
	for _, c := range cases {
		if c.App == nil || c.App.Scaling == "" {
			continue
		}
		i := slices.IndexFunc(out, func(s compare.Scaled) bool { return s.Benchmark == c.App.Name })
		if i < 0 {
			i, out = len(out), append(out, compare.Scaled{Benchmark: c.App.Name, Kind: c.App.Scaling, Ranks: map[string]int{}})
		}
		out[i].Ranks[app.Shape(c.Nodes, c.Ranks)] = c.Ranks
	}
	return out
}
