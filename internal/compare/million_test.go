package compare

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
)

const million = 1_000_000

// manyCells is a wide run: 500 cells, 20 blocks, 50 samples a launch.
func manyCells(rng *rand.Rand) []bench.Sample {
	out := make([]bench.Sample, 0, million)
	for len(out) < million {
		launch := len(out) / 50
		out = append(out, bench.Sample{Suite: "mpi", Benchmark: "latency", Placement: "2 nodes", Metric: "latency", Unit: "us",
			Size: int64(launch / 40), Arm: [2]string{"native", "container"}[launch%2], Block: launch % 40 / 2, Launch: launch,
			Value: 1 + 0.01*rng.NormFloat64()})
	}
	return out
}

// oneCell is a deep run: half a million blocks of one launch an arm.
func oneCell(rng *rand.Rand) []bench.Sample {
	out := make([]bench.Sample, 0, million)
	for i := range million {
		out = append(out, bench.Sample{Suite: "mpi", Benchmark: "latency", Placement: "2 nodes", Metric: "latency", Unit: "us",
			Size: 8, Arm: [2]string{"native", "container"}[i%2], Block: i / 2, Launch: i, Value: 1 + 0.01*rng.NormFloat64()})
	}
	return out
}

var shapes = map[string]func(*rand.Rand) []bench.Sample{"many cells": manyCells, "one cell": oneCell}

func BenchmarkMillion(b *testing.B) {
	for name, shape := range shapes {
		samples := shape(rand.New(rand.NewPCG(1, 1)))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Compare(samples, ofArms())
			}
		})
		b.Run(name+", two runs", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				CompareRuns(samples, samples, ofArms())
			}
		})
	}
}

// A million samples are compared in under 1 GB, input included. Their time is
// a figure of `make bench BENCH=compare`, for a test's machine may be busy.
func TestMillionSamplesFitInAGigabyte(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("takes 500 MB: run without -short and -race")
	}
	for name, shape := range shapes {
		samples := shape(rand.New(rand.NewPCG(1, 1)))
		c := Compare(samples, ofArms())
		if c.Cells[0].Effect.N != c.Cells[0].Base.N {
			t.Fatalf("%s: %+v", name, c.Cells[0])
		}
		var after runtime.MemStats
		runtime.ReadMemStats(&after)
		if after.HeapSys > 1<<30 {
			t.Errorf("%s: %d MB of heap, want under 1 GB", name, after.HeapSys>>20)
		}
		runtime.KeepAlive(samples)
	}
}
