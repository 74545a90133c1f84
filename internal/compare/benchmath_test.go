package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/perf/benchmath"
)

// The unblocked p-value is benchstat's own (its AssumeNothing is the exact
// Mann–Whitney test), and both call the same pairs of runs different.
func TestAgreesWithBenchstat(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	tab, o := newTables(), Options{}.withDefaults()
	for range 200 {
		m, n := 4+rng.IntN(20), 4+rng.IntN(20)
		base, other := make([]float64, m), make([]float64, n)
		for i := range base {
			base[i] = math.Exp(0.01 * rng.NormFloat64())
		}
		for i := range other {
			other[i] = math.Exp(0.01 + 0.01*rng.NormFloat64())
		}
		th := benchmath.DefaultThresholds
		theirs := benchmath.AssumeNothing.Compare(benchmath.NewSample(base, &th), benchmath.NewSample(other, &th))
		e := unblockedEffect(base, other, 0, o, tab)
		if !near(e.P, theirs.P, 1e-9) {
			t.Fatalf("%d against %d launches: p = %v, benchstat %v", m, n, e.P, theirs.P)
		}
		if different := e.Lo > 1 || e.Hi < 1; different != (theirs.P <= theirs.Alpha) {
			t.Fatalf("different %v, benchstat's p %v", different, theirs.P)
		}
	}
}

// Under drift inside a run the verdicts part, and this is why: benchstat sees
// two arms that spread over 10 %, we see 20 blocks that agree.
func TestPartsFromBenchstatUnderDrift(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 2))
	base, other := drift10(rng, 20)
	scaled(other, 1.02)
	th := benchmath.DefaultThresholds
	theirs := benchmath.AssumeNothing.Compare(benchmath.NewSample(base, &th), benchmath.NewSample(other, &th))
	ours := blockedEffect(base, other, 0, Options{}.withDefaults(), newTables())
	if theirs.P < 0.05 || ours.P > 0.001 || !covers(ours, 1.02) {
		t.Errorf("benchstat p = %v, blocked p = %v, interval %v–%v", theirs.P, ours.P, ours.Lo, ours.Hi)
	}
}
