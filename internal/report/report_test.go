package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/sebdah/goldie/v2"

	"github.com/nearmetal/nearmetal/internal/compare"
)

// render gives one view of a report.
func render(t *testing.T, r Report, f Format, s Style) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, f, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	goldie.New(t, goldie.WithFixtureDir("testdata"), goldie.WithNameSuffix("")).Assert(t, name, got)
}

func TestTerm(t *testing.T) {
	golden(t, "usual.term", render(t, usual().report(), FormatTerm, Style{Width: 80}))
	golden(t, "small.color.term", render(t, small().report(), FormatTerm, Style{Width: 100, Color: true}))
}

func TestMarkdown(t *testing.T) {
	golden(t, "small.md", render(t, small().report(), FormatMarkdown, Style{}))
}

func TestJSON(t *testing.T) {
	got := render(t, small().report(), FormatJSON, Style{})
	golden(t, "small.json", got)
	var back Report
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if back.Schema != Schema || back.Comparison.Schema != compare.Schema || len(back.Comparison.Cells) != 18 {
		t.Errorf("schema %q, %q, %d cells", back.Schema, back.Comparison.Schema, len(back.Comparison.Cells))
	}
}

func TestExtremeValuesAreShownInEveryFormat(t *testing.T) {
	for _, f := range Formats() {
		if out := render(t, extreme(), f, Style{Width: 80}); bytes.Contains(out, []byte("NaN")) {
			t.Errorf("%s shows NaN", f)
		}
	}
}

func TestManyMissingCellsAreCounted(t *testing.T) {
	r := small().report()
	for i := range 50 {
		r.Comparison.Missing = append(r.Comparison.Missing, compare.Missing{Key: compare.Key{Benchmark: "bcast", Size: int64(i)}, Reason: "no usable value"})
	}
	if out := string(render(t, r, FormatTerm, Style{Width: 80})); strings.Count(out, "no usable value") != 10 || !strings.Contains(out, "and 40 more") {
		t.Error("the terminal view does not shorten the list of what is missing")
	}
	if out := string(render(t, r, FormatHTML, Style{})); strings.Count(out, "no usable value") != 50 {
		t.Error("the page does not list all that is missing")
	}
}

func TestTermFitsTheTerminal(t *testing.T) {
	r := usual().report()
	for _, width := range []int{200, 100, 80, 60, 50} {
		for _, line := range strings.Split(string(render(t, r, FormatTerm, Style{Width: width, Color: true})), "\n") {
			if got := lipgloss.Width(line); got > width {
				t.Fatalf("%d columns in a terminal of %d: %q", got, width, line)
			}
		}
	}
}

func TestTermWithoutColourHasNoEscapes(t *testing.T) {
	if out := render(t, usual().report(), FormatTerm, Style{Width: 80}); bytes.ContainsRune(out, '\x1b') {
		t.Error("escape sequence in plain output")
	}
}

// hostile is a report whose every outside text tries to be something else.
func hostile(text string) Report {
	r := small().report()
	samples := r.Samples
	for i := range samples {
		if samples[i].Arm == "container" {
			samples[i].Arm = text
		}
		samples[i].Placement += text
		samples[i].Benchmark += text
		samples[i].Metric += text
		samples[i].Suite += text
		samples[i].Unit += text
	}
	env := map[string]string{text: text, "stack." + text: text}
	r.Comparison = compare.Compare(samples, compare.Options{Base: "native", Other: text, Noise: "native-again",
		BaseEnv: map[string]string{"os": text}, OtherEnv: env})
	r.Comparison.Missing = append(r.Comparison.Missing, compare.Missing{Reason: text})
	r.Environment = map[string]map[string]string{text: env, "native": {text: "x"}}
	r.Run = Run{Name: text, Against: text, Nodes: []string{text}, Version: text, Command: text, Measure: text, Notes: []string{text}}
	return r
}

var hostileTexts = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</title></svg></style><b>`,
	"\x1b]0;owned\x07\x1b[2J", "a\nb\r\n# c\n| d |", "`x` ![a](javascript:alert(1)) @everyone", "\u202eabc\u2066", "\xff\xfe\x00", "{{.}}", strings.Repeat("W", 3000),
}

func TestHostileTextDoesNotReachTheTerminal(t *testing.T) {
	for _, text := range hostileTexts {
		out := string(render(t, hostile(text), FormatTerm, Style{Width: 80}))
		if strings.ContainsAny(out, "\x1b\x07\r\x00\u202e\u2066") {
			t.Errorf("%q: control characters got through", text)
		}
	}
}

func TestHostileTextStaysTextInMarkdown(t *testing.T) {
	for _, text := range hostileTexts {
		out := string(render(t, hostile(text), FormatMarkdown, Style{}))
		for _, bad := range []string{"<script", "<img", "<b>", "</title", "![a](", "@every", "\x1b", "\r", "\n# c", "\n| d |"} {
			outside := stripCode(out)
			if strings.Contains(outside, bad) {
				t.Errorf("%q: %q got through", text, bad)
			}
		}
	}
}

// stripCode drops the last line, whose code span may hold anything.
func stripCode(md string) string {
	if i := strings.LastIndex(md, "\nAnalysed with "); i >= 0 {
		return md[:i]
	}
	return md
}

func TestEmptyComparisonIsShown(t *testing.T) {
	r := Report{Comparison: compare.Compare(nil, compare.Options{Base: "native", Other: "container"})}
	for _, f := range Formats() {
		if len(render(t, r, f, Style{})) == 0 {
			t.Errorf("%s: nothing written", f)
		}
	}
}

func TestUnknownFormatIsRefused(t *testing.T) {
	if err := (Report{}).Write(&bytes.Buffer{}, "pdf", Style{}); err == nil {
		t.Error("no error")
	}
}

func TestSize(t *testing.T) {
	for b, want := range map[int64]string{-1: none, 0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 4 << 20: "4 MiB", 1 << 40: "1 TiB"} {
		if got := size(b); got != want {
			t.Errorf("size(%d) = %q, want %q", b, got, want)
		}
	}
}

func TestSignificant(t *testing.T) {
	for v, want := range map[float64]string{0.31379: "0.3138", 12.3456: "12.35", 99999.5: "100000", 0: "0", 0.000012346: "0.00001235"} {
		if got := significant(v); got != want {
			t.Errorf("significant(%v) = %q, want %q", v, got, want)
		}
	}
}
