// Package osu knows the MPI programs of the OSU micro-benchmarks (OMB) and
// reads their output, versions 3 to 7.
//
//	raw output ──Parse──→ Result{Blocks, Warnings} ──Samples──→ []bench.Sample
//
// Output is read as clusters produce it: lines may bear a prefix (srun --label,
// mpirun --tag-output or --timestamp-output), a file may hold several tables,
// those of several tasks may be interleaved, and libraries chatter before,
// between and inside tables. No row is dropped in silence: what begins like a
// row and cannot be one is a Warning with its line number.
package osu

import (
	"math"
	"strconv"
)

// Suite is the name of the samples' suite.
const Suite = "osu"

// Warning is a line that looks like data and could not be used, or is odd.
type Warning struct {
	Line int
	Text string
}

// Result is one file.
type Result struct {
	Blocks   []*Block
	Warnings []Warning
}

// Block is one table.
type Block struct {
	Line    int    // of the title, or of the table's header where there is no title
	Label   string // task from the prefix of srun --label or mpirun --tag-output
	Tool    string // "OSU" or "nearmetal-probe"; "" where there is no title
	Title   string // "MPI Allgather Latency"; "" where there is none
	Version string // "7.4"
	Device  string // "CUDA", "ROCM" … from the title; "" is the host
	Program string // "osu_allgather" by the catalogue; "" when unknown

	Datatype        string   // "MPI_CHAR"; "" before 7
	Window          string   // "MPI_Win_allocate" of one-sided programs
	Synchronization string   // "MPI_Win_flush"
	Pairs           int      // mbw_mr
	WindowSize      int      // mbw_mr; 0 when varied
	Section         string   // "Uni-directional Bandwidth (MB/sec)", where windows vary
	Notes           []string // other comment lines: buffers, threads

	HeaderLine int // 0 for startup programs, which print no table
	Columns    []Column
	Rows       []Row
}

// Column is one column of values, without Size and Validation.
type Column struct {
	Text   string // as printed: "Avg Latency(us)"
	Metric string // "latency"
	Unit   string // "us"; "" for counts
	Head   bool   // a headline of its program, turned into a sample
}

// Row is one line of a table.
type Row struct {
	Line   int
	Size   int64     // bytes; bench.NoSize when the table has no sizes
	Values []float64 // as many as Columns; NaN as printed
	Check  string    // "Pass", "Fail", or "" without a Validation column
}

// Finite says whether all values of the row are numbers.
func (r Row) Finite() bool {
	for _, v := range r.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Benchmark is the short name for samples: "allgather" for osu_allgather, the
// title where the program is unknown.
func (b *Block) Benchmark() string {
	name := b.Title
	if b.Program != "" {
		name = b.Program[len("osu_"):]
	}
	if b.Device != "" {
		name += "-" + b.Device
	}
	return name
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // the patterns let digits through only; 0 when too long
	return n
}
