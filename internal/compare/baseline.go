package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/nearmetal/nearmetal/bench"
)

// BaselineSchema names a Baseline as JSON.
const BaselineSchema = "nearmetal/baseline/v1"

// Baseline is what a site keeps of a run, to hold later ones against it: the
// ratio other ÷ base of each block. Both runs are relative to their own base
// arm, so that a slower machine, kernel or day cancels as far as it hits both.
type Baseline struct {
	Schema    string         `json:"schema"`
	Base      string         `json:"base"`
	Other     string         `json:"other"`
	Statistic string         `json:"statistic"`
	Cells     []BaselineCell `json:"cells"`
}

// BaselineCell is one cell's ratios, in the order of the blocks.
type BaselineCell struct {
	Key
	Unit   string    `json:"unit"`
	Ratios []float64 `json:"ratios"`
}

// NewBaseline takes the blocks that hold both arms.
func NewBaseline(samples []bench.Sample, o Options) Baseline {
	gs := newGroups()
	gs.take(samples, [armCount]string{baseArm: o.Base, otherArm: o.Other})
	out := Baseline{Schema: BaselineSchema, Base: o.Base, Other: o.Other, Statistic: o.Statistic, Cells: []BaselineCell{}}
	for _, g := range gs.sorted() {
		b, c, _ := paired(byBlock(g.arm[baseArm]), byBlock(g.arm[otherArm]))
		cell := BaselineCell{Key: g.Key, Unit: g.unit}
		for i := range b {
			cell.Ratios = append(cell.Ratios, c[i]/b[i])
		}
		if len(b) > 0 && !g.units {
			out.Cells = append(out.Cells, cell)
		}
	}
	return out
}

// ReadBaseline reads a file and refuses what is not one.
func ReadBaseline(r io.Reader) (Baseline, error) {
	var b Baseline
	d := json.NewDecoder(r)
	if err := d.Decode(&b); err != nil {
		return b, fmt.Errorf("not a baseline: %w", err)
	}
	if b.Schema != BaselineSchema {
		return b, fmt.Errorf("schema %q, this version reads %q", b.Schema, BaselineSchema)
	}
	if len(b.Cells) == 0 {
		return b, errors.New("a baseline without cells")
	}
	for i, c := range b.Cells {
		for _, v := range c.Ratios {
			if !(v > 0) || math.IsInf(v, 0) {
				return b, fmt.Errorf("cell %d: ratio %v", i+1, v)
			}
		}
	}
	return b, nil
}

// samples turns the ratios into values of an arm. Their unit stays, because it
// says which way is better.
func (b Baseline) samples(arm string) (out []bench.Sample) {
	for _, c := range b.Cells {
		for i, v := range c.Ratios {
			out = append(out, bench.Sample{Suite: c.Suite, Benchmark: c.Benchmark, Placement: c.Placement, Metric: c.Metric,
				Unit: c.Unit, Size: c.Size, Arm: arm, Block: i, Launch: i, Value: v})
		}
	}
	return out
}

// RatioUnit is the unit of cells whose values are ratios of two arms.
const RatioUnit = "×"

// CompareBaseline holds a run's ratios against those of a baseline: 1.03 says
// that the other arm has become 3 % larger relative to its base arm. Both runs
// must have been reduced by the same statistic.
func CompareBaseline(b Baseline, samples []bench.Sample, o Options) (Comparison, error) {
	if b.Statistic != o.Statistic {
		return Comparison{}, fmt.Errorf("the baseline holds the launches' %s, the run their %s", b.Statistic, o.Statistic)
	}
	now := NewBaseline(samples, o)
	opts := Options{
		Base: "baseline", Other: "now", Margin: o.Margin, Confidence: o.Confidence, Statistic: o.Statistic,
		BaseLabel: b.Other + " ÷ " + b.Base + " of the baseline", OtherLabel: o.Other + " ÷ " + o.Base + " now",
	}
	c := CompareRuns(b.samples("baseline"), now.samples("now"), opts)
	for i := range c.Cells {
		c.Cells[i].Unit = RatioUnit
	}
	return c, nil
}
