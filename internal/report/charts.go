package report

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/nearmetal/nearmetal/internal/compare"
)

// Inks of the arms; the verdicts' are named after themselves.
const (
	inkBase  ink = "base"
	inkOther ink = "other"
	inkNoise ink = "noise"
)

// artist draws the charts of one comparison.
type artist struct {
	w writer
	c compare.Comparison
}

// curve draws the medians of both arms over the size, both axes logarithmic,
// each with the band that holds nine of ten launches.
func (a artist) curve(f family) drawing {
	p := newPlot(a.w)
	p.X.Tick.Marker = sizeTicks(f.sizes())
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	p.X.Min, p.X.Max = sizeX(f.cells[0].Size), sizeX(f.cells[len(f.cells)-1].Size)
	p.Y.Min, p.Y.Max = valueRange(f)
	p.Add(grid(p), arm(f, inkBase, 5, func(c compare.Cell) compare.Summary { return c.Base }),
		arm(f, inkOther, 1.5, func(c compare.Cell) compare.Summary { return c.Other }), a.curveTips(f))
	title := fmt.Sprintf("%s in %s over message size, %s", f.title(), unit(f.unit()), plain(f.Placement))
	return a.render(p, title, fmt.Sprintf("%s and %s, both axes logarithmic. %s.", plain(a.c.Base), plain(a.c.Other), plain(f.Sentence)))
}

func (f family) sizes() (out []int64) {
	for _, c := range f.cells {
		out = append(out, c.Size)
	}
	return out
}

func valueRange(f family) (lo, hi float64) {
	lo, hi = math.Inf(1), 0
	for _, c := range f.cells {
		lo, hi = min(lo, c.Base.P05, c.Other.P05), max(hi, c.Base.P95, c.Other.P95)
	}
	return lo / 1.15, hi * 1.15
}

func arm(f family, i ink, width vg.Length, of func(compare.Cell) compare.Summary) layer {
	return func(p pen) {
		var mid, low, high []vg.Point
		for _, c := range f.cells {
			x, s := p.x(sizeX(c.Size)), of(c)
			mid = append(mid, vg.Point{X: x, Y: p.y(s.Median)})
			low = append(low, vg.Point{X: x, Y: p.y(s.P05)})
			high = append(high, vg.Point{X: x, Y: p.y(s.P95)})
		}
		p.area(i+"-band", high, low)
		p.line(i+"-line", width, mid)
		p.dots(i+"-line", width*2.4, mid)
	}
}

// curveTips lays an unseen column over each size that tells its numbers.
func (a artist) curveTips(f family) layer {
	return func(p pen) {
		for _, c := range f.cells {
			p.tip(a.tip(c))
			x := p.x(sizeX(c.Size))
			p.line("target", 12, []vg.Point{{X: x, Y: p.Min.Y}, {X: x, Y: p.Max.Y}})
		}
		p.tip("")
	}
}

func (a artist) tip(c compare.Cell) string {
	u := unit(c.Unit)
	s := fmt.Sprintf("%s: %s %s %s, %s %s %s; ratio %s (%s) %s", size(c.Size), plain(a.c.Base), significant(c.Base.Median), u,
		plain(a.c.Other), significant(c.Other.Median), u, ratio(c.Effect.Ratio), interval(c.Effect), c.Verdict)
	return strings.TrimPrefix(s, none+": ")
}

// ratios draws the ratio at each size with its interval, over the margin and
// the A/A noise floor.
func (a artist) ratios(f family) drawing {
	p := newPlot(a.w)
	p.X.Tick.Marker = sizeTicks(f.sizes())
	p.X.Min, p.X.Max = sizeX(f.cells[0].Size), sizeX(f.cells[len(f.cells)-1].Size)
	p.Y.Min, p.Y.Max = a.ratioRange(f)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, ratioTicks(p.Y.Min, p.Y.Max)
	p.Add(a.margin(), noiseFloor(f), grid(p), one(), a.directions(f), a.effects(f))
	title := fmt.Sprintf("ratio %s ÷ %s of %s over message size, %s", plain(a.c.Other), plain(a.c.Base), f.title(), plain(f.Placement))
	return a.render(p, title, fmt.Sprintf("Ratio with its %s interval at each size; margin ±%s. %s.", percent(a.c.Confidence), percent(a.c.Margin), plain(f.Sentence)))
}

