package compare

import (
	"math"
	"testing"
)

func TestEfficiency(t *testing.T) {
	cell := func(place, unit string, base, other float64) Cell {
		return Cell{Key: Key{Benchmark: "ring", Metric: "solve", Placement: place}, Unit: unit, Base: Summary{Median: base}, Other: Summary{Median: other}}
	}
	ranks := map[string]int{"four": 4, "one": 1, "two": 2}
	for _, c := range []struct {
		kind, unit string
		v          [3]float64 // at 1, 2, 4 ranks
		want       [3]float64
	}{
		{"strong", "s", [3]float64{8, 4, 4}, [3]float64{1, 1, 0.5}},
		{"weak", "s", [3]float64{8, 8, 10}, [3]float64{1, 1, 0.8}},
		{"strong", "GFLOP/s", [3]float64{1, 2, 3}, [3]float64{1, 1, 0.75}},
		{"weak", "op/s", [3]float64{2, 2, 1}, [3]float64{1, 1, 0.5}},
	} {
		comp := Comparison{Cells: []Cell{cell("four", c.unit, c.v[2], c.v[2]), cell("one", c.unit, c.v[0], c.v[0]), cell("two", c.unit, c.v[1], 2*c.v[1])}}
		comp.Scale([]Scaled{{"ring", c.kind, ranks}})
		if len(comp.Scaling) != 1 || len(comp.Scaling[0].Points) != 3 {
			t.Fatalf("%+v", comp.Scaling)
		}
		for i, p := range comp.Scaling[0].Points {
			if p.Ranks != 1<<i || math.Abs(p.BaseEfficiency-c.want[i]) > 1e-12 {
				t.Errorf("%s %s: %+v, want %v", c.kind, c.unit, p, c.want[i])
			}
		}
	}
}

func TestOnePointIsNoScaling(t *testing.T) {
	comp := Comparison{Cells: []Cell{{Key: Key{Benchmark: "ring", Placement: "one"}}}}
	comp.Scale([]Scaled{{"ring", "strong", map[string]int{"one": 1}}})
	if len(comp.Scaling) != 0 {
		t.Errorf("%+v", comp.Scaling)
	}
}
