package report

import (
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/nearmetal/nearmetal/internal/compare"
)

// column is one column of a terminal table.
type column struct {
	head  string
	under string // second line of the head: the unit
	cell  func(i int, c compare.Cell) string
	left  bool                              // text, not a number
	style func(compare.Cell) lipgloss.Style // nil: plain
	drop  int                               // columns with the highest number go first when it is too wide; 0 stays
	width int
}

const (
	columnGap = "  "
	nameWidth = 18 // columns of an arm's name
)

// columns are those of every table; u is the unit of the values in the head.
// The first column is the message size, or what name says of a row.
func (t *term) columns(first, u string, cells []compare.Cell, name func(int) string) []column {
	label := func(i int, c compare.Cell) string { return size(c.Size) }
	if name != nil {
		label = func(i int, _ compare.Cell) string { return name(i) }
	}
	cols := []column{
		{head: first, cell: label, left: name != nil},
		{head: short(t.c.Base, nameWidth), under: unit(u), drop: 2, cell: func(_ int, c compare.Cell) string { return significant(c.Base.Median) }},
		{head: short(t.c.Other, nameWidth), under: unit(u), drop: 2, cell: func(_ int, c compare.Cell) string { return significant(c.Other.Median) }},
		{head: "ratio", cell: func(_ int, c compare.Cell) string { return ratio(c.Effect.Ratio) }},
		{head: percent(t.c.Confidence), under: "interval", cell: func(_ int, c compare.Cell) string { return interval(c.Effect) }},
		{head: "noise", under: "floor", drop: 1, cell: func(_ int, c compare.Cell) string { return noise(c.Noise) }, style: func(compare.Cell) lipgloss.Style { return t.dim }},
		{head: "verdict", left: true, cell: func(_ int, c compare.Cell) string { return verdictMark(c.Verdict) + " " + string(c.Verdict) },
			style: func(c compare.Cell) lipgloss.Style { return t.verdict[c.Verdict] }},
	}
	if t.c.NoiseArm == "" {
		cols = slices.DeleteFunc(cols, func(c column) bool { return c.head == "noise" })
	}
	return fit(cols, cells, t.Width)
}

// fit measures the columns and leaves out the least needed until the table is
// as narrow as the terminal.
func fit(cols []column, cells []compare.Cell, width int) []column {
	for i := range cols {
		cols[i].width = max(lipgloss.Width(cols[i].head), lipgloss.Width(cols[i].under))
		for j, c := range cells {
			cols[i].width = max(cols[i].width, lipgloss.Width(cols[i].cell(j, c)))
		}
	}
	for total(cols) > width {
		most := slices.MaxFunc(cols, func(a, b column) int { return a.drop - b.drop }).drop
		if most == 0 {
			break
		}
		cols = slices.DeleteFunc(cols, func(c column) bool { return c.drop == most })
	}
	return cols
}

func total(cols []column) int {
	n := len(cols) * len(columnGap)
	for _, c := range cols {
		n += c.width
	}
	return n
}

func (t *term) table(cols []column, cells []compare.Cell) {
	var head, under []string
	for _, c := range cols {
		head = append(head, t.dim.Render(c.pad(c.head)))
		under = append(under, t.dim.Render(c.pad(c.under)))
	}
	t.line(columnGap + strings.Join(head, columnGap))
	t.line(columnGap + strings.Join(under, columnGap))
	for i, cell := range cells {
		var row []string
		for _, c := range cols {
			text := c.pad(c.cell(i, cell))
			if c.style != nil {
				text = c.style(cell).Render(text)
			}
			row = append(row, text)
		}
		t.line(columnGap + strings.Join(row, columnGap))
	}
}

// pad brings a text to the column's width, numbers to the right.
func (c column) pad(s string) string {
	space := strings.Repeat(" ", max(0, c.width-lipgloss.Width(s)))
	if c.left {
		return s + space
	}
	return space + s
}