// ratioRange holds all intervals, with room for the words at the ends. The axis
// is logarithmic: half as fast lies as far from 1 as twice as fast.
func (a artist) ratioRange(f family) (lo, hi float64) {
	hi = math.Pow(1+a.c.Margin, 2)
	lo = 1 / hi
	for _, c := range f.cells {
		lo, hi = min(lo, c.Effect.Lo), max(hi, c.Effect.Hi)
	}
	lo, hi = max(lo, 1e-3), min(hi, 1e3)
	room := math.Pow(hi/lo, 0.13)
	return lo / room, hi * room
}

// ratioTicks are even steps near 1, and 1, 2, 5 where the ratios lie far apart.
func ratioTicks(lo, hi float64) plot.Ticker {
	if hi/lo > 3 {
		return decades{}
	}
	step := niceStep(hi-lo, 6)
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	var out plot.ConstantTicks
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: fmt.Sprintf("%.*f", decimals, k*step)})
	}
	return out
}

func (a artist) margin() layer {
	return func(p pen) {
		lo, hi := p.y(1/(1+a.c.Margin)), p.y(1+a.c.Margin)
		p.area("margin", []vg.Point{{X: p.Min.X, Y: hi}, {X: p.Max.X, Y: hi}}, []vg.Point{{X: p.Min.X, Y: lo}, {X: p.Max.X, Y: lo}})
	}
}

func one() layer {
	return func(p pen) {
		p.line("one", 1, []vg.Point{{X: p.Min.X, Y: p.y(1)}, {X: p.Max.X, Y: p.y(1)}})
	}
}

func noiseFloor(f family) layer {
	return func(p pen) {
		var low, high []vg.Point
		for _, c := range f.cells {
			if c.Noise == nil || c.Noise.N == 0 {
				continue
			}
			x := p.x(sizeX(c.Size))
			low = append(low, vg.Point{X: x, Y: p.inside(c.Noise.Lo)})
			high = append(high, vg.Point{X: x, Y: p.inside(c.Noise.Hi)})
		}
		p.area("noise-band", high, low)
	}
}

// directions says which way is slower.
func (a artist) directions(f family) layer {
	top, bottom := "slower", "faster"
	if f.cells[0].Better == "higher" {
		top, bottom = bottom, top
	}
	return func(p pen) {
		sty := draw.TextStyle{XAlign: draw.XRight, YAlign: draw.YTop}
		style(&sty, a.w)
		p.FillText(sty, vg.Point{X: p.Max.X, Y: p.Max.Y}, "↑ "+short(a.c.Other, nameWidth)+" "+top)
		sty.YAlign = draw.YBottom
		p.FillText(sty, vg.Point{X: p.Max.X, Y: p.Min.Y + 5}, "↓ "+bottom)
	}
}

func (a artist) effects(f family) layer {
	return func(p pen) {
		for _, c := range f.cells {
			x, i := p.x(sizeX(c.Size)), ink(c.Verdict)
			p.tip(a.tip(c))
			p.line(i, 1.5, []vg.Point{{X: x, Y: p.inside(c.Effect.Lo)}, {X: x, Y: p.inside(c.Effect.Hi)}})
			p.glyph(c.Verdict, vg.Point{X: x, Y: p.inside(c.Effect.Ratio)})
		}
		p.tip("")
	}
}

// glyph marks a verdict by form as well as by colour: a filled dot for
// equivalent, a triangle for different, a ring for undecided.
func (p pen) glyph(v compare.Verdict, at vg.Point) {
	const r = 4.5
	i := ink(v)
	switch v {
	case compare.Equivalent:
		p.dots(i, 2*r-1, []vg.Point{at})
	case compare.Slower, compare.Faster:
		up := vg.Length(r)
		if v == compare.Faster {
			up = -r
		}
		p.FillPolygon(i, []vg.Point{{X: at.X, Y: at.Y + up}, {X: at.X + r, Y: at.Y - up*0.8}, {X: at.X - r, Y: at.Y - up*0.8}})
	default:
		p.dots(i, 2*r, []vg.Point{at})
		p.dots("paper", 2*r-3, []vg.Point{at})
	}
}

func (a artist) render(p *plot.Plot, title, desc string) drawing {
	cv := newCanvas(chartWidth, chartHeight)
	c := draw.NewCanvas(cv, chartWidth, chartHeight)
	p.Draw(draw.Crop(c, 8, -10, 2, -8))
	return cv.drawing(title, desc)
}

// shortNumber writes an axis label: 0.5, 20, 5000, 20k.
func shortNumber(v float64) string {
	for _, s := range []struct {
		at   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if v >= s.at {
			div := s.at
			if s.name == "k" {
				div = 1e3
			}
			return fmt.Sprintf("%g%s", v/div, s.name)
		}
	}
	return fmt.Sprintf("%g", v)
}
