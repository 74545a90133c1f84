package bench

import "testing"

func TestChoose(t *testing.T) {
	s := func(b, m string) Sample { return Sample{Benchmark: b, Metric: m, Unit: "us"} }
	all := []Sample{s("latency", "latency"), s("latency", "latency-p50"), s("latency", "latency-p99"), s("init", "time")}
	for statistic, want := range map[string][]string{
		"":     {"latency-p50", "time"},
		Median: {"latency-p50", "time"},
		Mean:   {"latency", "time"},
		Tail:   {"latency-p99"},
	} {
		got := Choose(all, statistic)
		if len(got) != len(want) {
			t.Errorf("%q: %+v", statistic, got)
			continue
		}
		for i := range got {
			if got[i].Metric != want[i] {
				t.Errorf("%q: %s, want %s", statistic, got[i].Metric, want[i])
			}
		}
	}
}
