// Package nccl knows the programs of NVIDIA's nccl-tests and reads their
// output: the text of all versions, and the JSON file of -J.
//
//	text or JSON ──Parse──→ Result{Rows, Warnings} ──Samples──→ []bench.Sample
//
// Rows are read by the table's own header, because the columns differ from
// version to version ("error" and "#wrong", with and without redop and root,
// four more with -I). NCCL's INFO lines may stand before, between and inside
// tables. No row is dropped in silence.
package nccl

import (
	"slices"
	"strings"
)

// Suite is the name of the samples' suite.
const Suite = "nccl"

// Program is a row of the catalogue.
type Program struct {
	Name  string // executable
	About string // what a rank sends
	GPUs  int    // fewest GPUs that say anything about a link
}

// Catalogue lists the programs of nccl-tests (src/Makefile, 2.19).
var Catalogue = []Program{
	{"all_reduce_perf", "every rank gets the sum of all", 2},
	{"all_gather_perf", "every rank gets all parts", 2},
	{"reduce_scatter_perf", "every rank gets a part of the sum", 2},
	{"broadcast_perf", "one rank to all", 2},
	{"reduce_perf", "all to the sum on one rank", 2},
	{"alltoall_perf", "every rank to every other", 2},
	{"alltoallv_perf", "the same with parts of different size", 2},
	{"gather_perf", "all parts to one rank", 2},
	{"scatter_perf", "one rank's parts to all", 2},
	{"sendrecv_perf", "each rank to its neighbour", 2},
	{"hypercube_perf", "pairs of ranks, dimension by dimension", 2},
}

// Known says whether a program is in the catalogue.
func Known(name string) bool {
	return slices.ContainsFunc(Catalogue, func(p Program) bool { return p.Name == name })
}

// Warning is a line that looks like data and could not be used, or is odd.
type Warning struct {
	Line int
	Text string
}

// Device is a rank's GPU.
type Device struct {
	Rank int    `json:"rank"`
	Host string `json:"hostname"`
	GPU  string `json:"device_info"`
}

// Body is one half of a row: out of place, or in place.
type Body struct {
	TimeUS float64  // mean of an iteration, microseconds; CPU time with -C
	AlgBW  float64  // size ÷ time, GB/s
	BusBW  float64  // AlgBW corrected for the collective, GB/s (doc/PERFORMANCE.md); 0 on one GPU is right
	Wrong  *float64 // wrong elements; nil is N/A: not checked
	Iter   *Iter    // with -I
}

// Iter is the distribution over the iterations (-I), microseconds. P50 is
// known from JSON alone; NaN in text.
type Iter struct{ Min, P50, P99, Max float64 }

// Row is one size.
type Row struct {
	Line         int   // of the text; the row's number in JSON
	Size         int64 // bytes
	Count        int64 // elements
	Type, Op     string
	Root         string
	Out, InPlace *Body // nil: not run
}

// Result is one program's output.
type Result struct {
	Program  string // "all_reduce_perf"; "" where the version does not say
	Version  string // of nccl-tests; ""
	Library  string // NCCL's version code; ""
	Devices  []Device
	Rows     []Row
	Footer   bool // the summary is there: the output was not cut
	Failed   bool // wrong data, by its own account
	AvgBusBW float64
	Warnings []Warning
}

// Benchmark is the short name for samples: "all_reduce".
func Benchmark(program string) string { return strings.TrimSuffix(program, "_perf") }

// Hosts lists the devices' nodes, one for each rank.
func (r Result) Hosts() (out []string) {
	for _, d := range r.Devices {
		out = append(out, d.Host)
	}
	return out
}
