package compare

import "math"

// logShift estimates a shift on the log scale: its centre and interval are
// order statistics of the pairs, its tests are counts of them, so that p-value
// and interval never contradict each other.
//
// Ties and zeros: a pair that lies on the tested value counts against the
// claim. The closed interval of order statistics keeps at least its level for
// discrete data (Noether 1967, JASA 62:184), which mid-ranks do not promise.
type logShift struct {
	pairs
	*null
	rounding float64 // each pair value may be off by this much
}

// above is the one-sided p-value of "the shift is not above t".
func (s logShift) above(t float64) float64 { return s.tail(s.atMost(t + s.rounding)) }

// below is the one-sided p-value of "the shift is not below t".
func (s logShift) below(t float64) float64 { return s.tail(s.atLeast(t - s.rounding)) }

// interval gives the ends without the rounding, and the level reached. With
// too few blocks for the confidence asked for, it is the widest there is.
func (s logShift) interval(confidence float64) (lo, hi, level float64) {
	c := max(s.critical((1-confidence)/2), 0)
	return s.kth(c + 1), s.kth(s.pairs.total - c), max(0, 1-2*s.tail(c))
}

// effect turns a shift of logs into a ratio. n is the number of blocks.
func (s logShift) effect(n int, o Options) Effect {
	margin := math.Log1p(o.Margin)
	lo, hi, level := s.interval(o.Confidence)
	centre := s.median()
	return Effect{
		N:          n,
		Ratio:      expBounded(centre),
		Lo:         expBounded(lo - s.rounding),
		Hi:         expBounded(hi + s.rounding),
		Level:      level,
		Reached:    level >= o.Confidence,
		Exact:      s.cum != nil,
		P:          min(1, 2*min(s.above(0), s.below(0))),
		PSlower:    s.above(margin),
		PFaster:    s.below(-margin),
		Resolution: math.Expm1(min(700, s.rounding)),
		logCentre:  centre,
		logHalf:    (hi - lo) / 2,
	}
}

// expBounded keeps ratios of absurd values finite: JSON has no infinity.
func expBounded(x float64) float64 { return math.Exp(max(-700, min(700, x))) }

// blockedEffect compares two arms block by block: base[i] and other[i] are the
// positive values of block i.
func blockedEffect(base, other []float64, rounding float64, o Options, t *tables) Effect {
	d := make([]float64, len(base))
	for i := range base {
		d[i] = math.Log(other[i]) - math.Log(base[i])
	}
	return logShift{walsh(d), t.forBlocks(len(d)), rounding}.effect(len(d), o)
}

// unblockedEffect compares the launches of two separate runs, which may differ in number.
func unblockedEffect(base, other []float64, rounding float64, o Options, t *tables) Effect {
	b, c := logs(base), logs(other)
	return logShift{differences(b, c), t.forLaunches(len(b), len(c)), rounding}.effect(min(len(b), len(c)), o)
}

func logs(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Log(x)
	}
	return out
}

// mirrored swaps "slower" and "faster" for a metric where more is better, so
// that PSlower speaks of time and rate alike.
func (e Effect) mirrored(higherIsBetter bool) Effect {
	if higherIsBetter {
		e.PSlower, e.PFaster = e.PFaster, e.PSlower
	}
	return e
}
