package compare

import (
	"math"
	"math/rand/v2"
)

const familySizes = 23 // 1 B … 4 MiB, as OSU sweeps them

// familyOf judges a family of sizes. Half of the noise of a launch is common
// to its sizes, as it is when a launch gets a slow core. ratio gives the truth by size.
func familyOf(r *rand.Rand, t *tables, n int, ratio func(size int) float64) Family {
	o := Options{}.withDefaults()
	common := [2][]float64{}
	for arm := range common {
		for range n {
			common[arm] = append(common[arm], 0.007*r.NormFloat64())
		}
	}
	cells := make([]Cell, familySizes)
	for s := range cells {
		b, c := make([]float64, n), make([]float64, n)
		for i := range n {
			b[i] = 1 + common[0][i] + 0.007*r.NormFloat64()
			c[i] = ratio(s) * (1 + common[1][i] + 0.007*r.NormFloat64())
		}
		cells[s] = Cell{Key: Key{Size: int64(1) << s}, Better: lower, Effect: blockedEffect(b, c, 0, o, t)}
		cells[s].claim(o)
	}
	return newFamily(cells, 0, o)
}

func same(int) float64     { return 1 }
func onMargin(int) float64 { return 1.02 }

// oneSlow puts a true slow-down of 2 % on a single size.
func oneSlow(s int) float64 {
	if s == 7 {
		return 1.02
	}
	return 1
}

func familyCases() []truthCase {
	return []truthCase{
		{"A/A, 23 sizes that share half their noise, 10 blocks", "different somewhere", 0, 0.05,
			func(r *rand.Rand, t *tables) bool { return familyOf(r, t, 10, same).DifferentSomewhere }},
		{"A/A, 23 sizes that share half their noise, 20 blocks", "different somewhere", 0, 0.05,
			func(r *rand.Rand, t *tables) bool { return familyOf(r, t, 20, same).DifferentSomewhere }},
		{"23 sizes, one 2 % slower, 20 blocks", "different somewhere", 0.95, 1,
			func(r *rand.Rand, t *tables) bool { return familyOf(r, t, 20, oneSlow).DifferentSomewhere }},
		{"23 sizes, one 2 % slower, 20 blocks", "equivalent at every size", 0, 0.05,
			func(r *rand.Rand, t *tables) bool { return familyOf(r, t, 20, oneSlow).EquivalentEverywhere }},
		{"23 sizes, all 2 % slower, 20 blocks", "slower by more than 2 % somewhere", 0, 0.05,
			func(r *rand.Rand, t *tables) bool { return len(familyOf(r, t, 20, onMargin).SlowerSizes) > 0 }},
		{"A/A, 23 sizes, 40 blocks", "equivalent at every size", 0, 1,
			func(r *rand.Rand, t *tables) bool { return familyOf(r, t, 40, same).EquivalentEverywhere }},
	}
}

// rounded makes samples as a program with two decimals prints them and gives
// them to Compare, which must find the rounding out. The level of the values
// is drawn anew each time, for where it lies between two steps matters.
func rounded(r *rand.Rand, n int, level, noise, ratio float64) Cell {
	level *= 1 + 0.1*r.Float64()
	b, c := make([]float64, n), make([]float64, n)
	for i := range n {
		b[i] = math.Round(100*level*(1+noise*r.NormFloat64())) / 100
		c[i] = math.Round(100*level*ratio*(1+noise*r.NormFloat64())) / 100
	}
	return Compare(pair("us", b, c), ofArms()).Cells[0]
}

func roundedCases() []truthCase {
	return []truthCase{
		{"2 decimals at 0.5 us, noise 0.1 %, 20 blocks, ratio 1.01", "95 % interval holds the truth", 0.94, 1,
			func(r *rand.Rand, _ *tables) bool { return covers(rounded(r, 20, 0.5, 0.001, 1.01).Effect, 1.01) }},
		{"2 decimals at 0.5 us, noise 1 %, 20 blocks, ratio 1.02", "95 % interval holds the truth", 0.94, 1,
			func(r *rand.Rand, _ *tables) bool { return covers(rounded(r, 20, 0.5, 0.01, 1.02).Effect, 1.02) }},
		{"2 decimals at 0.5 us, noise 0.1 %, 20 blocks, ratio 1.021", "equivalent within 2 %", 0, 0.05,
			func(r *rand.Rand, _ *tables) bool { return rounded(r, 20, 0.5, 0.001, 1.021).Equivalent }},
		{"2 decimals at 0.5 us, noise 0.1 %, 20 blocks, ratio 1", "found different", 0, 0.05,
			func(r *rand.Rand, _ *tables) bool { return rounded(r, 20, 0.5, 0.001, 1).Different }},
		{"2 decimals at 2 us, noise 1 %, 20 blocks, ratio 1.02", "found different", 0.95, 1,
			func(r *rand.Rand, _ *tables) bool { return rounded(r, 20, 2, 0.01, 1.02).Different }},
		{"2 decimals at 2 us, noise 1 %, 20 blocks, ratio 1.02", "95 % interval holds the truth", 0.94, 1,
			func(r *rand.Rand, _ *tables) bool { return covers(rounded(r, 20, 2, 0.01, 1.02).Effect, 1.02) }},
	}
}

