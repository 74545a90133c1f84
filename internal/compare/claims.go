package compare

import "math"

// claim fills the cell's statements from its effect. Each is read off the one
// interval that is shown, at the confidence asked for.
func (c *Cell) claim(o Options) {
	e := c.Effect
	hi := 1 + o.Margin
	lo := 1 / hi
	c.Different = e.Reached && (e.Lo > 1 || e.Hi < 1)
	c.Equivalent = e.Reached && e.Lo > lo && e.Hi < hi
	above, below := e.Reached && e.Lo > hi, e.Reached && e.Hi < lo
	c.WorseThanMargin, c.BetterThanMargin = above, below
	if c.Better == higher {
		c.WorseThanMargin, c.BetterThanMargin = below, above
	}
	c.Verdict = c.verdict()
	c.NeedBlocks = needBlocks(*c, o)
}

// Values of Cell.Better.
const (
	lower  = "lower"
	higher = "higher"
)

// Slowdown is the ratio as time: above 1 is slower, for rates too.
func (c Cell) Slowdown() float64 {
	if c.Better == higher {
		return 1 / c.Effect.Ratio
	}
	return c.Effect.Ratio
}

func (c *Cell) verdict() Verdict {
	switch {
	case c.Equivalent:
		return Equivalent
	case !c.Different:
		return Undecided
	case c.Slowdown() > 1:
		return Slower
	}
	return Faster
}

// neverBlocks is NeedBlocks where more blocks do not help: the rounding of the
// output, or an effect that sits on the margin.
const (
	neverBlocks = -1
	mostBlocks  = 100_000 // more is not a plan
)

// needBlocks estimates how many blocks would settle the cell, with a power of
// 80 % if its centre and spread are as seen so far. Zero means settled.
func needBlocks(c Cell, o Options) int {
	if c.Equivalent || c.WorseThanMargin || c.BetterThanMargin {
		return 0
	}
	e := c.Effect
	least := MinBlocks(o.Confidence)
	if e.N < 2 {
		return least
	}
	distance, power := c.target(o)
	if distance <= 0 {
		return neverBlocks
	}
	spread := e.logHalf * math.Sqrt(float64(e.N)) / stdNormal.Quantile((1+e.Level)/2)
	n := math.Ceil(math.Pow((stdNormal.Quantile((1+o.Confidence)/2)+stdNormal.Quantile(power))*spread/distance, 2))
	if n > mostBlocks {
		return neverBlocks
	}
	return max(int(n), least, e.N+1)
}

// target is how far the interval's end must stay from the centre (log scale)
// for the nearest decision: a cell that is already different waits for its
// place against the margin, an undecided one for any verdict. It also gives
// the power to plan with: inside the margin both ends can miss, so each gets
// half of the 20 %.
func (c Cell) target(o Options) (distance, power float64) {
	rounding := math.Log1p(c.Effect.Resolution)
	away := math.Abs(c.Effect.logCentre)
	inside := math.Log1p(o.Margin) - away
	switch {
	case inside > 0 && (c.Different || inside >= away):
		return inside - rounding, 0.9
	case c.Different:
		return -inside - rounding, 0.8
	}
	return away - rounding, 0.8
}

// MinBlocks is the fewest blocks for which the exact signed-rank interval
// reaches a confidence: 6 for 95 %.
func MinBlocks(confidence float64) int {
	return minBlocks(1 - confidence)
}

func minBlocks(alpha float64) int {
	n := 1
	for math.Ldexp(2, -n) > alpha*(1+1e-12) {
		n++
	}
	return n
}
