package report

import (
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ink is a colour by name: a CSS class of the page, so that one drawing serves
// light, dark and print. The library carries it as any colour.
type ink string

// RGBA makes ink a color.Color; the canvas never asks for it.
func (ink) RGBA() (r, g, b, a uint32) { return 0, 0, 0, 0xffff }

// shape is one SVG element. The page template writes it, and escapes it.
type shape struct {
	Text   string // of a text element; a path otherwise
	Class  string
	Path   string // d of a path
	Width  string // stroke-width; "" fills the path
	Dash   string // stroke-dasharray
	X, Y   string // of a text
	Anchor string // text-anchor: start, middle, end
	Turn   string // transform of a turned text
	Tip    string // shown while the pointer rests on it
}

// canvas is a vg.Canvas that collects shapes: lengths are CSS pixels of the
// viewBox, y grows upwards as vg has it. (vg/vgsvg writes fixed colours and
// fonts into style attributes, which neither dark mode nor a content security
// policy can live with.)
type canvas struct {
	state
	stack         []state
	width, height vg.Length
	tip           string // for the shapes that follow
	shapes        []shape
}

// state is what Push saves.
type state struct {
	ink   ink
	width vg.Length
	dash  string
	m     matrix
}

func newCanvas(width, height vg.Length) *canvas {
	return &canvas{width: width, height: height, state: state{ink: "ink", width: 1, m: identity}}
}

// Size is asked for by draw.New.
func (c *canvas) Size() (x, y vg.Length) { return c.width, c.height }

func (c *canvas) SetLineWidth(w vg.Length) { c.state.width = w }

func (c *canvas) SetLineDash(pattern []vg.Length, _ vg.Length) {
	var parts []string
	for _, p := range pattern {
		parts = append(parts, number(float64(p)))
	}
	c.dash = strings.Join(parts, " ")
}

func (c *canvas) SetColor(col color.Color) {
	c.ink = "ink"
	if i, ok := col.(ink); ok {
		c.ink = i
	}
}

func (c *canvas) Rotate(rad float64)    { c.m = c.m.times(rotation(rad)) }
func (c *canvas) Translate(pt vg.Point) { c.m = c.m.times(translation(float64(pt.X), float64(pt.Y))) }
func (c *canvas) Scale(x, y float64)    { c.m = c.m.times(matrix{x, 0, 0, y, 0, 0}) }
func (c *canvas) Push()                 { c.stack = append(c.stack, c.state) }

func (c *canvas) Pop() {
	last := len(c.stack) - 1
	c.state, c.stack = c.stack[last], c.stack[:last]
}

func (c *canvas) Stroke(p vg.Path) {
	if c.state.width > 0 {
		c.add(shape{Class: "s-" + string(c.ink), Path: c.path(p), Width: number(float64(c.state.width)), Dash: c.dash})
	}
}

func (c *canvas) Fill(p vg.Path) { c.add(shape{Class: "f-" + string(c.ink), Path: c.path(p)}) }

func (c *canvas) FillString(_ font.Face, pt vg.Point, s string) { c.write(s, pt, "start", 0) }

// DrawImage draws nothing: no chart here has an image.
func (c *canvas) DrawImage(vg.Rectangle, image.Image) {}

// write puts a text at a point; the browser aligns it, whatever its font.
func (c *canvas) write(s string, pt vg.Point, anchor string, rad float64) {
	x, y := c.at(pt)
	out := shape{Text: s, Class: "t-" + string(c.ink), X: x, Y: y, Anchor: anchor}
	if rad != 0 {
		out.Turn = "rotate(" + number(-rad*180/math.Pi) + " " + x + " " + y + ")"
	}
	c.add(out)
}

func (c *canvas) add(s shape) {
	if s.Path == "" && s.Text == "" {
		return
	}
	s.Tip = c.tip
	c.shapes = append(c.shapes, s)
}

// path writes SVG path data; of a point that is nowhere, no path at all.
func (c *canvas) path(p vg.Path) string {
	var b strings.Builder
	if slices.ContainsFunc(p, func(s vg.PathComp) bool { return !finite(s.Pos.X) || !finite(s.Pos.Y) }) {
		return ""
	}
	point := func(letter byte, pts ...vg.Point) {
		b.WriteByte(letter)
		for i, pt := range pts {
			if i > 0 {
				b.WriteByte(' ')
			}
			x, y := c.at(pt)
			b.WriteString(x + " " + y)
		}
	}
	for i, s := range p {
		switch s.Type {
		case vg.MoveComp:
			point('M', s.Pos)
		case vg.LineComp:
			if i > 0 && s.Pos == p[i-1].Pos {
				b.WriteString("h0") // a dot
				continue
			}
			point('L', s.Pos)
		case vg.CurveComp:
			point([]byte{'Q', 'C'}[len(s.Control)-1], append(s.Control, s.Pos)...)
		case vg.ArcComp:
			c.arc(point, b.Len() == 0, s)
		case vg.CloseComp:
			b.WriteByte('Z')
		}
	}
	return b.String()
}

// arc is drawn as chords, one every 15 degrees: glyphs are a few pixels wide.
func (c *canvas) arc(point func(byte, ...vg.Point), first bool, a vg.PathComp) {
	steps := max(1, int(math.Ceil(math.Abs(a.Angle)/(math.Pi/12))))
	for i := range steps + 1 {
		sin, cos := math.Sincos(a.Start + a.Angle*float64(i)/float64(steps))
		letter := byte('L')
		if first && i == 0 {
			letter = 'M'
		}
		point(letter, a.Pos.Add(vg.Point{X: a.Radius * vg.Length(cos), Y: a.Radius * vg.Length(sin)}))
	}
}

// at gives a point in the coordinates of the viewBox, where y grows downwards.
func (c *canvas) at(pt vg.Point) (x, y string) {
	px, py := c.m.apply(float64(pt.X), float64(pt.Y))
	return number(px), number(float64(c.height) - py)
}

func finite(l vg.Length) bool { return math.Abs(float64(l)) < 1e6 }

// number writes a coordinate to a tenth of a pixel.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

// matrix is an affine map [a c e; b d f].
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

func translation(x, y float64) matrix { return matrix{1, 0, 0, 1, x, y} }

func rotation(rad float64) matrix {
	sin, cos := math.Sincos(rad)
	return matrix{cos, sin, -sin, cos, 0, 0}
}

func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[2]*n[1], m[1]*n[0] + m[3]*n[1],
		m[0]*n[2] + m[2]*n[3], m[1]*n[2] + m[3]*n[3],
		m[0]*n[4] + m[2]*n[5] + m[4], m[1]*n[4] + m[3]*n[5] + m[5],
	}
}

