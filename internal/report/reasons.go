package report

import (
	"fmt"
	"strings"

	"github.com/nearmetal/nearmetal/internal/compare"
)

// because is a reason's sentence with the place it is true of.
func because(r compare.Reason) string { return r.Placement + ": " + r.Text + "." }

// bearing says which of the measured differences a reason can explain.
func bearing(r compare.Reason) string {
	if len(r.Explains) == 0 {
		return "Nothing that was measured there differs."
	}
	var names []string
	for _, f := range r.Explains {
		names = append(names, metricTitle(f.Benchmark, f.Metric))
	}
	return "It can explain: " + strings.Join(names, ", ") + "."
}

// differs says whether both arms were observed and say different things.
func differs(f compare.FactRow) bool {
	return f.Base != nil && f.Other != nil && *f.Base != *f.Other
}

func (t *term) reasons() {
	if len(t.c.Reasons) == 0 {
		return
	}
	t.line("")
	t.line(t.title.Render("why"))
	for i, r := range t.c.Reasons {
		t.text(t.palette.title, fmt.Sprintf("%d. ", i+1), because(r))
		t.text(t.dim, "   ", bearing(r))
		t.text(t.dim, "   fix: ", r.Fix)
	}
}

func (m *markdown) reasons() {
	if len(m.c.Reasons) == 0 {
		return
	}
	m.line("**Why they differ**\n")
	for i, r := range m.c.Reasons {
		m.line("%d. %s %s To change it: %s.", i+1, md(because(r)), md(bearing(r)), md(r.Fix))
	}
	m.line("")
}

// ofLaunch and oneValue name the statistic of a launch; a report of samples
// that somebody else reduced has none.
func ofLaunch(statistic string) string {
	switch statistic {
	case "median":
		return ", of a launch its median iteration (where the suite tells it)"
	case "mean":
		return ", of a launch the mean of its iterations"
	case "p99":
		return ", of a launch the 99th percentile of its iterations"
	}
	return ""
}

func oneValue(statistic string) string {
	switch statistic {
	case "mean":
		return "mean"
	case "p99":
		return "99th percentile"
	}
	return "median"
}
