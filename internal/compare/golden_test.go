package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
)

// smallRun is a run as the lab gives it, made up (testdata/README.md): latency
// and bandwidth over a few sizes, init; large messages slower in the
// container, one failed launch, an A/A arm.
func smallRun() []bench.Sample {
	rng := rand.New(rand.NewPCG(2024, 6))
	var out []bench.Sample
	launch := 0
	for block := range 12 {
		for _, arm := range []string{"native", "native-again", "container"} {
			luck := 1 + 0.004*rng.NormFloat64()
			launch++
			if block == 7 && arm == "container" {
				continue
			}
			add := func(benchmark, metric, unit string, size int64, v float64) {
				v = math.Round(100*v*luck*(1+0.004*rng.NormFloat64())) / 100
				out = append(out, bench.Sample{Suite: "osu", Benchmark: benchmark, Placement: "1 node, 2 ranks", Metric: metric, Unit: unit, Size: size, Arm: arm, Block: block, Launch: launch, Value: v})
			}
			for _, size := range []int64{1, 1024, 65536, 1 << 20} {
				us := 0.25 + float64(size)/8000
				if arm == "container" && size >= 65536 {
					us *= 1.3
				}
				add("latency", "latency", "us", size, us)
				add("bw", "bandwidth", "MB/s", size, float64(size)/us)
			}
			slower := map[string]float64{"container": 1.2}[arm]
			add("init", "time", "ms", bench.NoSize, 180*max(1, slower))
		}
	}
	return out
}

func TestGolden(t *testing.T) {
	o := withNoise()
	o.BaseEnv = map[string]string{"image.path": "", "stack.openmpi": "4.1.4", "stack.ucx": "1.13.1", "kernel": "6.1.0"}
	o.OtherEnv = map[string]string{"image.path": "mpi.sif", "stack.openmpi": "4.1.4", "stack.ucx": "1.13.1", "kernel": "6.1.0"}
	got, err := json.MarshalIndent(Compare(smallRun(), o), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const path = "testdata/small-run.golden.json"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what Compare gives; look at the difference and run with -update", path)
	}
}
