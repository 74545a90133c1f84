package compare

import (
	"fmt"
	"slices"

	"github.com/nearmetal/nearmetal/bench"
)

// warnings gathers what is wrong, one entry for all sizes of a family that
// share a text.
type warnings struct {
	all []Warning
	at  map[warningKey]int
}

type warningKey struct {
	code, text string
	family     Key // without the size
}

func (w *warnings) add(code string, k Key, text string) {
	size := k.Size
	k.Size = 0
	if w.at == nil {
		w.at = map[warningKey]int{}
	}
	id := warningKey{code, text, k}
	i, known := w.at[id]
	if !known {
		i = len(w.all)
		w.at[id] = i
		w.all = append(w.all, Warning{Code: code, Suite: k.Suite, Benchmark: k.Benchmark, Placement: k.Placement, Metric: k.Metric, Text: text})
	}
	if k != (Key{}) && size != bench.NoSize && !slices.Contains(w.all[i].Sizes, size) {
		w.all[i].Sizes = append(w.all[i].Sizes, size)
	}
}

func (w *warnings) addf(code string, k Key, format string, args ...any) {
	w.add(code, k, fmt.Sprintf(format, args...))
}

// whole adds a warning about the comparison itself.
func (w *warnings) whole(code, format string, args ...any) { w.addf(code, Key{}, format, args...) }

func (w *warnings) list() []Warning {
	if w.all == nil {
		return []Warning{}
	}
	return w.all
}

func (a *analysis) armName(arm int) string {
	return [armCount]string{a.o.BaseLabel, a.o.OtherLabel, a.o.Noise}[arm]
}

// warnOfArm tells what was wrong with one arm of a group.
func (a *analysis) warnOfArm(g *group, arm int, reduced bool) {
	if g.dropped[arm] > 0 {
		a.warn.addf("dropped-value", g.Key, "%s of %s left out: not a positive finite number, so it has no ratio", count(g.dropped[arm], "value"), a.armName(arm))
	}
	if reduced {
		a.warn.addf("reduced", g.Key, "several samples in a launch of %s: their median stands for the launch, which is the unit of replication", a.armName(arm))
	}
}

// warnOfCell tells what makes the cell's interval weaker than it looks.
func (a *analysis) warnOfCell(c Cell, g *group) {
	e := c.Effect
	if !e.Reached {
		a.warn.addf("few-blocks", c.Key, "%s: the exact interval reaches %s, not %s; %s", a.replicates(e.N), percent(e.Level), percent(a.o.Confidence), a.least())
	}
	if e.Resolution > 0 {
		a.warn.addf("resolution", c.Key, "values are rounded to %g %s and hardly vary: the interval is widened by the rounding", g.rounder.step(), c.Unit)
	}
	if e.Resolution >= a.o.Margin {
		a.warn.addf("coarse-resolution", c.Key, "the rounding is coarser than the margin of %s: no number of blocks can show equivalence; print more decimals", percent(a.o.Margin))
	}
	if c.Noise == nil && a.o.Noise != "" {
		a.warn.addf("no-noise-floor", c.Key, "no value of %s: the noise floor is unknown here", a.o.Noise)
	}
}

func (a *analysis) least() string {
	if a.design == Unblocked {
		return "4 launches of each arm are the least for 95 %"
	}
	return fmt.Sprintf("%d blocks are the least", MinBlocks(a.o.Confidence))
}

// warnOfWhole adds what only the families and the environment show.
func (a *analysis) warnOfWhole(c Comparison) {
	if a.design == Unblocked {
		a.warn.whole("unblocked", "two separate runs: what changed on the machine between them is part of the ratio; measure both arms in one run to cancel it")
	}
	if len(c.Cells) == 0 {
		a.warn.whole("nothing-compared", "no cell has both %s and %s", c.Base, c.Other)
	}
	for _, m := range c.Missing {
		a.warn.add("missing-cell", m.Key, "not compared: "+m.Reason)
	}
	for i := 0; i < len(c.Cells); {
		n := familyLength(c.Cells[i:])
		a.warnOfFamily(c.Cells[i : i+n])
		i += n
	}
	a.warnOfEnvironment(c)
}

func familyLength(cells []Cell) int {
	n := 1
	for n < len(cells) && sameFamily(cells[0].Key, cells[n].Key) {
		n++
	}
	return n
}

// warnOfFamily tells when Holm cannot succeed whatever the data say, and when
// the A/A arm differs, which no container can explain.
func (a *analysis) warnOfFamily(cells []Cell) {
	k := cells[0].Key
	k.Size = bench.NoSize
	alpha := 1 - a.o.Confidence
	need := minBlocks(alpha / float64(len(cells)))
	if n := cells[0].Effect.N; a.design == Blocked && n < need && n >= MinBlocks(a.o.Confidence) {
		a.warn.addf("few-blocks-family", k, "%d blocks cannot show a difference over %d sizes together: Holm's correction takes %d", n, len(cells), need)
	}
	p := correct(cells, func(c Cell) float64 {
		if c.Noise == nil {
			return 1
		}
		return c.Noise.P
	})
	if differs := claimed(cells, p, alpha, func(c Cell) bool { return c.Noise != nil && c.Noise.Reached }); len(differs) > 0 {
		a.warn.addf("aa-differs", k, "%s against itself differs at %s: order, placement or drift inside a block is not noise here; claims of this family are not safe", a.o.BaseLabel, count(len(differs), "size"))
	}
}

func (a *analysis) warnOfEnvironment(c Comparison) {
	if c.Attribution == ToUnknown {
		a.warn.whole("environment-unknown", "the environment of %s and %s is not known in full: a difference cannot be put down to the container", c.Base, c.Other)
	}
	for _, d := range c.Environment {
		switch d.Kind {
		case "stack":
			a.warn.whole("stack", "the stacks differ: %s", d.text())
		case "other":
			a.warn.whole("environment", "the arms differ in more than the image: %s", d.text())
		}
	}
}

// replicates is "5 blocks", or "5 launches" of runs without blocks.
func (a *analysis) replicates(n int) string {
	if a.design == Unblocked {
		return count(n, "launch")
	}
	return count(n, "block")
}
