package scan

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestRoundsMeetAllPairsOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 7, 8, 65, 128} {
		seen := map[Link]bool{}
		rounds := Rounds(n)
		if want := max(0, n+n%2-1); len(rounds) != want && n > 1 {
			t.Errorf("%d nodes: %d rounds, want %d", n, len(rounds), want)
		}
		for _, r := range rounds {
			busy := map[int]bool{}
			for _, l := range r {
				if busy[l.From] || busy[l.To] || l.From == l.To || seen[l] {
					t.Fatalf("%d nodes: %v", n, l)
				}
				busy[l.From], busy[l.To], seen[l] = true, true, true
			}
		}
		if len(seen) != n*(n-1)/2 {
			t.Errorf("%d nodes: %d pairs", n, len(seen))
		}
	}
}

// machine is a made-up cluster: noise of 2 %, and what is wrong with it.
type machine struct {
	node map[int]float64
	link map[Link]float64
}

func (m machine) measure(rng *rand.Rand, rounds [][]Link) (out []Pair) {
	of := func(n int) float64 {
		if f, ok := m.node[n]; ok {
			return f
		}
		return 1
	}
	for _, r := range rounds {
		for _, l := range r {
			f := of(l.From) * of(l.To)
			if x, ok := m.link[l]; ok {
				f *= x
			}
			out = append(out, Pair{Link: l, Latency: 1.5 * f * math.Exp(0.02*rng.NormFloat64()), Bandwidth: 12000 / f * math.Exp(0.02*rng.NormFloat64())})
		}
	}
	return out
}

// TestFaultsOf4096NodesAreFound: sixteen rounds, three slow nodes, a slow link
// and one that is slow one way.
func TestFaultsOf4096NodesAreFound(t *testing.T) {
	const n = 4096
	rng := rand.New(rand.NewPCG(5, 6))
	rounds := Sample(n, 16, 9)
	broken := rounds[3][100]
	oneWay := rounds[6][7]
	m := machine{node: map[int]float64{17: 1.5, 1000: 2, 4095: 1.3}, link: map[Link]float64{broken: 3, {broken.To, broken.From}: 3, oneWay: 2}}
	rounds = append(rounds, []Link{{oneWay.To, oneWay.From}})
	start := time.Now()
	got := Analyse(n, m.measure(rng, rounds))
	t.Logf("%v for %d pairs", time.Since(start), 16*n/2)
	found := map[string]int{}
	for _, o := range got.Outliers {
		found[o.Kind]++
		switch o.Kind {
		case "node":
			if f := m.node[o.Node]; math.Abs(o.Factor/f-1) > 0.05 || f == 0 {
				t.Errorf("%+v, truth %v", o, f)
			}
		case "one way":
			if o.Link != oneWay {
				t.Errorf("%+v", o)
			}
		default:
			if o.Link != broken {
				t.Errorf("%+v", o)
			}
		}
	}
	if found["node"] != 6 || found["link"] != 2 || found["one way"] != 2 || math.Abs(got.Latency/1.5-1) > 0.02 {
		t.Errorf("%v, median %v", found, got.Latency)
	}
}

// TestAHealthyMachineHasNoOutliers: 200 machines of different size, all pairs.
func TestAHealthyMachineHasNoOutliers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	alarms := 0
	for range 200 {
		n := 2 + rng.IntN(40)
		alarms += min(1, len(Analyse(n, machine{}.measure(rng, Rounds(n))).Outliers))
	}
	if alarms > 4 {
		t.Errorf("%d of 200 healthy machines have outliers", alarms)
	}
}

func TestWhatWasNotMeasuredIsCounted(t *testing.T) {
	nan := math.NaN()
	r := Analyse(3, []Pair{{Link{0, 1}, nan, nan, "no"}, {Link{0, 2}, 1, nan, ""}, {Link{1, 2}, 1, 100, ""}})
	if r.Failed != 1 || r.Bandwidth != 100 || r.Latency != 1 || len(r.Outliers) != 0 {
		t.Errorf("%+v", r)
	}
	if e := Analyse(0, nil); !math.IsNaN(e.Latency) || len(e.Outliers) != 0 {
		t.Errorf("%+v", e)
	}
}
