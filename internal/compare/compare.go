package compare

import (
	"slices"

	"github.com/nearmetal/nearmetal/bench"
)

// Compare compares two arms of one run, block by block. Samples of other arms
// and warm-ups are left out. It never fails: what is wrong with the data is in
// Missing and Warnings, and a comparison of nothing is undecided.
func Compare(samples []bench.Sample, o Options) Comparison {
	gs := newGroups()
	gs.take(samples, [armCount]string{o.Base, o.Other, o.Noise})
	return finish(gs, Blocked, o)
}

// CompareRuns compares the launches of arm o.Base in one run with those of arm
// o.Other in another; the names may be equal. The A/A arm is taken from the
// base run. Drift between the runs does not cancel, and the result says so.
func CompareRuns(base, other []bench.Sample, o Options) Comparison {
	gs := newGroups()
	gs.take(base, [armCount]string{baseArm: o.Base, noiseArm: o.Noise})
	gs.take(other, [armCount]string{otherArm: o.Other})
	return finish(gs, Unblocked, o)
}

// analysis is a comparison being made.
type analysis struct {
	o      Options
	design Design
	t      *tables
	warn   warnings
}

func finish(gs *groups, design Design, o Options) Comparison {
	o = o.withDefaults()
	a := &analysis{o: o, design: design, t: newTables()}
	c := Comparison{
		Schema: Schema, Base: o.BaseLabel, Other: o.OtherLabel, NoiseArm: o.Noise, Design: design,
		Margin: o.Margin, Confidence: o.Confidence, Statistic: o.Statistic, Cells: []Cell{}, Missing: []Missing{},
	}
	for _, g := range gs.sorted() {
		if reason := a.obstacle(g); reason != "" {
			c.Missing = append(c.Missing, Missing{g.Key, reason})
			continue
		}
		c.Cells = append(c.Cells, a.cell(g))
	}
	c.Families = families(c.Cells, c.Missing, o)
	c.Environment = environment(o.BaseEnv, o.OtherEnv)
	c.Attribution = attribute(o, c.Environment)
	c.Verdict, c.Regression = overall(c.Families, c.Missing)
	a.warnOfWhole(c)
	c.Warnings = a.warn.list()
	c.Sentence = sentence(c)
	return c
}

// obstacle says why a group cannot be compared, "" when it can.
func (a *analysis) obstacle(g *group) string {
	b, o := g.arm[baseArm], g.arm[otherArm]
	switch {
	case g.units:
		return "its samples carry different units"
	case len(b) == 0 && len(o) == 0:
		return "no usable value in either arm"
	case len(b) == 0:
		return "no usable value of " + a.o.BaseLabel
	case len(o) == 0:
		return "no usable value of " + a.o.OtherLabel
	}
	if a.design == Blocked && !shareBlock(b, o) {
		return "no block has both arms"
	}
	return ""
}

// byBlock is an arm's blocks, without the note on what was reduced.
func byBlock(in []obs) []obs {
	l, _ := launches(in)
	out, _ := blocks(l)
	return out
}

// shareBlock says whether some block holds both arms.
func shareBlock(base, other []obs) bool {
	seen := map[int]bool{}
	for _, o := range base {
		if len(other) > 0 && o.block == other[0].block {
			return true // the usual case, at once
		}
		seen[o.block] = true
	}
	return slices.ContainsFunc(other, func(o obs) bool { return seen[o.block] })
}

// cell compares one group.
func (a *analysis) cell(g *group) Cell {
	c := Cell{Key: g.Key, Unit: g.unit, Better: lower}
	if bench.HigherIsBetter(g.unit) {
		c.Better = higher
	}
	var arms [armCount][]obs
	var bias [armCount]float64
	for arm := range arms {
		reduced := false
		arms[arm], reduced = launches(g.arm[arm])
		bias[arm] = biasOf(g, arms[arm])
		a.warnOfArm(g, arm, reduced)
	}
	c.Base, c.Other = Summarize(valuesOf(arms[baseArm])), Summarize(valuesOf(arms[otherArm]))
	c.Effect = a.effect(g, arms[baseArm], arms[otherArm], bias[baseArm]+bias[otherArm]).mirrored(c.Better == higher)
	c.claim(a.o)
	if len(arms[noiseArm]) > 0 {
		a.noise(&c, g, arms, bias[baseArm]+bias[noiseArm])
	}
	a.warnOfCell(c, g)
	return c
}

// biasOf is the rounding left in an arm's launches.
func biasOf(g *group, l []obs) float64 {
	v := valuesOf(l)
	slices.Sort(v)
	if len(v) == 0 {
		return 0
	}
	return g.rounder.bias(Summary{N: len(v), Median: quantile(v, 0.5)}, quantile(v, 0.1), quantile(v, 0.9))
}

// effect compares two arms of a group by the comparison's design.
func (a *analysis) effect(g *group, base, other []obs, rounding float64) Effect {
	if a.design == Unblocked {
		return unblockedEffect(valuesOf(base), valuesOf(other), rounding, a.o, a.t)
	}
	return a.pairedEffect(g, base, other, rounding)
}

func (a *analysis) pairedEffect(g *group, base, other []obs, rounding float64) Effect {
	base, several := blocks(base)
	other, more := blocks(other)
	if several || more {
		a.warn.add("several-launches", g.Key, "blocks with several launches of an arm: their median stands for the block")
	}
	b, o, lost := paired(base, other)
	if lost > 0 {
		a.warn.addf("missing-launch", g.Key, "%s left out because the other arm has no value for the block", count(lost, "launch"))
	}
	return blockedEffect(b, o, rounding, a.o, a.t)
}

// noise sets the A/A effect beside the claim. The A/A arm shares its blocks
// with the base arm, so it is compared blocked in either design.
func (a *analysis) noise(c *Cell, g *group, arms [armCount][]obs, rounding float64) {
	if !shareBlock(arms[baseArm], arms[noiseArm]) {
		return
	}
	e := a.pairedEffect(g, arms[baseArm], arms[noiseArm], rounding).mirrored(c.Better == higher)
	apart := c.Effect.Lo > e.Hi || c.Effect.Hi < e.Lo
	c.Noise, c.AboveNoise = &e, &apart
}

// overall sums the families up.
func overall(fs []Family, missing []Missing) (v Verdict, regression bool) {
	var slower, faster, different bool
	equivalent := len(fs) > 0 && len(missing) == 0
	for _, f := range fs {
		slower = slower || len(f.SlowerSizes) > 0
		faster = faster || len(f.FasterSizes) > 0
		different = different || f.DifferentSomewhere
		equivalent = equivalent && f.EquivalentEverywhere
	}
	return familyVerdict(slower, faster, equivalent, different), slower
}
