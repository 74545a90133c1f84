package osu

import (
	"math"
	"strings"

	"github.com/nearmetal/nearmetal/bench"
)

// Samples turns the headline columns into samples of a launch: latency (us),
// bandwidth (MB/s), message rate (msg/s), overall and pure communication time
// (us) and overlap (%) of non-blocking collectives, slowest MPI_Init (ms). The
// launch's case is the samples' placement. Values that are not finite are left
// out (Parse warned of them). Zero is kept: it is what OMB printed.
func (r Result) Samples(l bench.Launch) []bench.Sample {
	return r.samples(l, func(c Column) bool { return c.Head })
}

// AllSamples takes every column that has a unit: minima, maxima, percentiles.
func (r Result) AllSamples(l bench.Launch) []bench.Sample {
	return r.samples(l, func(c Column) bool { return c.Unit != "" && c.Unit != "B" })
}

func (r Result) samples(l bench.Launch, want func(Column) bool) []bench.Sample {
	var out []bench.Sample
	types := r.datatypes()
	for _, b := range r.Blocks {
		name := b.Benchmark()
		if len(types[name]) > 1 {
			name += "-" + strings.ToLower(strings.TrimPrefix(b.Datatype, "MPI_"))
		}
		for _, row := range b.Rows {
			for i, c := range b.Columns {
				if v := row.Values[i]; want(c) && !math.IsNaN(v) && !math.IsInf(v, 0) {
					out = append(out, bench.Sample{
						Suite: Suite, Benchmark: name, Placement: l.Case, Metric: c.Metric, Unit: c.Unit,
						Size: row.Size, Arm: l.Arm, Block: l.Block, Launch: l.ID, Value: v,
					})
				}
			}
		}
	}
	return out
}

// datatypes tells which benchmarks were run with several datatypes (-T), whose
// samples must not be mixed.
func (r Result) datatypes() map[string]map[string]bool {
	types := map[string]map[string]bool{}
	for _, b := range r.Blocks {
		if types[b.Benchmark()] == nil {
			types[b.Benchmark()] = map[string]bool{}
		}
		types[b.Benchmark()][b.Datatype] = true
	}
	return types
}
