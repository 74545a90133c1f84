package compare

import (
	"math"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
)

// pair makes one cell's samples: base[i] and other[i] in block i.
func pair(unit string, base, other []float64) []bench.Sample {
	var out []bench.Sample
	add := func(arm string, values []float64) {
		for i, v := range values {
			out = append(out, bench.Sample{Suite: "osu", Benchmark: "latency", Placement: "1 node, 2 ranks", Metric: "latency",
				Unit: unit, Size: 8, Arm: arm, Block: i, Launch: len(out), Value: v})
		}
	}
	add("native", base)
	add("container", other)
	return out
}

func ofArms() Options { return Options{Base: "native", Other: "container"} }

func TestFiveBlocksAreUndecidedWithTheWidestLevel(t *testing.T) {
	c := Compare(pair("us", []float64{1.1234567, 1.2345678, 1.3456789, 1.4567891, 1.5678912}, []float64{2.1234567, 2.2345678, 2.3456789, 2.4567891, 2.5678912}), ofArms())
	e := c.Cells[0].Effect
	if e.Level != 0.9375 || e.Reached || c.Cells[0].Verdict != Undecided || c.Cells[0].NeedBlocks < 6 {
		t.Errorf("level %v, reached %v, verdict %v, need %d", e.Level, e.Reached, c.Cells[0].Verdict, c.Cells[0].NeedBlocks)
	}
	if c.Verdict != Undecided || !hasWarning(c, "few-blocks") {
		t.Errorf("comparison %v, warnings %v", c.Verdict, c.Warnings)
	}
}

func hasWarning(c Comparison, code string) bool {
	for _, w := range c.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

func TestDirectionFollowsTheUnit(t *testing.T) {
	base := []float64{1.01234567, 1.0234567, 1.0334567, 1.0434567, 1.0534567, 1.0634567, 1.0734567, 1.0834567}
	twice := make([]float64, len(base))
	for i, v := range base {
		twice[i] = 2 * v * (1 + 0.001*float64(i%3))
	}
	for unit, want := range map[string]Verdict{"us": Slower, "MB/s": Faster} {
		c := Compare(pair(unit, base, twice), ofArms())
		if c.Verdict != want || c.Regression != (want == Slower) || math.Abs(c.Cells[0].Effect.Ratio-2) > 0.01 {
			t.Errorf("%s: %v, regression %v, ratio %v", unit, c.Verdict, c.Regression, c.Cells[0].Effect.Ratio)
		}
	}
}
