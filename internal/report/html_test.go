package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
)

func TestHTML(t *testing.T) {
	golden(t, "small.html", render(t, small().report(), FormatHTML, Style{}))
}

// elements lists what a page is made of: each start tag with its attributes.
func elements(t *testing.T, page []byte) (tags []xml.StartElement) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return tags
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			tags = append(tags, e.Copy())
		}
	}
}

func TestHostileTextStaysTextInHTML(t *testing.T) {
	for _, text := range hostileTexts {
		for _, e := range elements(t, render(t, hostile(text), FormatHTML, Style{})) {
			switch e.Name.Local {
			case "script", "img", "b", "iframe", "object":
				t.Fatalf("%q: element %s got through", text, e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || a.Name.Local == "style" {
					t.Fatalf("%q: attribute %s got through", text, a.Name.Local)
				}
				if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") && !strings.HasPrefix(a.Value, "data:") {
					t.Fatalf("%q: link to %s", text, a.Value)
				}
			}
		}
	}
}

func TestDrawingsHaveNoPointNowhere(t *testing.T) {
	pages := [][]byte{render(t, usual().report(), FormatHTML, Style{}), render(t, extreme(), FormatHTML, Style{})}
	for _, text := range hostileTexts {
		pages = append(pages, render(t, hostile(text), FormatHTML, Style{}))
	}
	for _, page := range pages {
		if m := regexp.MustCompile(` (?:d|x|y)="[^"]*(?:NaN|Inf)[^"]*"`).Find(page); m != nil {
			t.Fatalf("drawn nowhere: %.80s", m)
		}
	}
}

func TestCanvasLeavesOutWhatLiesNowhere(t *testing.T) {
	for _, at := range []vg.Point{{X: vg.Length(math.NaN())}, {Y: vg.Length(math.Inf(1))}} {
		c := newCanvas(10, 10)
		var path vg.Path
		path.Move(vg.Point{})
		path.Line(at)
		if c.Stroke(path); len(c.shapes) != 0 {
			t.Errorf("%v was drawn: %v", at, c.shapes)
		}
	}
}

func TestWarmUpsAreNotDrawn(t *testing.T) {
	s := bench.Sample{Arm: "native", Block: bench.WarmUp, Value: 1}
	if d := distributions([]bench.Sample{s}, compare.Comparison{Base: "native"}); len(d) != 0 {
		t.Errorf("a warm-up is in the distributions: %v", d)
	}
}

// extreme has the values at which scales break down.
func extreme() Report {
	r := small().report()
	for i := range r.Samples {
		s := &r.Samples[i]
		switch {
		case s.Size == 1:
			s.Size = 0
		case s.Size == 1024 && s.Arm == "container":
			s.Value = 1e300
		case s.Size == 65536:
			s.Value = 5 // all alike
		case s.Size == 4<<20 && s.Arm == "native":
			s.Value = 1e-300
		}
	}
	r.Comparison = compare.Compare(r.Samples, compare.Options{Base: "native", Other: "container", Noise: "native-again"})
	return r
}

func TestPageLoadsNothing(t *testing.T) {
	page := render(t, usual().report(), FormatHTML, Style{})
	for _, e := range elements(t, page) {
		for _, a := range e.Attr {
			if a.Name.Local == "src" || a.Name.Local == "srcset" || strings.Contains(a.Value, "http:") || strings.Contains(a.Value, "https:") {
				t.Errorf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	if regexp.MustCompile(`url\(|@import`).Match(page) {
		t.Error("the style sheet loads something")
	}
}

func TestEveryClassOfTheDrawingsHasAStyle(t *testing.T) {
	page := render(t, usual().report(), FormatHTML, Style{})
	for _, m := range regexp.MustCompile(`<(?:path|text) class="([^"]+)"`).FindAllSubmatch(page, -1) {
		if !bytes.Contains(page, []byte("."+string(m[1])+" {")) {
			t.Fatalf("class %s has no style: it would be drawn unseen", m[1])
		}
	}
}

func TestSameReportSameBytes(t *testing.T) {
	r := small().report()
	if !bytes.Equal(render(t, r, FormatHTML, Style{}), render(t, r, FormatHTML, Style{})) {
		t.Error("two pages of one report differ")
	}
}

// large has 100,000 samples and more.
func large() Report {
	s := usual()
	s.blocks, s.repeat = 20, 18
	return s.report()
}

func TestPageOfManySamplesIsSmall(t *testing.T) {
	r := large()
	if len(r.Samples) < 100_000 {
		t.Fatalf("only %d samples", len(r.Samples))
	}
	page := render(t, r, FormatHTML, Style{}) // its time is a figure of `make bench BENCH=compare`
	if len(page) >= 1_000_000 {
		t.Errorf("page of %d bytes", len(page))
	}
	if got := len(unpack(t, page)); got != len(r.Samples) {
		t.Errorf("the download holds %d samples of %d", got, len(r.Samples))
	}
}

func BenchmarkPage100k(b *testing.B) {
	r := large()
	for b.Loop() {
		if err := r.HTML(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPageOfTwoRunsWithoutNoiseFloor(t *testing.T) {
	samples := small().samples()
	c := compare.CompareRuns(samples, samples, compare.Options{Base: "native", Other: "container", BaseLabel: "site A", OtherLabel: "site B"})
	page := render(t, Report{Comparison: c}, FormatHTML, Style{})
	for _, want := range []string{"site A", "site B", "Mann–Whitney", "noise floor is not known"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("page lacks %q", want)
		}
	}
}
