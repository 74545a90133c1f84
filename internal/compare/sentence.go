package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/bench"
)

// count is "1 launch", "2 launches".
func count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ch"):
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// percent is "2 %" or "93.75 %".
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e4)/1e2, 'f', -1, 64) + " %"
}

// sizeText is "4 MiB", "" for none.
func sizeText(size int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for i+1 < len(units) && size >= 1024 && size%1024 == 0 {
		size /= 1024
		i++
	}
	return fmt.Sprintf("%d %s", size, units[i])
}

func ratioText(e Effect) string {
	return fmt.Sprintf("ratio %.3f, %s interval %.3f–%.3f", e.Ratio, percent(e.Level), e.Lo, e.Hi)
}

// at is " at 4 MiB", "" for a metric without sizes.
func at(size int64) string {
	if size == bench.NoSize {
		return ""
	}
	return " at " + sizeText(size)
}

// over is "all 23 sizes" or, for a metric without sizes, "".
func over(part, all int, cells []Cell) string {
	switch {
	case all == 1 && cells[0].Size == bench.NoSize:
		return ""
	case part == all && all == 1:
		return at(cells[0].Size)
	case part == all:
		return fmt.Sprintf(" at all %d sizes", all)
	}
	return fmt.Sprintf(" at %d of %d sizes", part, all)
}

// furthest is the cell, of those with the given sizes, whose ratio is furthest from 1.
func furthest(cells []Cell, sizes []int64) Cell {
	var out Cell
	far := -1.0
	for _, c := range cells {
		for _, s := range sizes {
			if c.Size == s && math.Abs(c.Effect.logCentre) > far {
				far, out = math.Abs(c.Effect.logCentre), c
			}
		}
	}
	return out
}

// worst is the furthest cell in words.
func worst(cells []Cell, sizes []int64) string {
	c := furthest(cells, sizes)
	if len(sizes) == 1 {
		return ratioText(c.Effect)
	}
	return "furthest" + at(c.Size) + ": " + ratioText(c.Effect)
}

// familySentence is the family's verdict with its evidence.
func familySentence(f Family, cells []Cell, o Options) string {
	margin := percent(o.Margin)
	all := sizesOf(cells)
	switch f.Verdict {
	case Equivalent:
		return fmt.Sprintf("equivalent within ±%s%s (%s)", margin, over(len(all), len(all), cells), worst(cells, all))
	case Slower:
		return fmt.Sprintf("slower by more than %s%s (%s)", margin, over(len(f.SlowerSizes), len(all), cells), worst(cells, f.SlowerSizes))
	case Faster:
		return fmt.Sprintf("faster by more than %s%s (%s)", margin, over(len(f.FasterSizes), len(all), cells), worst(cells, f.FasterSizes))
	case Mixed:
		return fmt.Sprintf("slower by more than %s%s (%s) and faster%s (%s)", margin,
			over(len(f.SlowerSizes), len(all), cells), worst(cells, f.SlowerSizes),
			over(len(f.FasterSizes), len(all), cells), worst(cells, f.FasterSizes))
	case Different:
		return fmt.Sprintf("different%s (%s), not shown to be beyond ±%s%s", over(len(f.DifferentSizes), len(all), cells), worst(cells, f.DifferentSizes), margin, need(f.NeedBlocks))
	}
	return fmt.Sprintf("undecided: equivalent within ±%s at %d of %d (%s)%s", margin, f.EquivalentCells, len(all), worst(cells, all), need(f.NeedBlocks))
}

func sizesOf(cells []Cell) []int64 {
	out := make([]int64, len(cells))
	for i, c := range cells {
		out[i] = c.Size
	}
	return out
}

func need(blocks int) string {
	switch blocks {
	case 0:
		return ""
	case neverBlocks:
		return "; more blocks would not decide everywhere"
	}
	return fmt.Sprintf("; about %d blocks would decide", blocks)
}

// sentence is the one-line answer: never a verdict without an interval.
func sentence(c Comparison) string {
	if len(c.Families) == 0 {
		return fmt.Sprintf("%s against %s: undecided, nothing could be compared", c.Other, c.Base)
	}
	head := fmt.Sprintf("%s against %s: %s", c.Other, c.Base, c.Verdict)
	if len(c.Families) == 1 {
		f := c.Families[0]
		return fmt.Sprintf("%s against %s: %s: %s%s", c.Other, c.Base, familyName(f), f.Sentence, blame(c))
	}
	equivalent := 0
	for _, f := range c.Families {
		if f.EquivalentEverywhere {
			equivalent++
		}
	}
	lead := leading(c)
	return fmt.Sprintf("%s; %d of %s equivalent at every size; %s: %s%s", head, equivalent,
		benchmarks(len(c.Families)), familyName(lead), lead.Sentence, blame(c))
}

func benchmarks(n int) string { return count(n, "benchmark") }

func familyName(f Family) string {
	name := f.Benchmark
	if f.Metric != "" && f.Metric != f.Benchmark {
		name += " " + f.Metric
	}
	if f.Placement != "" {
		name += ", " + f.Placement
	}
	return name
}

// leading is the family that the overall verdict rests on most: the first
// with that verdict whose extreme is furthest out, else the first.
func leading(c Comparison) Family {
	order := map[Verdict]int{Mixed: 5, Slower: 4, Faster: 3, Different: 2, Undecided: 1}
	lead, best, far := c.Families[0], -1, -1.0
	i := 0
	for _, f := range c.Families {
		cells := c.Cells[i : i+f.Cells]
		i += f.Cells
		away := math.Abs(furthest(cells, sizesOf(cells)).Effect.logCentre)
		if o := order[f.Verdict]; o > best || o == best && away > far {
			lead, best, far = f, o, away
		}
	}
	return lead
}

// blame names what a difference may be put down to.
func blame(c Comparison) string {
	switch c.Attribution {
	case ToStack:
		var which []string
		for _, d := range c.Environment {
			if d.Kind == "stack" {
				which = append(which, d.text())
			}
		}
		return "; this compares stacks, not the container alone (" + strings.Join(which, ", ") + ")"
	case ToEnvironment:
		return "; the arms differ in more than the image"
	}
	return ""
}
