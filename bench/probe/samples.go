package probe

import "github.com/nearmetal/nearmetal/bench"

// TailIterations is how many iterations a 99th percentile needs to be more
// than the maximum.
const TailIterations = 100

// Samples turns a result into the headline values of a launch, by OSU's
// formulas (means over the iterations): one for each benchmark and size, and
// the message rate (msg/s) of mbw_mr beside its bandwidth. The launch's case is
// the samples' placement.
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

// Medians gives "latency-p50" (us) and "bandwidth-p50" (MB/s), from the median
// iteration of a launch. A rank that loses its core for one time slice moves
// the mean of a launch many times over and leaves the median alone, so on a
// machine that is not quiet these are the values to compare. The collectives'
// medians are those of the slowest rank of each iteration.
func (r Result) Medians(l bench.Launch) []bench.Sample {
	var out []bench.Sample
	for _, p := range r.Points {
		b, _ := Find(p.Bench)
		switch {
		case p.TimeUS.N == 0 || p.TimeUS.P50 <= 0:
		case p.Unit == "us":
			out = append(out, sample(l, p, b.Metric+"-p50", "us", p.TimeUS.P50))
		case p.Unit == "MB/s" && p.Pairs == 0: // of several pairs the slowest alone is known
			out = append(out, sample(l, p, b.Metric+"-p50", "MB/s", p.Value*p.TimeUS.Mean/p.TimeUS.P50))
		}
	}
	return out
}

// Tails gives "latency-p99" (us) where a launch made at least TailIterations.
func (r Result) Tails(l bench.Launch) []bench.Sample {
	var out []bench.Sample
	for _, p := range r.Points {
		if p.Unit == "us" && p.TimeUS.N >= TailIterations {
			out = append(out, sample(l, p, "latency-p99", "us", p.TimeUS.P99))
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
