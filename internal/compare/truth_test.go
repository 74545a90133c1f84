package compare

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// The known-truth simulations: data are made with a ratio that we know, and we
// count how often the answer is right. Seeds are fixed, so the figures are
// reproducible; docs/statistics.md holds those of -truth 10000.
var (
	truthRuns = flag.Int("truth", 2000, "simulated comparisons for each known-truth case")
	update    = flag.Bool("update", false, "rewrite goldens; with -truth 10000 also the table in docs/statistics.md")
)

const statisticsDoc = "../../docs/statistics.md"

// truthCase is one row: in how many simulations did the event happen.
type truthCase struct {
	data, event string
	lo, hi      float64 // limits that the share must keep
	once        func(rng *rand.Rand, t *tables) bool
}

func TestTruth(t *testing.T) {
	if testing.Short() || raced { // one goroutine: a race is not to be found here
		*truthRuns = min(*truthRuns, 200)
	}
	var rows []string
	for _, c := range truthCases() {
		share := c.share()
		rows = append(rows, fmt.Sprintf("| %s | %s | %.2f %% | %s |", c.data, c.event, 100*share, limits(c.lo, c.hi)))
		slack := 3 * math.Sqrt(max(share*(1-share), 0.0005)/float64(*truthRuns))
		if share < c.lo-slack || share > c.hi+slack {
			t.Errorf("%s: %s in %.2f %% of %d, want %s", c.data, c.event, 100*share, *truthRuns, limits(c.lo, c.hi))
		}
	}
	table := strings.Join(rows, "\n") + "\n"
	t.Log("\n" + table)
	if *truthRuns == 10000 {
		holdTable(t, table)
	}
}

// share runs a case with a seed of its own, so that adding one moves no other.
func (c truthCase) share() float64 {
	h := fnv.New64a()
	h.Write([]byte(c.data + c.event))
	rng := rand.New(rand.NewPCG(h.Sum64(), 1))
	tab := newTables()
	hits := 0
	for range *truthRuns {
		if c.once(rng, tab) {
			hits++
		}
	}
	return float64(hits) / float64(*truthRuns)
}

func limits(lo, hi float64) string {
	switch {
	case lo == 0 && hi == 1:
		return "told, no limit"
	case lo == 0:
		return fmt.Sprintf("at most %g %%", 100*hi)
	case hi == 1:
		return fmt.Sprintf("at least %g %%", 100*lo)
	}
	return fmt.Sprintf("%g–%g %%", 100*lo, 100*hi)
}

