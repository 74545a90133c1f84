package compare

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
)

// drawn is a run of random shape: sizes, blocks, noise and ratio.
func drawn(rng *rand.Rand) []bench.Sample {
	var out []bench.Sample
	n, ratio := 1+rng.IntN(25), math.Exp(0.1*rng.NormFloat64())
	for size := int64(1); size <= 64; size *= 4 {
		for b := range n {
			for _, arm := range []string{"native", "container", "native-again"} {
				v := math.Exp(0.05 * rng.NormFloat64())
				if arm == "container" {
					v *= ratio
				}
				out = append(out, bench.Sample{Suite: "mpi", Benchmark: "bw", Metric: "bandwidth", Unit: "MB/s", Size: size, Arm: arm, Block: b, Launch: len(out), Value: v})
			}
		}
	}
	return out
}

func properties(t *testing.T, check func(t *testing.T, rng *rand.Rand, s []bench.Sample)) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		check(t, rng, drawn(rng))
	}
}

func withNoise() Options { return Options{Base: "native", Other: "container", Noise: "native-again"} }

func TestSwappedArmsInvertTheRatio(t *testing.T) {
	properties(t, func(t *testing.T, _ *rand.Rand, s []bench.Sample) {
		a := Compare(s, Options{Base: "native", Other: "container"})
		b := Compare(s, Options{Base: "container", Other: "native"})
		for i, c := range a.Cells {
			e, f := c.Effect, b.Cells[i].Effect
			if !near(e.Ratio*f.Ratio, 1, 1e-12) || !near(e.Lo*f.Hi, 1, 1e-12) || !near(e.P, f.P, 1e-12) || !near(e.PSlower, f.PFaster, 1e-12) {
				t.Fatalf("%+v is not the inverse of %+v", e, f)
			}
			if c.Equivalent != b.Cells[i].Equivalent || c.WorseThanMargin != b.Cells[i].BetterThanMargin || c.NeedBlocks != b.Cells[i].NeedBlocks {
				t.Fatalf("statements: %+v against %+v", c, b.Cells[i])
			}
		}
	})
}

func TestUnitsOfMeasureDoNotMatter(t *testing.T) {
	properties(t, func(t *testing.T, rng *rand.Rand, s []bench.Sample) {
		a := Compare(s, withNoise())
		by := math.Exp(10 * rng.NormFloat64())
		for i := range s {
			s[i].Value *= by
		}
		b := Compare(s, withNoise())
		for i, c := range a.Cells {
			d := b.Cells[i]
			if !near(c.Effect.Ratio, d.Effect.Ratio, 1e-9) || !near(c.Effect.Hi, d.Effect.Hi, 1e-9) || c.Verdict != d.Verdict || !near(d.Base.Median, by*c.Base.Median, 1e-9*by) {
				t.Fatalf("scaled by %v: %+v became %+v", by, c, d)
			}
		}
	})
}

func TestOrderOfSamplesDoesNotMatter(t *testing.T) {
	properties(t, func(t *testing.T, rng *rand.Rand, s []bench.Sample) {
		a := Compare(s, withNoise())
		rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
		if b := Compare(s, withNoise()); !reflect.DeepEqual(a, b) {
			t.Fatalf("shuffled samples give\n%+v\nnot\n%+v", b, a)
		}
	})
}

func TestIntervalAndPValueAgree(t *testing.T) {
	properties(t, func(t *testing.T, rng *rand.Rand, s []bench.Sample) {
		for i := range s { // coarse values: ties and zeros abound
			s[i].Value = math.Round(s[i].Value*20) / 20
		}
		for _, c := range Compare(s, withNoise()).Cells {
			e := c.Effect
			if e.Reached && c.Different != (e.P <= 0.05) {
				t.Fatalf("different %v with p = %v: %+v", c.Different, e.P, e)
			}
			if e.Lo > e.Ratio || e.Hi < e.Ratio || e.Level < 0 || e.Level >= 1 {
				t.Fatalf("%+v", e)
			}
			if c.Equivalent && (c.WorseThanMargin || c.BetterThanMargin) {
				t.Fatalf("statements contradict: %+v", c)
			}
		}
	})
}

// Counting must give the order statistics that sorting gives.
func TestCountingFindsTheSortedPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for round := range 8 {
		d, e := make([]float64, 200+rng.IntN(60)), make([]float64, 200+rng.IntN(60))
		step := math.Pow10(round) // from heavy ties to none
		for i := range d {
			d[i] = math.Round(rng.NormFloat64()*step) / step
		}
		for i := range e {
			e[i] = rng.NormFloat64()
		}
		slices.Sort(d)
		slices.Sort(e)
		var w, f []float64
		for i := range d {
			for j := i; j < len(d); j++ {
				w = append(w, d[i]/2+d[j]/2)
			}
			for j := range e {
				f = append(f, e[j]-d[i])
			}
		}
		sameOrder(t, walsh(d), w)
		sameOrder(t, differences(d, e), f)
	}
}

func sameOrder(t *testing.T, p pairs, want []float64) {
	t.Helper()
	slices.Sort(want)
	if p.sorted != nil || p.total != int64(len(want)) {
		t.Fatalf("%d pairs, want %d, counted", p.total, len(want))
	}
	for k := int64(1); k <= p.total; k += 997 {
		if got := p.kth(k); got != want[k-1] {
			t.Fatalf("value %d is %v, want %v", k, got, want[k-1])
		}
	}
	at := want[len(want)/3]
	if below, _ := slices.BinarySearch(want, at); p.atLeast(at) != p.total-int64(below) {
		t.Fatalf("%d at least %v, want %d", p.atLeast(at), at, p.total-int64(below))
	}
}

func TestHolmStepsDown(t *testing.T) {
	got := holm([]float64{0.01, 0.04, 0.03, 0.005})
	want := []float64{0.03, 0.06, 0.06, 0.02} // R: p.adjust(c(.01,.04,.03,.005), "holm")
	for i := range want {
		if !near(got[i], want[i], 1e-12) {
			t.Errorf("holm: %v, want %v", got, want)
		}
	}
}
