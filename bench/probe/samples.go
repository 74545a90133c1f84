package probe

import "github.com/nearmetal/nearmetal/bench"

// TailIterations is how many iterations a 99th percentile needs to be more
// than the maximum.
const TailIterations = 100

// Samples turns a result into the headline values of a launch: one for each
// benchmark and size, and the message rate (msg/s) of mbw_mr beside its
// bandwidth. The launch's case is the samples' placement.
func (r Result) Samples(l bench.Launch) []bench.Sample {
	out := make([]bench.Sample, 0, len(r.Points))
	for _, p := range r.Points {
		b, _ := Find(p.Bench)
		out = append(out, sample(l, p, b.Metric, p.Unit, p.Value))
		if p.MessagesPerS > 0 {
			out = append(out, sample(l, p, "message-rate", "msg/s", p.MessagesPerS))
		}
	}
	return out
}

// Tails gives the median ("p50") and, from TailIterations on, the "p99" of the
// iterations inside the launch, in us, of benchmarks that report a time. They
// show the shape of a launch; the unit of replication stays the launch.
func (r Result) Tails(l bench.Launch) []bench.Sample {
	var out []bench.Sample
	for _, p := range r.Points {
		if p.Unit != "us" || p.TimeUS.N == 0 {
			continue
		}
		out = append(out, sample(l, p, "p50", "us", p.TimeUS.P50))
		if p.TimeUS.N >= TailIterations {
			out = append(out, sample(l, p, "p99", "us", p.TimeUS.P99))
		}
	}
	return out
}

func sample(l bench.Launch, p Point, metric, unit string, value float64) bench.Sample {
	size := p.Size
	if size == 0 {
		size = bench.NoSize
	}
	return bench.Sample{
		Suite: Suite, Benchmark: p.Bench, Placement: l.Case, Metric: metric, Unit: unit, Size: size,
		Arm: l.Arm, Block: l.Block, Launch: l.ID, Value: value,
	}
}
