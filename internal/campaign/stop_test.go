package campaign

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/store"
)

// TestAFailedLaunchIsStartedAgain: one crash does not cost the pair, and is kept.
func TestAFailedLaunchIsStartedAgain(t *testing.T) {
	d := design("native", "container")
	d.Retries = 2
	dir := newRun(t, d)
	f := runner.NewFake(t, captures(),
		runner.Stub{Match: "apptainer .*nearmetal-probe", Stderr: "Segmentation fault\n", Exit: 139, Times: 2},
		runner.Stub{Match: "nearmetal-probe", Stdout: lines(t), Times: 12})
	if err := Execute(t.Context(), world(f), dir, "test", quietly); err != nil {
		t.Fatal(err)
	}
	res, err := Load(dir.Path())
	if err != nil || !res.Complete() || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "failed 2 times and was started again") || !strings.Contains(res.Notes[0], "Segmentation fault") {
		t.Errorf("%v, notes %q", err, res.Notes)
	}
	for _, r := range res.Runs {
		if !r.OK() {
			t.Errorf("launch %d failed", r.ID)
		}
	}
	kept, _ := filepath.Glob(filepath.Join(dir.Path(), "raw", "failed-*", "stderr"))
	if len(kept) != 2 {
		t.Errorf("kept %q", kept)
	}
}

func TestRetriesAreBounded(t *testing.T) {
	d := design("native")
	d.Retries, d.Blocks, d.Warmups, d.Nodes = 1, 1, 0, 1
	dir := newRun(t, d)
	f := runner.NewFake(t, runner.Stub{Match: "sh -c echo"}, runner.Stub{Match: "nearmetal-probe", Stderr: "no\n", Exit: 1, Times: 2})
	if err := Execute(t.Context(), world(f), dir, "test", quietly); err != nil {
		t.Fatal(err)
	}
	runs, err := dir.Runs()
	if err != nil || len(runs) != 1 || runs[0].OK() || len(runs[0].Failed) != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
}

// TestExplanationsAreKeptAndNotTimed: one launch for each different arm and
// shape, through the preamble, with the libraries talking.
func TestExplanationsAreKeptAndNotTimed(t *testing.T) {
	d := design("native", "native-again", "container")
	d.Explain = true
	dir := newRun(t, d)
	talk, err := os.ReadFile("../attrib/testdata/exec.stderr")
	if err != nil {
		t.Fatal(err)
	}
	f := runner.NewFake(t, runner.Stub{Match: "sh -c echo", Times: 3},
		runner.Stub{Match: "(?s)sh -c cpus=.* nearmetal .*nearmetal-probe --bench init,latency", Stderr: string(talk), Times: 4},
		runner.Stub{Match: "nearmetal-probe", Stdout: lines(t), Times: 18})
	if err := Execute(t.Context(), world(f), dir, "test", quietly); err != nil {
		t.Fatal(err)
	}
	res, err := Load(dir.Path())
	if err != nil || len(res.Runs) != 18 {
		t.Fatalf("%d runs, %v", len(res.Runs), err)
	}
	for _, arm := range []string{"native", "native-again", "container"} {
		if got := res.Facts[arm]["1 node, 2 ranks"]["transport, same node"].Value; got != "sm" {
			t.Errorf("%s: %q", arm, got)
		}
	}
}

// TestBudgetEndsBetweenBlocks: launches of the fake take a second.
func TestBudgetEndsBetweenBlocks(t *testing.T) {
	d := design("native", "container")
	d.Nodes, d.Blocks, d.Warmups, d.Stop = 1, 50, 1, store.StopRule{Budget: 11 * time.Second}
	dir := newRun(t, d)
	f := runner.NewFake(t, captures(), runner.Stub{Match: "nearmetal-probe", Stdout: lines(t), Times: 100})
	if err := Execute(t.Context(), world(f), dir, "test", quietly); err != nil {
		t.Fatal(err)
	}
	res, err := Load(dir.Path())
	if err != nil || !res.Complete() || res.Stopped == nil || res.Stopped.Blocks != 4 || len(res.Runs) != 10 {
		t.Errorf("%d runs, %+v, %v", len(res.Runs), res.Stopped, err)
	}
}

func TestPrecisionEndsARunOfNarrowIntervals(t *testing.T) {
	d := design("native", "container")
	d.Nodes, d.Blocks, d.Warmups, d.Stop = 1, 50, 0, store.StopRule{Precision: 0.01, Confidence: 0.95}
	dir := newRun(t, d)
	f := runner.NewFake(t, captures(), runner.Stub{Match: "nearmetal-probe", Stdout: lines(t), Times: 100})
	if err := Execute(t.Context(), world(f), dir, "test", quietly); err != nil {
		t.Fatal(err)
	}
	res, err := Load(dir.Path())
	if err != nil || res.Stopped == nil || res.Stopped.Blocks != firstLook+lookEvery || !strings.Contains(res.Stopped.Reason, "every interval") {
		t.Errorf("%d runs, %+v, %v", len(res.Runs), res.Stopped, err)
	}
}

// TestStoppingKeepsCoverage simulates runs that stop by width, with a true
// ratio of 1.01 and noise of 1 % in each arm (so 1.4 % in a block's ratio).
// 95 % intervals must cover 94 to 97 % of the time, as those of a fixed number
// of blocks do. 10,000 runs: the standard error of the share is 0.2 %.
func TestStoppingKeepsCoverage(t *testing.T) {
	const runs, truth, sd = 10_000, 1.01, 0.01
	rng := rand.New(rand.NewPCG(1, 2))
	covered, blocks := 0, 0
	for range runs {
		lo, hi, n := stoppedRun(rng, math.Log(truth), sd)
		blocks += n
		if lo <= truth && truth <= hi {
			covered++
		}
	}
	share := float64(covered) / runs
	t.Logf("covered %.2f %%, %.1f blocks on average", 100*share, float64(blocks)/runs)
	if share < 0.94 || share > 0.97 {
		t.Errorf("coverage %.2f %%", 100*share)
	}
}

// stoppedRun adds blocks until the rule of stop.go ends it.
func stoppedRun(rng *rand.Rand, shift, sd float64) (lo, hi float64, n int) {
	var samples []bench.Sample
	o := compare.Options{Base: "a", Other: "b", Confidence: 0.95}
	for n < 60 {
		for arm, at := range map[string]float64{"a": 0, "b": shift} {
			samples = append(samples, bench.Sample{Benchmark: "x", Unit: "us", Size: bench.NoSize, Arm: arm, Block: n, Launch: len(samples), Value: math.Exp(at + sd*rng.NormFloat64())})
		}
		if n++; looks(n) && compare.Width(until(samples, n-lookEvery), o).Reached(0.007) && compare.Width(samples, o).Reached(0.007) {
			break
		}
	}
	e := compare.Compare(samples, o).Cells[0].Effect
	return e.Lo, e.Hi, n
}
