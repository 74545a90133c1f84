package campaign

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/bench/app"
	"github.com/nearmetal/nearmetal/bench/osu"
	"github.com/nearmetal/nearmetal/bench/probe"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// Suite is a set of benchmarks that are run and read alike.
type Suite struct {
	Name  string
	About string
	// Cases gives the launches of a block on so many nodes.
	Cases func(nodes int) ([]bench.Case, error)
	// Read turns a launch's standard output into samples and what it says of
	// its environment.
	Read func(r io.Reader, l bench.Launch) (Output, error)
}

// Output is what one launch says.
type Output struct {
	Samples []bench.Sample
	Env     map[string]string // keys as compare.Options.BaseEnv has them
	Hosts   []string          // node of each rank, when the suite knows
}

// Suites is the catalogue.
var Suites = []Suite{
	{"mpi", "nearmetal's own MPI probe: init, latency, bandwidth, data verified", mpiCases, readProbe},
	{"osu", "OSU micro-benchmarks: osu_init, osu_latency, osu_bw", osuCases, readOSU},
	{"nccl", "nccl-tests built with MPI: all_reduce, all_gather, reduce_scatter, alltoall, sendrecv", ncclCases, readNCCL},
}

// FindSuite gives a suite by name.
func FindSuite(name string) (Suite, error) {
	if strings.HasPrefix(name, appPrefix) {
		return appSuite(name)
	}
	var names []string
	for _, s := range Suites {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Suite{}, fail.Usagef("suites: "+strings.Join(names, ", ")+", app:NAME", "unknown suite %q", name)
}

// placements are the shapes of pairs that a number of nodes allows.
func placements(nodes int) []bench.Case {
	out := []bench.Case{{Nodes: 1, Ranks: 2}}
	if nodes >= 2 {
		out = append(out, bench.Case{Nodes: 2, Ranks: 2})
	}
	return out
}

// placement names a shape: "1 node, 2 ranks".
func placement(c bench.Case) string {
	return app.Shape(c.Nodes, c.Ranks)
}

func mpiCases(nodes int) ([]bench.Case, error) {
	var out []bench.Case
	for _, c := range placements(nodes) {
		args, err := probe.Options{Ranks: c.Ranks, JSON: "-"}.Args()
		if err != nil {
			return nil, err
		}
		c.Suite, c.Name, c.Program, c.Args = "mpi", placement(c), probe.Program, args
		out = append(out, c)
	}
	return out, nil
}

// osuPrograms are the programs of a block, one launch each.
var osuPrograms = []string{"osu_init", "osu_latency", "osu_bw"}

func osuCases(nodes int) ([]bench.Case, error) {
	var out []bench.Case
	for _, c := range placements(nodes) {
		for _, p := range osuPrograms {
			c.Suite, c.Program, c.Name = "osu", p, p+": "+placement(c)
			out = append(out, c)
		}
	}
	return out, nil
}

// readOSU takes the tables of one program; the placement is the case's shape.
func readOSU(r io.Reader, l bench.Launch) (Output, error) {
	res, err := osu.Parse(r)
	if err != nil {
		return Output{}, err
	}
	if _, shape, ok := strings.Cut(l.Case, ": "); ok {
		l.Case = shape
	}
	samples := res.Samples(l)
	if len(samples) == 0 {
		return Output{}, fail.New(fail.Failed, "", "no result in the output of an OSU program")
	}
	return Output{Samples: samples}, nil
}

func readProbe(r io.Reader, l bench.Launch) (Output, error) {
	res, err := probe.Parse(r)
	if err != nil {
		return Output{}, err
	}
	samples := slices.Concat(res.Samples(l), res.Medians(l), res.Tails(l))
	out := Output{Samples: samples, Env: probeEnv(res.Env, l.Case)}
	for _, rank := range res.Env.Ranks {
		out.Hosts = append(out.Hosts, rank.Host)
	}
	return out, nil
}

// probeEnv is what may explain a difference between the arms: the libraries
// that were really loaded, and where the ranks sat.
func probeEnv(e probe.Env, placement string) map[string]string {
	env := map[string]string{
		"stack.mpi":                           head(e.MPI),
		"stack.pmix":                          head(e.PMIx),
		"stack.ucx":                           e.UCX,
		"stack.libfabric":                     e.Libfabric,
		"probe":                               e.Version,
		"ranks, " + placement:                 fmt.Sprint(e.World),
		"cpu masks, " + placement:             masks(e.Ranks),
		"image.user namespaces, " + placement: fmt.Sprintf("%d for %d ranks", countNS(e.Ranks), len(e.Ranks)),
	}
	return env
}

// head is the first part of a long version text: "Open MPI v5.0.7, package: …".
func head(s string) string {
	s, _, _ = strings.Cut(s, ",")
	s, _, _ = strings.Cut(s, "(")
	return strings.TrimSpace(s)
}

// masks lists the ranks' CPUs: "0, 1".
func masks(ranks []probe.Rank) string {
	var out []string
	for _, r := range ranks {
		out = append(out, "rank "+fmt.Sprint(r.Rank)+" on "+r.CPUs)
	}
	return strings.Join(out, "; ")
}

// countNS counts different user namespaces: with more than one on a node, the
// kernel refuses single-copy transfers (CMA) between the ranks. Inodes of
// namespaces are the kernel's own, hence told apart by host.
func countNS(ranks []probe.Rank) int {
	seen := map[string]bool{}
	for _, r := range ranks {
		seen[fmt.Sprint(r.Host, r.UserNS)] = true
	}
	return len(seen)
}
