package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/nearmetal/nearmetal/internal/compare"
)

// palette is the few styles of the terminal view. Colours are the terminal's
// own sixteen, so that they follow its light or dark theme.
type palette struct {
	title, dim, warn lipgloss.Style
	verdict          map[compare.Verdict]lipgloss.Style
}

func newPalette(w io.Writer, color bool) palette {
	profile := termenv.Ascii
	if color {
		profile = termenv.ANSI
	}
	r := lipgloss.NewRenderer(w)
	r.SetColorProfile(profile)
	ink := func(c string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(c)) }
	return palette{
		title: r.NewStyle().Bold(true),
		dim:   r.NewStyle().Faint(true),
		warn:  ink("3"),
		verdict: map[compare.Verdict]lipgloss.Style{
			compare.Equivalent: ink("2"),
			compare.Slower:     ink("1").Bold(true),
			compare.Faster:     ink("4").Bold(true),
			compare.Different:  ink("3"),
			compare.Mixed:      ink("3"),
			compare.Undecided:  r.NewStyle().Faint(true),
		},
	}
}

// Term writes the comparison as tables for a terminal: the answer first, then
// a table a benchmark, then what weakens the answer.
func (r Report) Term(w io.Writer, s Style) error {
	t := &term{Style: s, palette: newPalette(w, s.Color), c: r.Comparison}
	if t.Width <= 0 {
		t.Width = 80
	}
	t.headline(r.Run)
	t.reasons()
	t.tables()
	t.scaling()
	t.missing()
	t.environment()
	t.warnings(r.Run.Notes)
	t.legend()
	_, err := io.WriteString(w, t.String())
	return err
}

// term builds the text.
type term struct {
	strings.Builder
	Style
	palette
	c compare.Comparison
}

func (t *term) line(s string) { t.WriteString(strings.TrimRight(s, " ") + "\n") }

// text writes a paragraph wrapped to the terminal, with a hanging mark.
func (t *term) text(style lipgloss.Style, mark, s string) {
	indent := lipgloss.Width(mark)
	body := lipgloss.NewStyle().Width(max(20, t.Width-indent)).Render(plain(s))
	for i, l := range strings.Split(body, "\n") {
		lead := mark
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		t.line(lead + style.Render(strings.TrimRight(l, " ")))
	}
}

func (t *term) headline(run Run) {
	if run.Synthetic {
		t.text(t.warn, "", "Synthetic data: made for a test, measured nowhere.")
	}
	mark := verdictMark(t.c.Verdict)
	t.text(t.verdict[t.c.Verdict].Bold(true), t.verdict[t.c.Verdict].Render(mark)+" ", t.c.Sentence)
}

func (t *term) tables() {
	for _, p := range placements(t.c) {
		for _, f := range p.sized() {
			t.line("")
			t.tableTitle(f.title() + " · " + plain(p.name))
			t.table(t.columns("size", f.unit(), f.cells, nil), f.cells)
			t.text(t.dim, "  ", f.Sentence)
		}
		if rest := p.sizeless(); len(rest) > 0 {
			t.line("")
			t.tableTitle("start-up and other times · " + plain(p.name))
			cells, name := flatten(rest)
			t.table(t.columns("", "", cells, name), cells)
		}
	}
}

// flatten lines up the families without sizes as rows of one table.
func flatten(fs []family) (cells []compare.Cell, name func(int) string) {
	var names []string
	for _, f := range fs {
		cells = append(cells, f.cells...)
		names = append(names, f.title()+" "+unit(f.unit()))
	}
	return cells, func(i int) string { return names[i] }
}

func (t *term) tableTitle(title string) {
	right := short(t.c.Other, nameWidth) + " ÷ " + short(t.c.Base, nameWidth)
	gap := t.Width - lipgloss.Width(title) - lipgloss.Width(right)
	if gap < 2 {
		right, gap = "", 0
	}
	t.line(t.title.Render(title) + strings.Repeat(" ", gap) + t.dim.Render(right))
}

// mostMissing is how many cells that could not be compared are listed; two
// runs of different suites have hundreds.
const mostMissing = 10

func (t *term) missing() {
	if len(t.c.Missing) > 0 {
		t.line("")
		t.line(t.title.Render("not compared"))
	}
	for i, m := range t.c.Missing {
		if i == mostMissing {
			t.line(fmt.Sprintf("  and %d more (--json lists them)", len(t.c.Missing)-i))
			break
		}
		t.text(t.warn, "  ", keyText(m.Key)+": "+m.Reason)
	}
}

func (t *term) environment() {
	if len(t.c.Environment) == 0 {
		return
	}
	t.line("")
	t.line(t.title.Render("what differed between the arms"))
	for _, d := range t.c.Environment {
		t.text(t.dim, "  "+plain(d.Key)+": ", observed(d.Base)+" → "+observed(d.Other))
	}
}

// observed writes an environment value; nil was not observed.
func observed(v *string) string {
	if v == nil {
		return "not observed"
	}
	return plain(*v)
}

func (t *term) warnings(notes []string) {
	if len(t.c.Warnings)+len(notes) > 0 {
		t.line("")
	}
	for _, w := range t.c.Warnings {
		t.text(t.warn, t.warn.Render("! "), w.Text)
	}
	for _, n := range notes {
		t.text(t.warn, t.warn.Render("! "), n)
	}
}

func (t *term) legend() {
	t.line("")
	t.text(t.dim, "", legend(t.c))
}

// legend explains the columns in one paragraph.
func legend(c compare.Comparison) string {
	s := fmt.Sprintf("Values are medians of launches%s. Ratio: %s ÷ %s with its %s interval; for a rate, below 1 is slower. Margin ±%s.",
		ofLaunch(c.Statistic), c.Other, c.Base, percent(c.Confidence), percent(c.Margin))
	if c.NoiseArm != "" {
		s += fmt.Sprintf(" Noise floor: the far end of the interval of %s ÷ %s, where nothing differs.", c.NoiseArm, c.Base)
	} else {
		s += " No A/A arm was run: the noise floor is not known."
	}
	return s
}
