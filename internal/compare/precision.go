package compare

import (
	"math"

	"github.com/nearmetal/nearmetal/bench"
)

// Precision tells how narrow the intervals are, and nothing about where they
// lie: a runner may stop on it, never on the verdict, which would bias it.
type Precision struct {
	Cells []CellPrecision
}

// CellPrecision is one cell's interval width.
type CellPrecision struct {
	Key
	Blocks    int     // blocks with both arms
	HalfWidth float64 // relative, 0.01 = ±1 %; +Inf while the confidence is not reached
	spread    float64 // of one block, log scale
}

// Width measures the blocked intervals of o.Other against o.Base. The rounding
// of the output is left out, because more launches do not narrow it.
func Width(samples []bench.Sample, o Options) Precision {
	o = o.withDefaults()
	gs := newGroups()
	gs.take(samples, [armCount]string{baseArm: o.Base, otherArm: o.Other})
	t := newTables()
	var p Precision
	for _, g := range gs.sorted() {
		b, c, _ := paired(byBlock(g.arm[baseArm]), byBlock(g.arm[otherArm]))
		cell := CellPrecision{Key: g.Key, Blocks: len(b), HalfWidth: math.Inf(1)}
		if len(b) > 1 {
			e := blockedEffect(b, c, 0, o, t)
			cell.spread = e.logHalf * math.Sqrt(float64(e.N)) / stdNormal.Quantile((1+e.Level)/2)
			if e.Reached {
				cell.HalfWidth = math.Expm1(e.logHalf)
			}
		}
		p.Cells = append(p.Cells, cell)
	}
	return p
}

// Reached says that every interval is at most ±target wide. It is false when
// there is no cell yet.
func (p Precision) Reached(target float64) bool {
	return len(p.Cells) > 0 && p.Worst().HalfWidth <= target
}

// Worst is the cell with the widest interval, the zero value when there is none.
func (p Precision) Worst() CellPrecision {
	var out CellPrecision
	for i, c := range p.Cells {
		if i == 0 || c.HalfWidth > out.HalfWidth {
			out = c
		}
	}
	return out
}

// Need estimates the blocks in all for every interval to be at most ±target
// wide, from the spread so far; 0 while no cell has two blocks.
func (p Precision) Need(target, confidence float64) int {
	z := stdNormal.Quantile((1 + confidence) / 2)
	n := 0
	for _, c := range p.Cells {
		if c.Blocks > 1 {
			need := math.Ceil(math.Pow(z*c.spread/math.Log1p(target), 2))
			n = max(n, MinBlocks(confidence), int(min(need, mostBlocks)))
		}
	}
	return n
}