func (m matrix) apply(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// canvasOf finds the canvas that the library has wrapped: each draw.Crop adds a
// layer. Charts are drawn on nothing else.
func canvasOf(c vg.Canvas) *canvas {
	for {
		switch d := c.(type) {
		case draw.Canvas:
			c = d.Canvas
		case *draw.Canvas:
			c = d.Canvas
		default:
			return c.(*canvas)
		}
	}
}

// writer is gonum/plot's text handler for a canvas: measured with Liberation
// Sans for the layout, aligned by the browser.
type writer struct{ text.Plain }

func newWriter() writer {
	return writer{text.Plain{Fonts: font.NewCache(liberation.Collection())}}
}

// Draw replaces the library's drawing, which would align by its own metrics.
func (w writer) Draw(c vg.Canvas, s string, sty text.Style, pt vg.Point) {
	cv := canvasOf(c)
	anchor := "start"
	switch {
	case sty.XAlign < -0.75:
		anchor = "end"
	case sty.XAlign < -0.25:
		anchor = "middle"
	}
	cv.SetColor(sty.Color)
	// Figures and capitals are 0.72 em high; YAlign is -1 for the top, 0 for the baseline.
	pt.Y += sty.Font.Size * vg.Length(0.72*float64(sty.YAlign))
	cv.write(s, pt, anchor, sty.Rotation)
}
