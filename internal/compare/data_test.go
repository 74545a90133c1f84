package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
)

// steady is n blocks of two arms, noise 0.5 %, with a ratio.
func steady(n int, ratio float64) []bench.Sample {
	rng := rand.New(rand.NewPCG(21, uint64(n)))
	b, c := each(func(r *rand.Rand, _ float64) float64 { return 5 * (1 + 0.005*r.NormFloat64()) })(rng, n)
	return pair("us", b, scaled(c, ratio))
}

func codes(c Comparison) (out []string) {
	for _, w := range c.Warnings {
		out = append(out, w.Code)
	}
	return out
}

func TestFailedLaunchesAreLeftOutAndTold(t *testing.T) {
	s := steady(12, 1)
	s = slices.DeleteFunc(s, func(s bench.Sample) bool { return s.Arm == "container" && s.Block < 2 })
	s[5].Value = math.NaN()
	s[6].Value = 0
	s[7].Value = math.Inf(1)
	c := Compare(s, ofArms())
	if got := c.Cells[0].Effect.N; got != 7 {
		t.Errorf("%d blocks, want 7", got)
	}
	text := fmt.Sprint(c.Warnings)
	for _, want := range []string{"5 launches left out", "3 values of native left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("no warning %q in %s", want, text)
		}
	}
}

func TestSeveralSamplesOfALaunchBecomeTheirMedian(t *testing.T) {
	s := steady(10, 1)
	want := Compare(s, ofArms()).Cells[0].Effect
	for _, x := range slices.Clone(s) { // two outlying companions that leave the median alone
		lowly, lofty := x, x
		lowly.Value, lofty.Value = x.Value/10, x.Value*3
		s = append(s, lowly, lofty)
	}
	c := Compare(s, ofArms())
	if c.Cells[0].Effect != want || c.Cells[0].Base.N != 10 || !slices.Contains(codes(c), "reduced") {
		t.Errorf("%+v, want %+v; warnings %v", c.Cells[0].Effect, want, codes(c))
	}
}

func TestWarmUpsAndOtherArmsAreLeftOut(t *testing.T) {
	s := steady(10, 1)
	want := Compare(s, ofArms())
	for _, arm := range []string{"native", "container", "unpacked"} {
		s = append(s, bench.Sample{Suite: "osu", Benchmark: "latency", Placement: "1 node, 2 ranks", Metric: "latency", Unit: "us", Size: 8, Arm: arm, Block: bench.WarmUp, Value: 900})
	}
	if got := Compare(s, ofArms()); got.Sentence != want.Sentence || got.Cells[0].Base != want.Cells[0].Base {
		t.Errorf("%s\nwant %s", got.Sentence, want.Sentence)
	}
}

