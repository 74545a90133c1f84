package compare

import "math"

// maxDecimals is the most decimals that a program is taken to have rounded
// to; a value with more counts as not rounded.
const maxDecimals = 6

// rounder finds the step to which the values of a cell were rounded before we
// saw them (OSU prints two decimals: at 0.25 us a step is 4 %).
type rounder struct {
	decimals int // fewest decimals that write all values so far
}

// add takes one raw value, before any median.
func (r *rounder) add(v float64) {
	for r.decimals <= maxDecimals {
		p := math.Pow10(r.decimals)
		// The quotient of two exact numbers is the double nearest to that decimal.
		if math.Round(v*p)/p == v && math.Abs(v*p) < 1<<53 {
			return
		}
		r.decimals++
	}
}

// step is the distance between neighbouring values in the metric's unit, 0 when not rounded.
func (r *rounder) step() float64 {
	if r.decimals > maxDecimals {
		return 0
	}
	return math.Pow10(-r.decimals)
}

// bias is the largest relative error that rounding leaves in an arm's centre.
// Where the launches spread over several steps the rounding averages out
// (Sheppard; a spread of σ ≥ 0.78 steps leaves less than 0.0001 of a step);
// where they sit on one or two steps it does not, however many launches.
func (r *rounder) bias(s Summary, p10, p90 float64) float64 {
	step := r.step()
	if step == 0 || s.N == 0 || p90-p10 >= 1.999*step {
		return 0
	}
	return step / 2 / s.Median
}
