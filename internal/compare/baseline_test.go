package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
)

// site makes a run on a machine of some speed, whose container has some cost.
func site(rng *rand.Rand, speed, cost float64) (out []bench.Sample) {
	for b := range 20 {
		drift := speed * math.Exp(0.1*rng.NormFloat64())
		for arm, v := range map[string]float64{"native": drift, "container": drift * cost} {
			out = append(out, bench.Sample{Benchmark: "x", Placement: "p", Metric: "m", Unit: "MB/s", Size: 8, Arm: arm, Block: b, Launch: len(out), Value: v * math.Exp(0.005*rng.NormFloat64())})
		}
	}
	return out
}

var gate = Options{Base: "native", Other: "container", Margin: 0.02, Confidence: 0.95, Statistic: "median"}

// TestBaselineGate: a machine of half the speed is no regression, a container
// that has lost 5 % is one, and it goes through the file.
func TestBaselineGate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	text, err := json.Marshal(NewBaseline(site(rng, 1000, 0.99), gate))
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReadBaseline(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	same, err := CompareBaseline(b, site(rng, 500, 0.99), gate)
	if err != nil || same.Verdict != Equivalent || same.Regression {
		t.Errorf("same: %s, %v", same.Sentence, err)
	}
	worse, err := CompareBaseline(b, site(rng, 2000, 0.94), gate)
	if err != nil || worse.Verdict != Slower || !worse.Regression || worse.Cells[0].Unit != RatioUnit {
		t.Errorf("worse: %s, %v", worse.Sentence, err)
	}
	mean := gate
	mean.Statistic = "mean"
	if _, err := CompareBaseline(b, site(rng, 1, 1), mean); err == nil {
		t.Error("medians were held against means")
	}
}

func FuzzReadBaseline(f *testing.F) {
	f.Add(`{"schema":"nearmetal/baseline/v1","base":"a","other":"b","cells":[{"size":8,"unit":"us","ratios":[1,1.1]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := ReadBaseline(strings.NewReader(text)); err == nil {
			o := gate
			o.Statistic = b.Statistic
			if _, err := CompareBaseline(b, b.samples("native"), o); err != nil {
				t.Error(err)
			}
		}
	})
}