func TestWhatCannotBeCompared(t *testing.T) {
	good := steady(8, 1)
	edit := func(f func(s *bench.Sample)) []bench.Sample {
		out := slices.Clone(good)
		for i := range out {
			f(&out[i])
		}
		return out
	}
	for want, s := range map[string][]bench.Sample{
		"no usable value of container":            good[:8],
		"no usable value of native":               good[8:],
		"its samples carry different units":       edit(func(s *bench.Sample) { s.Unit += s.Arm }),
		"no block has both arms":                  edit(func(s *bench.Sample) { s.Block = s.Launch }),
		"no usable value in either arm":           edit(func(s *bench.Sample) { s.Value = -1 }),
		"undecided, nothing could be compared":    nil,
		"missing-cell nothing-compared":           good[:8],
		"environment-unknown":                     good,
		"container against native: latency, 1 no": good,
	} {
		c := Compare(s, ofArms())
		all := fmt.Sprint(c.Missing, c.Sentence, codes(c))
		for _, part := range strings.Split(want, " nothing-c") {
			if !strings.Contains(all, part) {
				t.Errorf("want %q in %s", part, all)
			}
		}
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A size that one arm lacks is not equivalent, whatever the others are.
func TestAMissingSizeBreaksEquivalenceEverywhere(t *testing.T) {
	s := steady(20, 1)
	if c := Compare(s, ofArms()); c.Verdict != Equivalent || !c.Families[0].EquivalentEverywhere {
		t.Fatalf("%s", c.Sentence)
	}
	odd := s[0]
	odd.Size = 16
	if c := Compare(append(s, odd), ofArms()); c.Verdict == Equivalent || c.Families[0].EquivalentEverywhere {
		t.Errorf("%s", c.Sentence)
	}
}

func TestRoundedValuesNeverPassAsEquivalence(t *testing.T) {
	flat := slices.Repeat([]float64{0.25}, 20) // true values may be 0.245 and 0.255: 4 % apart
	c := Compare(pair("us", flat, flat), ofArms())
	if c.Cells[0].Verdict != Undecided || c.Cells[0].NeedBlocks != neverBlocks || !slices.Contains(codes(c), "coarse-resolution") {
		t.Errorf("%+v, warnings %v", c.Cells[0], codes(c))
	}
	flat = slices.Repeat([]float64{25.25}, 20)
	if c := Compare(pair("us", flat, flat), ofArms()); c.Verdict != Equivalent {
		t.Errorf("%s", c.Sentence)
	}
}

func TestOneBlockClaimsNothing(t *testing.T) {
	c := Compare(steady(1, 3), ofArms())
	e := c.Cells[0].Effect
	if c.Verdict != Undecided || e.Level != 0 || e.P != 1 || c.Cells[0].NeedBlocks != 6 {
		t.Errorf("%+v need %d", e, c.Cells[0].NeedBlocks)
	}
}

func TestUnblockedRunsSaySo(t *testing.T) {
	o := Options{Base: "container", Other: "container", BaseLabel: "before", OtherLabel: "after"}
	c := CompareRuns(steady(12, 1), steady(9, 1.1), o)
	if c.Design != Unblocked || c.Verdict != Slower || !slices.Contains(codes(c), "unblocked") || c.Cells[0].Effect.N != 9 {
		t.Errorf("%v %v %+v", c.Design, codes(c), c.Cells)
	}
	if !strings.HasPrefix(c.Sentence, "after against before: ") {
		t.Errorf("%s", c.Sentence)
	}
}

func TestNoiseFloorStandsBesideTheClaim(t *testing.T) {
	s := steady(12, 1.05)
	for _, x := range steady(12, 1)[12:] {
		x.Arm = "native-again"
		s = append(s, x)
	}
	c := Compare(s, withNoise())
	cell := c.Cells[0]
	if cell.Noise == nil || cell.Noise.N != 12 || cell.AboveNoise == nil || !*cell.AboveNoise {
		t.Fatalf("%+v", cell)
	}
	for i := range s { // now the A/A arm is off as well
		if s[i].Arm == "native-again" {
			s[i].Value *= 1.05
		}
	}
	c = Compare(s, withNoise())
	if *c.Cells[0].AboveNoise || !slices.Contains(codes(c), "aa-differs") {
		t.Errorf("above noise %v, warnings %v", *c.Cells[0].AboveNoise, codes(c))
	}
	if c := Compare(steady(12, 1), withNoise()); c.Cells[0].Noise != nil || !slices.Contains(codes(c), "no-noise-floor") {
		t.Errorf("no A/A arm: %v", codes(c))
	}
}

func TestEnvironmentDecidesWhatIsBlamed(t *testing.T) {
	base := map[string]string{"image.path": "", "stack.openmpi": "4.1.4", "governor": "performance"}
	change := func(k, v string) map[string]string {
		out := map[string]string{"image.path": "a.sif", "stack.openmpi": "4.1.4", "governor": "performance"}
		out[k] = v
		return out
	}
	unseen := change("x", "y")
	delete(unseen, "stack.openmpi")
	for want, other := range map[Attribution]map[string]string{
		ToContainer: change("image.path", "b.sif"), ToStack: change("stack.openmpi", "5.0.7"),
		ToEnvironment: change("governor", "powersave"), ToNothing: base, ToUnknown: unseen,
	} {
		o := ofArms()
		o.BaseEnv, o.OtherEnv = base, other
		c := Compare(steady(12, 1.1), o)
		if c.Attribution != want {
			t.Errorf("%v: got %v", want, c.Attribution)
		}
		if says := strings.Contains(c.Sentence, "stacks, not the container alone (openmpi 4.1.4 against 5.0.7)"); says != (want == ToStack) {
			t.Errorf("%v: %s", want, c.Sentence)
		}
		if warned := slices.Contains(codes(c), "environment"); want == ToEnvironment && !warned {
			t.Errorf("%v: warnings %v", want, codes(c))
		}
	}
}

func TestWidthKnowsWhenToStop(t *testing.T) {
	if p := Width(nil, ofArms()); p.Reached(1) || p.Need(0.01, 0.95) != 0 {
		t.Errorf("nothing measured: %+v", p)
	}
	p := Width(steady(5, 1), ofArms())
	if p.Reached(0.5) || !math.IsInf(p.Worst().HalfWidth, 1) || p.Need(0.01, 0.95) < 6 {
		t.Errorf("5 blocks: %+v", p)
	}
	p = Width(steady(30, 1.5), ofArms())
	if w := p.Worst(); !p.Reached(0.01) || p.Reached(0.0001) || w.Blocks != 30 || w.HalfWidth <= 0 {
		t.Errorf("30 blocks: %+v", p)
	}
	if a, b := p.Need(0.002, 0.95), p.Need(0.001, 0.95); b < 3*a || b > 5*a {
		t.Errorf("half the width takes %d blocks instead of %d: want 4 times", b, a)
	}
	c := Compare(steady(30, 1.5), ofArms()).Cells[0].Effect
	if !near(p.Worst().HalfWidth, math.Sqrt(c.Hi/c.Lo)-1, 1e-9) {
		t.Errorf("width %v, interval %v–%v", p.Worst().HalfWidth, c.Lo, c.Hi)
	}
}
