package report

import (
	"fmt"

	"github.com/nearmetal/nearmetal/internal/compare"
)

// scalingTitle is "neuron-ring solve, strong scaling".
func scalingTitle(s compare.Scaling) string {
	return fmt.Sprintf("%s %s, %s scaling", plain(s.Benchmark), plain(s.Metric), plain(s.Kind))
}

// efficiency is a share of perfect scaling: "87 %".
func efficiency(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func (t *term) scaling() {
	for _, s := range t.c.Scaling {
		t.line("")
		t.tableTitle(scalingTitle(s))
		t.line(fmt.Sprintf("  %6s  %*s  %10s  %*s  %10s  %s", "ranks", nameWidth, short(t.c.Base, nameWidth), "efficiency", nameWidth, short(t.c.Other, nameWidth), "efficiency", "ratio"))
		for _, p := range s.Points {
			t.line(fmt.Sprintf("  %6d  %*s  %10s  %*s  %10s  %s (%s)", p.Ranks,
				nameWidth, significant(p.Base), efficiency(p.BaseEfficiency), nameWidth, significant(p.Other), efficiency(p.OtherEfficiency),
				ratio(p.Ratio.Ratio), interval(p.Ratio)))
		}
	}
}

func (m *markdown) scaling() {
	for _, s := range m.c.Scaling {
		m.line("**%s** (%s)\n", md(scalingTitle(s)), md(s.Unit))
		m.row("ranks", md(m.c.Base), "efficiency", md(m.c.Other), "efficiency", "ratio")
		m.row("--:", "--:", "--:", "--:", "--:", "--:")
		for _, p := range s.Points {
			m.row(fmt.Sprint(p.Ranks), significant(p.Base), efficiency(p.BaseEfficiency), significant(p.Other), efficiency(p.OtherEfficiency),
				ratio(p.Ratio.Ratio)+" ("+interval(p.Ratio)+")")
		}
		m.line("")
	}
}
