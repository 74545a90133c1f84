package report

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/nearmetal/nearmetal/internal/compare"
)

// Markdown writes the comparison for a pull request: the sentence and one row
// a benchmark in sight, everything else folded.
func (r Report) Markdown(w io.Writer) error {
	m := &markdown{c: r.Comparison}
	m.line("### %s %s", markdownMark(m.c.Verdict), md(m.c.Sentence))
	m.line("")
	if r.Run.Synthetic {
		m.line("> Synthetic data: made for a test, measured nowhere.\n")
	}
	m.summary()
	m.reasons()
	m.scaling()
	for _, p := range placements(m.c) {
		for _, f := range p.families {
			m.family(f)
		}
	}
	m.environment()
	m.warnings(r.Run.Notes)
	m.line("%s", md(legend(m.c)))
	if r.Run.Command != "" {
		m.line("\nAnalysed with %s.", code(r.Run.Command))
	}
	_, err := io.WriteString(w, m.String())
	return err
}

type markdown struct {
	strings.Builder
	c compare.Comparison
}

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

func (m *markdown) row(cells ...string) { m.line("| %s |", strings.Join(cells, " | ")) }

func (m *markdown) summary() {
	m.row("benchmark", "where", "equivalent", "ratio "+md(m.c.Other)+" ÷ "+md(m.c.Base), "noise", "verdict")
	m.row("---", "---", "--:", "--:", "--:", "---")
	for _, p := range placements(m.c) {
		for _, f := range p.families {
			m.row(md(f.title()), md(p.name), fmt.Sprintf("%d of %d", f.EquivalentCells, f.Cells),
				f.ratios(), f.noise(), verdictMark(f.Verdict)+" "+string(f.Verdict))
		}
	}
	m.line("")
}

func (m *markdown) family(f family) {
	m.line("<details><summary>%s, %s: %s</summary>\n", inHTML(f.title()), inHTML(f.Placement), inHTML(f.Sentence))
	u := unit(f.unit())
	m.row("size", md(m.c.Base)+" "+md(u), md(m.c.Other)+" "+md(u), "ratio", percent(m.c.Confidence)+" interval", "noise", "verdict")
	m.row("--:", "--:", "--:", "--:", "--:", "--:", "---")
	for _, c := range f.cells {
		m.row(size(c.Size), significant(c.Base.Median), significant(c.Other.Median), ratio(c.Effect.Ratio),
			interval(c.Effect), noise(c.Noise), verdictMark(c.Verdict)+" "+string(c.Verdict))
	}
	m.line("\n</details>\n")
}

func (m *markdown) environment() {
	if len(m.c.Environment) == 0 {
		return
	}
	m.line("<details><summary>%s between the arms</summary>\n", plural(len(m.c.Environment), "difference"))
	m.row("what", md(m.c.Base), md(m.c.Other))
	m.row("---", "---", "---")
	for _, d := range m.c.Environment {
		m.row(md(d.Key), md(observed(d.Base)), md(observed(d.Other)))
	}
	m.line("\n</details>\n")
}

func (m *markdown) warnings(notes []string) {
	for i, x := range m.c.Missing {
		if i == mostMissing {
			m.line("> … and %d more.\n", len(m.c.Missing)-i)
			break
		}
		m.line("> **Not compared:** %s: %s\n", md(keyText(x.Key)), md(x.Reason))
	}
	for _, w := range m.c.Warnings {
		m.line("> **Warning:** %s\n", md(w.Text))
	}
	for _, n := range notes {
		m.line("> **Warning:** %s\n", md(n))
	}
}

// ratios is the span of a family's ratios, with the interval where there is
// but one.
func (f family) ratios() string {
	if len(f.cells) == 1 {
		e := f.cells[0].Effect
		return ratio(e.Ratio) + " (" + interval(e) + ")"
	}
	lo, hi := f.cells[0].Effect.Ratio, f.cells[0].Effect.Ratio
	for _, c := range f.cells {
		lo, hi = min(lo, c.Effect.Ratio), max(hi, c.Effect.Ratio)
	}
	return ratio(lo) + "–" + ratio(hi)
}

// noise is the widest A/A interval of the family.
func (f family) noise() string {
	var widest *compare.Effect
	for _, c := range f.cells {
		if c.Noise != nil && (widest == nil || max(c.Noise.Hi, 1/c.Noise.Lo) > max(widest.Hi, 1/widest.Lo)) {
			widest = c.Noise
		}
	}
	return noise(widest)
}

func markdownMark(v compare.Verdict) string {
	switch v {
	case compare.Equivalent:
		return "✅"
	case compare.Slower, compare.Mixed:
		return "🔺"
	case compare.Faster:
		return "🔹"
	}
	return "❔"
}

// md escapes outside text: every ASCII punctuation that can mean something
// (CommonMark 2.4, GFM tables) gets its backslash; < and & become entities, so
// that no HTML passes; an at sign does not call anybody.
func md(s string) string {
	var b strings.Builder
	for _, r := range plain(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("&#64;")
		case strings.ContainsRune("\\`*_{}[]>#|~!$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inHTML escapes outside text within an HTML block, where Markdown is not read
// (CommonMark 4.6) but by careless renderers.
func inHTML(s string) string {
	return strings.NewReplacer("@", "&#64;", "[", "&#91;", "`", "&#96;").Replace(html.EscapeString(plain(s)))
}

// code quotes a command in a code span longer than any run of backquotes in it
// (CommonMark 6.1).
func code(s string) string {
	fence, run := 1, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		fence = max(fence, run+1)
	}
	tick := strings.Repeat("`", fence)
	pad := ""
	if fence > 1 {
		pad = " "
	}
	return tick + pad + plain(s) + pad + tick
}
