package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
)

// synthetic makes samples that look like OSU's on two placements: made up,
// seeded, measured nowhere. The container is truly as fast as native but for
// what effects says.
type synthetic struct {
	seed   uint64
	blocks int
	repeat int // samples a launch
	sizes  []int64
	noise  float64 // relative, of a launch
}

func usual() synthetic {
	s := synthetic{seed: 1, blocks: 16, repeat: 1, noise: 0.008}
	for b := int64(1); b <= 4<<20; b *= 2 {
		s.sizes = append(s.sizes, b)
	}
	return s
}

// small is a case whose HTML a person can read.
func small() synthetic {
	return synthetic{seed: 7, blocks: 10, repeat: 1, noise: 0.006, sizes: []int64{1, 1024, 65536, 4 << 20}}
}

// fabric is one placement's network: t = alpha + size/beta.
type fabric struct {
	name        string
	alpha, beta float64 // us, MB/s (bytes a us)
	init        float64 // ms
}

var fabrics = []fabric{
	{"1 node, 2 ranks", 0.31, 11800, 212},
	{"2 nodes, 2 ranks", 1.72, 23900, 241},
}

// effect is the planted ratio container ÷ native of the time.
func effect(p fabric, size int64) float64 {
	switch {
	case p.name == "1 node, 2 ranks" && size >= 64<<10:
		return 1.09 // single copy lost in the container
	case p.name == "2 nodes, 2 ranks" && size == 8192:
		return 1.019 // on the edge of the margin: undecided
	case size == bench.NoSize:
		return 1.35
	}
	return 1
}

func (s synthetic) samples() []bench.Sample {
	rng := rand.New(rand.NewPCG(s.seed, 2))
	arms := []string{"native", "native-again", "container"}
	var out []bench.Sample
	launch := 0
	for block := range s.blocks {
		drift := 1 + 0.02*math.Sin(float64(block)/5)
		for _, i := range rng.Perm(len(arms)) {
			for _, p := range fabrics {
				for range s.repeat {
					out = append(out, s.launch(rng, p, arms[i], block, launch, drift)...)
				}
				launch++
			}
		}
	}
	return out
}

func (s synthetic) launch(rng *rand.Rand, p fabric, arm string, block, launch int, drift float64) []bench.Sample {
	jitter := func() float64 { return drift * math.Exp(s.noise*rng.NormFloat64()+s.noise*rng.ExpFloat64()/2) }
	noisy := func(size int64) float64 {
		if p.name == "2 nodes, 2 ranks" && size >= 128 && size <= 1024 {
			return math.Exp(0.05 * rng.NormFloat64()) // too noisy to decide
		}
		return 1
	}
	slow := func(size int64) float64 {
		if arm != "container" {
			return 1
		}
		return effect(p, size)
	}
	one := func(benchmark, metric, unit string, size int64, v float64, decimals int) bench.Sample {
		k := math.Pow10(decimals)
		return bench.Sample{Suite: "mpi", Benchmark: benchmark, Placement: p.name, Metric: metric, Unit: unit,
			Size: size, Arm: arm, Block: block, Launch: launch, Value: math.Round(v*k) / k}
	}
	out := []bench.Sample{one("init", "time", "ms", bench.NoSize, p.init*slow(bench.NoSize)*jitter(), 3)}
	for _, b := range s.sizes {
		t := (p.alpha + float64(b)/p.beta) * slow(b) * jitter() * noisy(b)
		bw := float64(b) / (p.alpha/8 + float64(b)/p.beta) / slow(b) / jitter()
		out = append(out, one("latency", "latency", "us", b, t, 4), one("bw", "bandwidth", "MB/s", b, bw, 3))
	}
	return out
}

func environments() map[string]map[string]string {
	native := map[string]string{
		"stack.openmpi": "5.0.8", "stack.pmix": "5.0.8", "stack.ucx": "1.18.1", "os": "Debian GNU/Linux 12 (bookworm)",
		"kernel": "6.1.0-37-amd64", "cpu.governor": "performance", "env.UCX_TLS": "", "limits.memlock": "unlimited",
	}
	container := map[string]string{}
	for k, v := range native {
		container[k] = v
	}
	container["image.path"] = "app.sif"
	container["image.digest"] = "sha256:4f6d5c8b0f1e"
	container["os"] = "Debian GNU/Linux 13 (trixie)"
	container["env.UCX_TLS"] = "<script>alert(1)</script>" // values are text
	return map[string]map[string]string{"native": native, "native-again": native, "container": container}
}

// report makes the whole report of a synthetic run.
func (s synthetic) report() Report {
	samples := s.samples()
	env := environments()
	c := compare.Compare(samples, compare.Options{Base: "native", Other: "container", Noise: "native-again", BaseEnv: env["native"], OtherEnv: env["container"]})
	return Report{
		Comparison:  c,
		Environment: env,
		Samples:     samples,
		Run: Run{
			Name: "run1", Started: time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 3, 14, 9, 21, 0, 0, time.UTC),
			Launches: s.blocks * 6, Nodes: []string{"n1", "n2"}, Version: "v0.0-test", Synthetic: true,
			Command: "nearmetal compare run1", Measure: fmt.Sprintf("nearmetal bench mpi --image app.sif -N 2 --blocks %d -o run2", s.blocks),
		},
	}
}