// apart compares two runs, the second after the machine has drifted.
func apart(r *rand.Rand, t *tables, m, n int, drift, ratio float64) Cell {
	o := Options{}.withDefaults()
	b, c := make([]float64, m), make([]float64, n)
	for i := range b {
		b[i] = 1 + 0.01*r.NormFloat64()
	}
	for i := range c {
		c[i] = drift * ratio * (1 + 0.01*r.NormFloat64())
	}
	cell := Cell{Better: lower, Effect: unblockedEffect(b, c, 0, o, t)}
	cell.claim(o)
	return cell
}

func unblockedCases() []truthCase {
	return []truthCase{
		{"two runs of 20 and 20 launches, noise 1 %, ratio 1.02", "95 % interval holds the truth", 0.94, 0.97,
			func(r *rand.Rand, t *tables) bool { return covers(apart(r, t, 20, 20, 1, 1.02).Effect, 1.02) }},
		{"two runs of 8 and 15 launches, noise 1 %, ratio 1.02", "95 % interval holds the truth", 0.94, 0.97,
			func(r *rand.Rand, t *tables) bool { return covers(apart(r, t, 8, 15, 1, 1.02).Effect, 1.02) }},
		{"two runs of 20 and 20 launches, noise 1 %, ratio 1.02", "found different", 0.95, 1,
			func(r *rand.Rand, t *tables) bool { return apart(r, t, 20, 20, 1, 1.02).Different }},
		{"two runs, the machine 2 % slower in the second, ratio 1", "found different (wrongly)", 0, 1,
			func(r *rand.Rand, t *tables) bool { return apart(r, t, 20, 20, 1.02, 1).Different }},
		{"drift of 10 % inside a run, its arms compared as if unblocked, ratio 1.02", "found different", 0, 1,
			func(r *rand.Rand, t *tables) bool {
				o := Options{}.withDefaults()
				b, c := drift10(r, 20)
				cell := Cell{Better: lower, Effect: unblockedEffect(b, scaled(c, 1.02), 0, o, t)}
				cell.claim(o)
				return cell.Different
			}},
	}
}

func planningCases() []truthCase {
	return []truthCase{
		{"normal noise 1 %, stopped at ±1 %, from 6 blocks on, ratio 1.02", "95 % interval holds the truth", 0.92, 1,
			func(r *rand.Rand, t *tables) bool { return covers(stopped(r, t, 6, 0.01), 1.02) }},
		{"normal noise 1 %, stopped at ±1 %, from 10 blocks on, ratio 1.02", "95 % interval holds the truth", 0.92, 1,
			func(r *rand.Rand, t *tables) bool { return covers(stopped(r, t, 10, 0.01), 1.02) }},
		{"normal noise 1 %, stopped at ±0.5 %, from 10 blocks on, ratio 1.02", "95 % interval holds the truth", 0.92, 1,
			func(r *rand.Rand, t *tables) bool { return covers(stopped(r, t, 10, 0.005), 1.02) }},
		{"second mode in one arm only (30 % of launches 3 % slower), 20 blocks", "95 % interval holds the pseudo-median", 0, 1,
			func(r *rand.Rand, t *tables) bool { return covers(lopsided(r, t, 20), lopsidedTruth) }},
		{"normal noise 3 %, ratio 1, undecided after 10 blocks, run anew with the blocks it asks for", "decided", 0, 1, replanned},
	}
}

// stopped adds blocks until the interval is narrow, as a runner does.
func stopped(r *rand.Rand, t *tables, least int, target float64) Effect {
	o := Options{}.withDefaults()
	b, c := normal1(r, least)
	c = scaled(c, 1.02)
	for {
		e := blockedEffect(b, c, 0, o, t)
		if math.Expm1(e.logHalf) <= target || len(b) >= 100 {
			return e
		}
		b1, c1 := normal1(r, 1)
		b, c = append(b, b1[0]), append(c, 1.02*c1[0])
	}
}

// lopsidedTruth is the pseudo-median of lopsided's ratios, found once as the
// Hodges–Lehmann centre of 2 million blocks (seed 5, 1).
const lopsidedTruth = 1.008062

func lopsided(r *rand.Rand, t *tables, n int) Effect {
	b, c := lopsidedDraw(r, n)
	return blockedEffect(b, c, 0, Options{}.withDefaults(), t)
}

func lopsidedDraw(r *rand.Rand, n int) (b, c []float64) {
	for range n {
		b = append(b, 1+0.005*r.NormFloat64())
		c = append(c, mode(r, 0.3, 0.03)+0.005*r.NormFloat64())
	}
	return b, c
}

func replanned(r *rand.Rand, t *tables) bool {
	f := each(func(r *rand.Rand, _ float64) float64 { return math.Exp(0.03 * r.NormFloat64()) })
	for {
		first := judged(r, t, f, 10, 1)
		if first.NeedBlocks <= 0 || first.NeedBlocks > 1000 {
			continue
		}
		return judged(r, t, f, first.NeedBlocks, 1).Verdict != Undecided
	}
}