// holdTable compares the table in the documentation with the one just made.
func holdTable(t *testing.T, table string) {
	const begin, end = "<!-- truth: begin -->\n", "<!-- truth: end -->"
	doc, err := os.ReadFile(statisticsDoc)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(doc), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lost the marks of the table", statisticsDoc)
	}
	table = "| data | event | share of 10,000 | limit |\n|---|---|---|---|\n" + table
	if *update {
		if err := os.WriteFile(statisticsDoc, []byte(head+begin+table+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != table {
		t.Errorf("the table in %s is not what this code gives; run with -update", statisticsDoc)
	}
}

// noise draws n blocks of two arms alike.
type noise func(rng *rand.Rand, n int) (base, other []float64)

// each draws every launch by f, which is given its place in the run, 0 … 1.
func each(f func(rng *rand.Rand, at float64) float64) noise {
	return func(rng *rand.Rand, n int) (base, other []float64) {
		base, other = make([]float64, n), make([]float64, n)
		for i := range n {
			at := float64(i) / float64(max(n-1, 1))
			base[i], other[i] = f(rng, at), f(rng, at)
		}
		return base, other
	}
}

var (
	normal1 = each(func(r *rand.Rand, _ float64) float64 { return 1 + 0.01*r.NormFloat64() })
	skewed  = each(func(r *rand.Rand, _ float64) float64 { return 1 + 0.01*r.ExpFloat64() })
	twoMode = each(func(r *rand.Rand, _ float64) float64 { return mode(r, 0.3, 0.03) + 0.005*r.NormFloat64() })
	drift10 = each(func(r *rand.Rand, at float64) float64 { return (1 + 0.1*at) * (1 + 0.01*r.NormFloat64()) })
	stray   = each(func(r *rand.Rand, _ float64) float64 { return mode(r, 0.05, 0.5) + 0.01*r.NormFloat64() })
	worse   = each(func(r *rand.Rand, at float64) float64 {
		return (1 + 0.1*at) * (mode(r, 0.3, 0.03) + 0.005*r.ExpFloat64() + 0.005*r.NormFloat64())
	})
)

// mode is 1, or with probability p 1+by.
func mode(r *rand.Rand, p, by float64) float64 {
	if r.Float64() < p {
		return 1 + by
	}
	return 1
}

// scaled gives the other arm a true ratio.
func scaled(v []float64, ratio float64) []float64 {
	for i := range v {
		v[i] *= ratio
	}
	return v
}

// judged makes one blocked comparison of known ratio and judges it.
func judged(rng *rand.Rand, t *tables, f noise, n int, ratio float64) Cell {
	o := Options{}.withDefaults()
	b, c := f(rng, n)
	cell := Cell{Better: lower, Effect: blockedEffect(b, scaled(c, ratio), 0, o, t)}
	cell.claim(o)
	return cell
}

func covers(e Effect, truth float64) bool { return e.Lo <= truth && truth <= e.Hi }

func truthCases() []truthCase {
	var out []truthCase
	out = append(out, coverageCases()...)
	out = append(out, claimCases()...)
	out = append(out, familyCases()...)
	out = append(out, roundedCases()...)
	out = append(out, unblockedCases()...)
	return append(out, planningCases()...)
}

type namedNoise struct {
	name  string
	f     noise
	power float64 // least share of planted 2 % found by 20 blocks
}

func noises() []namedNoise {
	return []namedNoise{
		{"normal noise 1 %", normal1, 0.95}, {"10 % drift and 1 % noise", drift10, 0.95},
		{"skewed noise (exponential, 1 %)", skewed, 0.95}, {"two modes (30 % of launches 3 % slower)", twoMode, 0.95},
		{"strays (5 % of launches 50 % slower)", stray, 0.9}, {"drift, skew and two modes together", worse, 0.95},
	}
}

func coverageCases() (out []truthCase) {
	for _, k := range noises() {
		for _, n := range []int{6, 10, 20, 50} {
			out = append(out, truthCase{
				fmt.Sprintf("%s, %d blocks, ratio 1.02", k.name, n), "95 % interval holds the truth", 0.94, 0.97,
				func(r *rand.Rand, t *tables) bool { return covers(judged(r, t, k.f, n, 1.02).Effect, 1.02) },
			})
		}
	}
	return out
}

func claimCases() (out []truthCase) {
	for _, k := range noises() {
		out = append(out,
			truthCase{k.name + ", 20 blocks, ratio 1", "found different", 0, 0.05,
				func(r *rand.Rand, t *tables) bool { return judged(r, t, k.f, 20, 1).Different }},
			truthCase{k.name + ", 20 blocks, ratio 1.02", "found different", k.power, 1,
				func(r *rand.Rand, t *tables) bool { return judged(r, t, k.f, 20, 1.02).Different }},
			truthCase{k.name + ", 20 blocks, ratio 1.02", "equivalent within 2 %", 0, 0.05,
				func(r *rand.Rand, t *tables) bool { return judged(r, t, k.f, 20, 1.02).Equivalent }},
			truthCase{k.name + ", 20 blocks, ratio 1/1.02", "equivalent within 2 %", 0, 0.05,
				func(r *rand.Rand, t *tables) bool { return judged(r, t, k.f, 20, 1/1.02).Equivalent }},
			truthCase{k.name + ", 10 blocks, ratio 1.025", "equivalent within 2 %", 0, 0.05,
				func(r *rand.Rand, t *tables) bool { return judged(r, t, k.f, 10, 1.025).Equivalent }},
			truthCase{k.name + ", 20 blocks, ratio 1.02", "worse than 2 %", 0, 0.05,
				func(r *rand.Rand, t *tables) bool { return judged(r, t, k.f, 20, 1.02).WorseThanMargin }},
		)
	}
	// Told without a limit: what the test can do with sensible effort.
	for _, n := range []int{10, 20, 40} {
		out = append(out, truthCase{fmt.Sprintf("normal noise 1 %%, %d blocks, ratio 1", n), "equivalent within 2 %", 0, 1,
			func(r *rand.Rand, t *tables) bool { return judged(r, t, normal1, n, 1).Equivalent }})
	}
	return append(out, truthCase{"normal noise 10 %, 20 blocks, ratio 1", "equivalent within 2 %", 0, 0.05,
		func(r *rand.Rand, t *tables) bool {
			loud := each(func(r *rand.Rand, _ float64) float64 { return math.Exp(0.1 * r.NormFloat64()) })
			return judged(r, t, loud, 20, 1).Equivalent
		}})
}
