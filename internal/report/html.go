package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template and style
	"encoding/base64"
	"html/template"
	"io"
	"maps"
	"slices"

	"github.com/nearmetal/nearmetal/internal/compare"
)

//go:embed page.html.tmpl
var pageText string

//go:embed page.css
var pageStyle string

// The page has no script at all: nothing can fail to load, and its content
// security policy allows nothing but this one style sheet.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"size": size, "sig": significant, "ratio": ratio, "interval": interval, "noise": noise, "unit": unit,
	"percent": percent, "mark": verdictMark, "plain": plain, "plural": plural, "key": keyText,
	"scaling": scalingTitle, "share": efficiency, "because": because, "bearing": bearing, "differs": differs,
	"deref": func(s *string) string { return *s },
	"pair":  func(a, b any) [2]any { return [2]any{a, b} },
}).Parse(pageText))

// mostPage is the size in bytes that a page stays below, if need be without
// the download; mail and chat programs refuse much more.
const mostPage = 1_000_000

// view is what the template sees.
type view struct {
	Report
	C          compare.Comparison
	Style      template.CSS
	Policy     string
	Glance     []glance
	Placements []placementView
	Env        []envRow
	Method     string
	Raw        rawData
	RawURL     template.URL // base64 of our own making
}

type glance struct {
	Title, Placement, Ratios, Noise string
	Family                          compare.Family
	Marks                           drawing
}

type placementView struct {
	Name   string
	Curves []familyView
	Times  []familyView
}

type familyView struct {
	compare.Family
	Title, Unit   string
	Cells         []compare.Cell
	Curve, Ratios drawing
	Strips        []drawing
	Span          string // of the strips' axis
}

type envRow struct {
	Key         string
	Base, Other *string
	Differs     bool
	Kind        string
}

// HTML writes one self-contained page: no network, no script, light and dark.
func (r Report) HTML(w io.Writer) error {
	v, err := r.view()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, v); err != nil {
		return err
	}
	if text.Len() > mostPage && v.Raw.Base64 != "" {
		v.Raw.Base64, v.RawURL = "", ""
		text.Reset()
		if err := pageTemplate.Execute(&text, v); err != nil {
			return err
		}
	}
	_, err = text.WriteTo(w)
	return err
}

func (r Report) view() (view, error) {
	sum := sha256.Sum256([]byte(pageStyle))
	v := view{
		Report: r, C: r.Comparison, Style: template.CSS(pageStyle), Method: method(r.Comparison), Env: r.envRows(),
		Policy: "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
	}
	a := artist{newWriter(), r.Comparison}
	lanes := distributions(r.Samples, r.Comparison)
	for _, p := range placements(r.Comparison) {
		v.Placements = append(v.Placements, a.placement(p, lanes))
		for _, f := range p.families {
			v.Glance = append(v.Glance, glance{f.title(), plain(p.name), f.ratios(), f.noise(), f.Family, a.winLoss(f)})
		}
	}
	var err error
	if v.Raw, err = pack(r.Samples); err != nil {
		return view{}, err
	}
	v.RawURL = template.URL("data:application/gzip;base64," + v.Raw.Base64)
	return v, nil
}

func (a artist) placement(p placement, lanes map[compare.Key][]lane) placementView {
	out := placementView{Name: plain(p.name)}
	for _, f := range p.sized() {
		v := familyView{Family: f.Family, Title: f.title(), Unit: unit(f.unit()), Cells: f.cells, Curve: a.curve(f), Ratios: a.ratios(f)}
		span := a.stripSpan(f, lanes)
		v.Span = percent(span)
		for _, c := range f.cells {
			if l := lanes[c.Key]; l != nil {
				v.Strips = append(v.Strips, a.strip(c, l, span))
			}
		}
		out.Curves = append(out.Curves, v)
	}
	for _, f := range p.sizeless() {
		v := familyView{Family: f.Family, Title: f.title(), Unit: unit(f.unit()), Cells: f.cells}
		if l := lanes[f.cells[0].Key]; l != nil {
			v.Curve = a.times(f, l)
		}
		out.Times = append(out.Times, v)
	}
	return out
}

// envRows lists both arms' environments, what differs first.
func (r Report) envRows() []envRow {
	var out []envRow
	seen := map[string]bool{}
	for _, d := range r.Comparison.Environment {
		seen[d.Key] = true
		out = append(out, envRow{d.Key, d.Base, d.Other, true, d.Kind})
	}
	base, other := r.Environment[r.Comparison.Base], r.Environment[r.Comparison.Other]
	for _, k := range slices.Sorted(maps.Keys(base)) {
		if v, ok := other[k]; ok && !seen[k] && v == base[k] {
			out = append(out, envRow{Key: k, Base: &v, Other: &v})
		}
	}
	return out
}
