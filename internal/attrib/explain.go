package attrib

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/compare"
)

// Place is what both arms say in one placement.
type Place struct {
	Placement   string // as the families have it: "1 node, 2 ranks"
	Base, Other Facts
}

// startBenchmarks are those that time the start and no messages.
var startBenchmarks = []string{"init", "startup"}

// wall is the metric of a whole launch, start and messages together.
const wall = "wall"

// Explain fills the comparison's Facts and Reasons. Reasons that explain a
// family that differs come first, then in the order of the catalogue.
func Explain(c *compare.Comparison, places []Place, baseEnv, otherEnv map[string]string) {
	for _, p := range places {
		c.Facts = append(c.Facts, rows(p)...)
		both := pair{p.Base, p.Other, baseEnv, otherEnv}
		for _, r := range rules {
			text, fix, ok := r.find(both)
			if !ok {
				continue
			}
			b, o := p.Base[r.fact], p.Other[r.fact]
			c.Reasons = append(c.Reasons, compare.Reason{
				Code: r.code, Placement: p.Placement, Text: text, Fact: r.fact, Base: b.Value, Other: o.Value, Fix: fix,
				Explains: explained(*c, p.Placement, r.scope), Evidence: evidence(c.Base, b, c.Other, o),
			})
		}
	}
	slices.SortStableFunc(c.Reasons, func(a, b compare.Reason) int {
		return cmp.Compare(min(len(b.Explains), 1), min(len(a.Explains), 1))
	})
}

func rows(p Place) (out []compare.FactRow) {
	for _, k := range order {
		b, inBase := p.Base[k]
		o, inOther := p.Other[k]
		if inBase || inOther {
			out = append(out, compare.FactRow{Placement: p.Placement, Key: k, Base: observed(b, inBase), Other: observed(o, inOther)})
		}
	}
	return out
}

func observed(f Fact, ok bool) *string {
	if !ok {
		return nil
	}
	return &f.Value
}

// explained lists the families that differ, in the placement, within the scope.
func explained(c compare.Comparison, placement string, s scope) []compare.FamilyName {
	out := []compare.FamilyName{}
	for _, f := range c.Families {
		starts := slices.Contains(startBenchmarks, f.Benchmark)
		whole := f.Metric == wall // has both in it
		if f.Placement == placement && f.Differs() && (s == anything || whole || starts == (s == start)) {
			out = append(out, compare.FamilyName{Benchmark: f.Benchmark, Placement: f.Placement, Metric: f.Metric})
		}
	}
	return out
}

func evidence(base string, b Fact, other string, o Fact) []compare.Evidence {
	out := []compare.Evidence{}
	for _, e := range []struct {
		arm string
		f   Fact
	}{{base, b}, {other, o}} {
		if e.f.Line > 0 {
			out = append(out, compare.Evidence{Arm: e.arm, File: e.f.File, Line: e.f.Line, Text: cut(e.f.Text, 200)})
		}
	}
	return out
}

func cut(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
