package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
)

// dots is how many values of an arm are drawn in a strip; of more, evenly
// spaced order statistics stand for all. Many sizes and benchmarks share what
// the page has room for.
func (a artist) dots() int { return max(9, min(40, 5000/max(1, len(a.c.Cells)))) }

// lane is one arm's values in a strip, ascending.
type lane struct {
	arm    string
	ink    ink
	values []float64
}

// distributions collects each cell's values by arm: base, A/A, other.
func distributions(samples []bench.Sample, c compare.Comparison) map[compare.Key][]lane {
	arms := []lane{{arm: c.Base, ink: inkBase}, {arm: c.NoiseArm, ink: inkNoise}, {arm: c.Other, ink: inkOther}}
	out := map[compare.Key][]lane{}
	for i := range samples {
		s := &samples[i]
		k := slices.IndexFunc(arms, func(l lane) bool { return l.arm != "" && l.arm == s.Arm })
		if k < 0 || s.Block < 0 || !(s.Value > 0) || math.IsInf(s.Value, 0) {
			continue
		}
		key := compare.Key{Suite: s.Suite, Benchmark: s.Benchmark, Placement: s.Placement, Metric: s.Metric, Size: s.Size}
		if out[key] == nil {
			out[key] = slices.Clone(arms)
		}
		out[key][k].values = append(out[key][k].values, s.Value)
	}
	for _, lanes := range out {
		for i := range lanes {
			slices.Sort(lanes[i].values)
		}
	}
	return out
}

// thinned keeps n evenly spaced order statistics, both ends included.
func thinned(sorted []float64, n int) []float64 {
	if len(sorted) <= n {
		return sorted
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = sorted[i*(len(sorted)-1)/(n-1)]
	}
	return out
}

// strip is one size of the small multiples: a lane of dots an arm, relative to
// the base's median; span is half the width of the axis.
const (
	stripWidth  = 150
	stripHeight = 54
)

func (a artist) strip(c compare.Cell, lanes []lane, span float64) drawing {
	cv := newCanvas(stripWidth, stripHeight)
	p := pen{Canvas: draw.NewCanvas(cv, stripWidth, stripHeight), cv: cv}
	p.x = func(v float64) vg.Length {
		r := max(-span, min(span, v/c.Base.Median-1))
		return vg.Length(stripWidth/2 + r/span*(stripWidth/2-6))
	}
	m := a.c.Margin
	p.area("margin", []vg.Point{{X: p.x(c.Base.Median * (1 + m)), Y: 0}, {X: p.x(c.Base.Median * (1 + m)), Y: stripHeight}},
		[]vg.Point{{X: p.x(c.Base.Median / (1 + m)), Y: 0}, {X: p.x(c.Base.Median / (1 + m)), Y: stripHeight}})
	p.line("one", 1, []vg.Point{{X: stripWidth / 2, Y: 0}, {X: stripWidth / 2, Y: stripHeight}})
	drawn := slices.DeleteFunc(slices.Clone(lanes), func(l lane) bool { return len(l.values) == 0 })
	for i, l := range drawn {
		p.lane(l, vg.Length(float64(stripHeight)*(1-(float64(i)+0.5)/float64(len(drawn)))), a.dots())
	}
	return cv.drawing(size(c.Size), a.tip(c))
}

// lane draws an arm's dots at a height, and its median as a bar.
func (p pen) lane(l lane, y vg.Length, most int) {
	var pts []vg.Point
	for i, v := range thinned(l.values, most) {
		// Neighbours are set apart in three rows, so that equal values stay countable.
		pts = append(pts, vg.Point{X: p.x(v), Y: y + vg.Length(i%3-1)*2})
	}
	p.dots(l.ink+"-dot", 3.5, pts)
	x := p.x(l.values[len(l.values)/2])
	p.line(l.ink, 2, []vg.Point{{X: x, Y: y - 5}, {X: x, Y: y + 5}})
}

