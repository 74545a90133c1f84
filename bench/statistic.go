package bench

import "strings"

// Statistics of a launch: what of its many iterations stands for it.
const (
	Median = "median" // the median iteration; the launch's mean where a suite gives no median
	Mean   = "mean"   // the mean over the iterations, as OSU prints it
	Tail   = "p99"    // the 99th percentile
)

// Statistics lists them, the default first: on a machine that is not quiet a
// rank that loses its core for one time slice moves the mean of a launch many
// times over and leaves its median alone.
var Statistics = []string{Median, Mean, Tail}

// suffix marks the metrics of a statistic: "latency-p50".
var suffix = map[string]string{Median: "-p50", Tail: "-p99"}

// StatisticOf splits a metric: "latency-p50" is the median of "latency".
func StatisticOf(metric string) (plain, statistic string) {
	for _, s := range []string{Median, Tail} {
		if m, ok := strings.CutSuffix(metric, suffix[s]); ok {
			return m, s
		}
	}
	return metric, Mean
}

// cell is what a sample is a value of.
type cell struct {
	suite, benchmark, placement, metric string
	size                                int64
}

// Choose keeps one statistic of each benchmark, size and metric: the one asked
// for ("" is Median), else the mean. Tail keeps 99th percentiles alone. The samples given are not changed.
func Choose(samples []Sample, statistic string) []Sample {
	if statistic == "" {
		statistic = Median
	}
	have := map[cell]bool{}
	for i := range samples {
		if plain, s := StatisticOf(samples[i].Metric); s == statistic {
			have[cellOf(&samples[i], plain)] = true
		}
	}
	var out []Sample
	for i := range samples {
		plain, s := StatisticOf(samples[i].Metric)
		if s == statistic || s == Mean && statistic == Median && !have[cellOf(&samples[i], plain)] {
			out = append(out, samples[i])
		}
	}
	return out
}

func cellOf(s *Sample, plain string) cell {
	return cell{s.Suite, s.Benchmark, s.Placement, plain, s.Size}
}
