package compare

import (
	"cmp"
	"slices"

	"github.com/nearmetal/nearmetal/bench"
)

// Scaled is a benchmark that ran at several numbers of ranks.
type Scaled struct {
	Benchmark string
	Kind      string         // "strong": the same problem on more ranks; "weak": it grows with them
	Ranks     map[string]int // by placement
}

// Scaling is one program's metric over the ranks.
type Scaling struct {
	Benchmark string         `json:"benchmark"`
	Metric    string         `json:"metric"`
	Unit      string         `json:"unit"`
	Kind      string         `json:"kind"`
	Points    []ScalingPoint `json:"points"`
}

// ScalingPoint is one number of ranks. Efficiency is relative to the same
// arm's fewest ranks: 1 is perfect.
type ScalingPoint struct {
	Ranks           int     `json:"ranks"`
	Placement       string  `json:"placement"`
	Base            float64 `json:"base"` // median of launches
	Other           float64 `json:"other"`
	BaseEfficiency  float64 `json:"base_efficiency"`
	OtherEfficiency float64 `json:"other_efficiency"`
	Ratio           Effect  `json:"ratio"` // other ÷ base at this number of ranks
}

// Scale fills c.Scaling from the cells. Times and rates are told apart by
// their unit.
func (c *Comparison) Scale(programs []Scaled) {
	for _, p := range programs {
		by := map[string]*Scaling{}
		var metrics []string
		for _, cell := range c.Cells {
			ranks, ok := p.Ranks[cell.Placement]
			if cell.Benchmark != p.Benchmark || !ok {
				continue
			}
			if by[cell.Metric] == nil {
				by[cell.Metric] = &Scaling{Benchmark: p.Benchmark, Metric: cell.Metric, Unit: cell.Unit, Kind: p.Kind}
				metrics = append(metrics, cell.Metric)
			}
			s := by[cell.Metric]
			s.Points = append(s.Points, ScalingPoint{Ranks: ranks, Placement: cell.Placement, Base: cell.Base.Median, Other: cell.Other.Median, Ratio: cell.Effect})
		}
		for _, m := range metrics {
			if s := by[m]; len(s.Points) > 1 {
				s.efficiency()
				c.Scaling = append(c.Scaling, *s)
			}
		}
	}
}

// efficiency of n ranks against the fewest, n0, with times T: strong scaling
// n0·T(n0) ÷ n·T(n), weak scaling T(n0) ÷ T(n). A rate is the inverse of a time.
func (s *Scaling) efficiency() {
	slices.SortFunc(s.Points, func(a, b ScalingPoint) int { return cmp.Compare(a.Ranks, b.Ranks) })
	first := s.Points[0]
	of := func(v, v0 float64, ranks int) float64 {
		e := v0 / v
		if bench.HigherIsBetter(s.Unit) {
			e = v / v0
		}
		if s.Kind == "strong" {
			e *= float64(first.Ranks) / float64(ranks)
		}
		return e
	}
	for i := range s.Points {
		p := &s.Points[i]
		p.BaseEfficiency, p.OtherEfficiency = of(p.Base, first.Base, p.Ranks), of(p.Other, first.Other, p.Ranks)
	}
}