// stripSpan is the half width that holds nine of ten values of all sizes,
// between the margin and a factor of two.
func (a artist) stripSpan(f family, of map[compare.Key][]lane) float64 {
	span := 1.5 * a.c.Margin
	for _, c := range f.cells {
		for _, l := range of[c.Key] {
			if n := len(l.values); n > 0 {
				lo, hi := l.values[n/20], l.values[n-1-n/20]
				span = max(span, hi/c.Base.Median-1, 1-lo/c.Base.Median)
			}
		}
	}
	return min(roundUp(span), 1)
}

// roundUp gives the next number with one significant digit, or 1.5 or 2.5.
func roundUp(v float64) float64 {
	e := math.Pow10(int(math.Floor(math.Log10(v))))
	for _, s := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if s*e >= v*(1-1e-9) {
			return s * e
		}
	}
	return 10 * e
}

// times draws benchmarks without a size (start-up, barrier): a lane an arm on
// an axis from zero.
func (a artist) times(f family, lanes []lane) drawing {
	c := f.cells[0]
	drawn := slices.DeleteFunc(slices.Clone(lanes), func(l lane) bool { return len(l.values) == 0 })
	height := vg.Length(40 + 42*len(drawn))
	p := newPlot(a.w)
	p.HideY()
	p.X.Min, p.X.Max = 0, 0
	for _, l := range drawn {
		p.X.Max = max(p.X.Max, l.values[len(l.values)-1]*1.05)
	}
	p.Y.Min, p.Y.Max = -0.5, float64(len(drawn))-0.3
	step := niceStep(p.X.Max, 5)
	var ticks plot.ConstantTicks
	for k := 0.0; k*step <= p.X.Max; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: shortNumber(k*step) + map[bool]string{true: " " + unit(c.Unit)}[k == 0]})
	}
	p.X.Tick.Marker = ticks
	name := draw.TextStyle{XAlign: draw.XLeft, YAlign: draw.YBottom}
	style(&name, a.w)
	p.Add(layer(func(g pen) {
		for i, l := range drawn {
			y := g.y(float64(len(drawn) - 1 - i))
			g.line("grid", 1, []vg.Point{{X: g.Min.X, Y: y}, {X: g.Max.X, Y: y}})
			g.lane(l, y, a.dots())
			g.FillText(name, vg.Point{X: g.Min.X, Y: y + 10}, short(l.arm, nameWidth))
		}
	}))
	cv := newCanvas(chartWidth, height)
	p.Draw(draw.Crop(draw.NewCanvas(cv, chartWidth, height), 14, -14, 2, -2))
	return cv.drawing(fmt.Sprintf("%s in %s, %s", f.title(), unit(c.Unit), plain(f.Placement)), a.tip(c)+". "+plain(f.Sentence))
}

// winLoss is a family at a glance: a mark a size, up where it is slower, down
// where it is faster, a short bar where it is equivalent, a ring where undecided.
func (a artist) winLoss(f family) drawing {
	const step, height = 9, 24
	cv := newCanvas(vg.Length(step*max(len(f.cells), 3)), height)
	p := pen{Canvas: draw.NewCanvas(cv, cv.width, height), cv: cv}
	for i, c := range f.cells {
		x := vg.Length(i*step) + step/2
		p.tip(a.tip(c))
		switch v := ink(c.Verdict); c.Verdict {
		case compare.Equivalent:
			p.line(v, 4, []vg.Point{{X: x, Y: height/2 - 1}, {X: x, Y: height/2 + 1}})
		case compare.Slower:
			p.line(v, 5, []vg.Point{{X: x, Y: height/2 + 1}, {X: x, Y: height - 4}})
		case compare.Faster:
			p.line(v, 5, []vg.Point{{X: x, Y: 4}, {X: x, Y: height/2 - 1}})
		default:
			p.glyph(c.Verdict, vg.Point{X: x, Y: height / 2})
		}
	}
	return cv.drawing("verdict at each size", plain(f.Sentence))
}
