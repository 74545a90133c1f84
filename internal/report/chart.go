package report

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawing is a finished chart: what an svg element needs.
type drawing struct {
	Width, Height string
	Title, Desc   string // for those who do not see it
	Shapes        []shape
}

// Sizes of the charts in CSS pixels of their viewBox. They are drawn small so
// that text stays readable when a phone shrinks them.
const (
	chartWidth  = 420
	chartHeight = 250
	fontSize    = 12
)

func (c *canvas) drawing(title, desc string) drawing {
	return drawing{number(float64(c.width)), number(float64(c.height)), title, desc, c.shapes}
}

// newPlot is an empty chart in the page's style.
func newPlot(w writer) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.TextHandler = w
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		style(&a.Label.TextStyle, w)
		style(&a.Tick.Label, w)
		a.Color = ink("axis")
		a.Width = 1
		a.Padding = 4
		a.Tick.Color = ink("axis")
		a.Tick.Width = 1
		a.Tick.Length = 4
	}
	style(&p.Title.TextStyle, w)
	style(&p.Legend.TextStyle, w)
	p.Y.Width = 0 // the grid says it
	p.Y.Tick.Length = 0.01
	return p
}

func style(s *text.Style, w writer) {
	s.Color = ink("muted")
	s.Font = font.From(s.Font, fontSize)
	s.Handler = w
}

// layer is a plotter made of a function: it draws in data coordinates.
type layer func(pen)

// pen draws on a chart.
type pen struct {
	draw.Canvas
	cv   *canvas
	x, y func(float64) vg.Length // data to canvas
}

// Plot is called by the library.
func (l layer) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	l(pen{c, canvasOf(c), x, y})
}

// inside is the height of a value, held within the chart.
func (p pen) inside(v float64) vg.Length { return max(p.Min.Y, min(p.Max.Y, p.y(v))) }

// tip names what is drawn next, "" nothing.
func (p pen) tip(s string) { p.cv.tip = s }

// line strokes a polyline.
func (p pen) line(i ink, width vg.Length, pts []vg.Point, dash ...vg.Length) {
	if len(pts) > 1 {
		p.StrokeLines(draw.LineStyle{Color: i, Width: width, Dashes: dash}, pts)
	}
}

// dots strokes round dots as one path: a zero-length line with round caps.
func (p pen) dots(i ink, diameter vg.Length, pts []vg.Point) {
	var path vg.Path
	for _, pt := range pts {
		path.Move(pt)
		path.Line(pt)
	}
	p.SetLineStyle(draw.LineStyle{Color: i, Width: diameter})
	p.Stroke(path)
}

// area fills what lies between two lines.
func (p pen) area(i ink, upper, lower []vg.Point) {
	if len(upper) < 2 {
		return
	}
	pts := append([]vg.Point{}, upper...)
	for k := range lower {
		pts = append(pts, lower[len(lower)-1-k])
	}
	p.FillPolygon(i, pts)
}

// grid draws a thin line at each labelled tick of y.
func grid(p *plot.Plot) layer {
	return func(g pen) {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if t.Label != "" {
				y := g.y(t.Value)
				g.line("grid", 1, []vg.Point{{X: g.Min.X, Y: y}, {X: g.Max.X, Y: y}})
			}
		}
	}
}

// sizeX places a message size: by doublings, with 0 bytes left of 1 byte.
func sizeX(bytes int64) float64 {
	if bytes <= 0 {
		return -1
	}
	return math.Log2(float64(bytes))
}

// sizeTicks labels sizes of a family, about six of them.
func sizeTicks(sizes []int64) plot.ConstantTicks {
	var out plot.ConstantTicks
	first, last := sizeX(sizes[0]), sizeX(sizes[len(sizes)-1])
	least := (last - first) / 6.5
	labelled := math.Inf(-1)
	for _, b := range sizes {
		t := plot.Tick{Value: sizeX(b)}
		if t.Value-labelled >= least {
			t.Label, labelled = size(b), t.Value
		}
		out = append(out, t)
	}
	return out
}

// decades labels a log axis: at 1, 2 and 5 where it is short, else at powers of ten.
type decades struct{}

// Ticks is called by the library.
func (decades) Ticks(lo, hi float64) []plot.Tick {
	span := math.Log10(hi / lo)
	steps := []float64{1, 2, 5}
	switch {
	case span < 0.8:
		steps = []float64{1, 1.5, 2, 3, 4, 5, 6, 8}
	case span > 2.2:
		steps = []float64{1}
	}
	every := max(1, int(math.Ceil(span/6)))
	var out []plot.Tick
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		for _, s := range steps {
			if v := s * math.Pow10(e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) && e%every == 0 {
				out = append(out, plot.Tick{Value: v, Label: shortNumber(v)})
			}
		}
	}
	return out
}

// niceStep is the 1, 2 or 5 times a power of ten that gives about n steps.
func niceStep(span float64, n int) float64 {
	raw := span / float64(n)
	e := math.Pow10(int(math.Floor(math.Log10(raw))))
	for _, s := range []float64{1, 2, 5} {
		if s*e >= raw*(1-1e-9) {
			return s * e
		}
	}
	return 10 * e
}
