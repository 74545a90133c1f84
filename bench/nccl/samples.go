package nccl

import (
	"math"

	"github.com/nearmetal/nearmetal/bench"
)

// Samples turns a result into samples of a launch: "time" (us) and "busbw"
// (GB/s) for each size, out of place; in place under the benchmark's name with
// "-in-place". With -I the median and 99th percentile of the iterations come
// beside the mean ("time-p50", "time-p99"). A bandwidth of 0, which is right on
// one GPU and rounded at small sizes, has no ratio and is left out. program
// names the benchmark where the output does not.
func (r Result) Samples(l bench.Launch, program string) []bench.Sample {
	name := Benchmark(program)
	if r.Program != "" {
		name = Benchmark(r.Program)
	}
	var out []bench.Sample
	for _, row := range r.Rows {
		out = append(out, row.samples(l, name, row.Out)...)
		out = append(out, row.samples(l, name+"-in-place", row.InPlace)...)
	}
	return out
}

func (row Row) samples(l bench.Launch, name string, b *Body) (out []bench.Sample) {
	if b == nil {
		return nil
	}
	add := func(metric, unit string, v float64) {
		if v > 0 && !math.IsInf(v, 1) {
			out = append(out, bench.Sample{Suite: Suite, Benchmark: name, Placement: l.Case, Metric: metric, Unit: unit,
				Size: row.Size, Arm: l.Arm, Block: l.Block, Launch: l.ID, Value: v})
		}
	}
	add("time", "us", b.TimeUS)
	add("busbw", "GB/s", b.BusBW)
	if b.Iter != nil {
		add("time-p50", "us", b.Iter.P50)
		add("time-p99", "us", b.Iter.P99)
	}
	return out
}
