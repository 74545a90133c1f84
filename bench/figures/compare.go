package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/report"
)

// measureCompare times the statistics on a million samples: 500 sizes of two
// metrics, 500 blocks of native and container.
func measureCompare(_ context.Context, s setup) ([]Figure, error) {
	samples := synthetic(1_000_000)
	cells := 0
	times := timeCalls(max(s.n/4, 6), func() {
		cells = len(compare.Compare(samples, compare.Options{Base: "native", Other: "container"}).Cells)
	})
	f := figure("compare.million_s")
	mid, lo, hi := medianCI(times)
	f.Value, f.Lo, f.Hi, f.N = ptr(mid), ptr(lo), ptr(hi), len(times)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.Note = fmt.Sprintf("%d samples in %d comparisons, %.0f MB taken from the system", len(samples), cells, float64(m.Sys)/1e6)
	page, err := measureReport(max(s.n/4, 6))
	return []Figure{f, page}, err
}

// measureReport times the HTML page of a hundred thousand samples: 2 metrics,
// 50 sizes, 500 blocks, two arms.
func measureReport(n int) (Figure, error) {
	samples := synthetic(100_000)
	r := report.Report{
		Comparison: compare.Compare(samples, compare.Options{Base: "native", Other: "container"}),
		Samples:    samples,
		Run:        report.Run{Synthetic: true},
	}
	var failed error
	var page bytes.Buffer
	times := timeCalls(n, func() {
		page.Reset()
		failed = errors.Join(failed, r.HTML(&page))
	})
	f := figure("report.100k_s")
	mid, lo, hi := medianCI(times)
	f.Value, f.Lo, f.Hi, f.N = ptr(mid), ptr(lo), ptr(hi), len(times)
	f.Note = fmt.Sprintf("a page of %d bytes from %d samples", page.Len(), len(samples))
	return f, failed
}

func synthetic(n int) []bench.Sample {
	rng := rand.New(rand.NewPCG(1, 2))
	arms, metrics := []string{"native", "container"}, []string{"latency", "p99"}
	const blocks = 500
	sizes := n / blocks / len(arms) / len(metrics)
	var out []bench.Sample
	for b := range blocks {
		for i := range sizes * len(metrics) * len(arms) {
			out = append(out, bench.Sample{
				Suite: "mpi", Benchmark: "latency", Placement: "synthetic", Unit: "us",
				Metric: metrics[i%2], Arm: arms[i/2%2], Size: int64(i / 4), Block: b, Launch: b*2 + i/2%2,
				Value: 1 + float64(i/4)/1000 + rng.NormFloat64()/100,
			})
		}
	}
	return out
}
