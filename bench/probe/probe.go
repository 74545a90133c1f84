// Package probe drives nearmetal's own MPI probe, whose C source lies in src/,
// and reads what it prints.
//
//	Options ──Args──→ nearmetal-probe (srun, mpirun) ──JSON lines──Parse──→ Result ──Samples──→ []bench.Sample
//
// One launch gives start-up time, latency and bandwidth over OSU's sizes,
// with the data verified. The text that the probe prints without --json is
// read by package osu.
package probe

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Program is the base name of the built probe.
const Program = "nearmetal-probe"

// Suite is the name of the samples' suite.
const Suite = "mpi"

// Schema is what the first line of the JSON output declares.
const Schema = "nearmetal/probe/v1"

// Exit codes of the probe (src/probe.h).
const (
	ExitRun   = 1 // MPI, memory or output failed
	ExitUsage = 2 // bad flags
	ExitData  = 3 // received data were wrong
	ExitRanks = 4 // MPI_COMM_WORLD has another size than was launched
)

// Benchmark is a row of the catalogue.
type Benchmark struct {
	Name   string // as in --bench
	Metric string // of the headline value
	Unit   string // of the headline value
	Ranks  int    // fewest ranks
	Sized  bool   // swept over message sizes
}

// Catalogue lists the benchmarks of the probe in the order of --all.
var Catalogue = []Benchmark{
	{"init", "time", "ms", 1, false},
	{"latency", "latency", "us", 2, true},
	{"bw", "bandwidth", "MB/s", 2, true},
	{"bibw", "bandwidth", "MB/s", 2, true},
	{"mbw_mr", "bandwidth", "MB/s", 2, true},
	{"allreduce", "latency", "us", 2, true},
	{"allgather", "latency", "us", 2, true},
	{"alltoall", "latency", "us", 2, true},
	{"bcast", "latency", "us", 2, true},
	{"barrier", "latency", "us", 2, false},
}

// Find gives the catalogue's row of that name.
func Find(name string) (Benchmark, bool) {
	i := slices.IndexFunc(Catalogue, func(b Benchmark) bool { return b.Name == name })
	if i < 0 {
		return Benchmark{}, false
	}
	return Catalogue[i], true
}

// Options are the probe's flags. Zero values leave the probe's default.
type Options struct {
	Benchmarks []string      // names of the catalogue; empty: init, latency, bw
	MinBytes   int64         // smallest message
	MaxBytes   int64         // largest message
	Iterations int           // fixed number a size (the budget is then off)
	WarmUp     int           // iterations dropped, fixed number
	Budget     time.Duration // time a size
	Window     int           // messages in flight
	Verify     int           // verified iterations a size; negative: none
	Ranks      int           // refuse another size of MPI_COMM_WORLD
	JSON       string        // "-" for JSON lines on stdout, or a path
}

// Args gives the arguments after the program's name, or an error (exit code 2)
// that names the wrong option.
func (o Options) Args() ([]string, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	var args []string
	add := func(flag, value string, given bool) {
		if given {
			args = append(args, flag, value)
		}
	}
	add("--bench", strings.Join(o.Benchmarks, ","), len(o.Benchmarks) > 0)
	add("-m", o.sizes(), o.MinBytes > 0 || o.MaxBytes > 0)
	add("-i", strconv.Itoa(o.Iterations), o.Iterations > 0)
	add("-x", strconv.Itoa(o.WarmUp), o.WarmUp > 0)
	add("--budget-ms", strconv.FormatFloat(o.Budget.Seconds()*1e3, 'f', -1, 64), o.Budget > 0)
	add("-W", strconv.Itoa(o.Window), o.Window > 0)
	add("-c", strconv.Itoa(max(o.Verify, 0)), o.Verify != 0)
	add("--expect-ranks", strconv.Itoa(o.Ranks), o.Ranks > 0)
	add("--json", o.JSON, o.JSON != "")
	return args, nil
}

func (o Options) sizes() string {
	switch {
	case o.MaxBytes == 0:
		return strconv.FormatInt(o.MinBytes, 10) + ":"
	case o.MinBytes == 0:
		return strconv.FormatInt(o.MaxBytes, 10)
	}
	return strconv.FormatInt(o.MinBytes, 10) + ":" + strconv.FormatInt(o.MaxBytes, 10)
}

func (o Options) validate() error {
	for _, name := range o.Benchmarks {
		if _, ok := Find(name); !ok {
			return fail.Usagef("one of: "+strings.Join(Names(), ", "), "unknown probe benchmark %q", name)
		}
	}
	for _, n := range []int64{o.MinBytes, o.MaxBytes, int64(o.Iterations), int64(o.WarmUp), int64(o.Budget), int64(o.Window), int64(o.Ranks)} {
		if n < 0 {
			return fail.Usagef("leave an option out for its default", "negative probe option %d", n)
		}
	}
	if o.MaxBytes > 0 && o.MinBytes > o.MaxBytes {
		return fail.Usagef("swap them", "smallest message %d is above the largest %d", o.MinBytes, o.MaxBytes)
	}
	return nil
}

// Names lists the benchmarks of the catalogue.
func Names() []string {
	names := make([]string, len(Catalogue))
	for i, b := range Catalogue {
		names[i] = b.Name
	}
	return names
}
