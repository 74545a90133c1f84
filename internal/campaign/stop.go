package campaign

import (
	"fmt"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/store"
)

// Bounds of stopping early. The interval's width is an estimate as well: a
// rule that stops at the first narrow one stops at lucky ones and covers less
// than it claims (93.4 % where 95 % is said, simulated). So the width must be
// kept at two looks, one after the other (TestStoppingKeepsCoverage).
const (
	firstLook = 10 // blocks at the first look
	lookEvery = 5  // blocks between two looks
)

// enough says, before the first launch of a block, whether the blocks so far
// are enough, and records why.
func (e *executor) enough(have []bench.Run, next bench.Launch) (bool, error) {
	rule := e.dir.Manifest.Stop
	if rule == (store.StopRule{}) || next.Block < 1 || !begins(e.dir.Manifest, next) {
		return false, nil
	}
	reason := e.reason(rule, have, next.Block)
	if reason == "" {
		return false, nil
	}
	return true, e.dir.SetStopped(store.Stopped{Reason: reason, Blocks: next.Block, At: e.world.Now().UTC()})
}

// begins says whether a launch is the first of its block.
func begins(m store.Manifest, l bench.Launch) bool {
	return l.ID == 0 || m.Schedule[l.ID-1].Block != l.Block
}

// reason is why a run may end after so many blocks, "" when it may not.
func (e *executor) reason(rule store.StopRule, have []bench.Run, blocks int) string {
	if rule.Precision > 0 && looks(blocks) {
		before, _ := widest(until(e.samples, blocks-lookEvery), e.dir.Manifest)
		widest, ok := widest(e.samples, e.dir.Manifest)
		if ok && max(before.HalfWidth, widest.HalfWidth) <= rule.Precision {
			return fmt.Sprintf("after %d blocks every interval is within ±%.2g %% (the widest: %s)", blocks, 100*widest.HalfWidth, cellName(widest.Key))
		}
	}
	if spent := spent(have); rule.Budget > 0 && spent+spent/time.Duration(blocks+e.dir.Manifest.Warmups) > rule.Budget {
		return fmt.Sprintf("after %d blocks, %v, the next would go beyond the budget of %v", blocks, spent.Round(time.Second), rule.Budget)
	}
	return ""
}

// looks says whether the width is judged after so many blocks: there was a look before.
func looks(blocks int) bool { return blocks > firstLook && (blocks-firstLook)%lookEvery == 0 }

// until is the samples of the first blocks.
func until(samples []bench.Sample, blocks int) (out []bench.Sample) {
	for i := range samples {
		if samples[i].Block < blocks {
			out = append(out, samples[i])
		}
	}
	return out
}

// spent is the wall time of all launches.
func spent(have []bench.Run) (d time.Duration) {
	for _, r := range have {
		d += r.End.Sub(r.Start)
	}
	return d
}

// widest is the widest interval of any arm against the first.
func widest(samples []bench.Sample, m store.Manifest) (compare.CellPrecision, bool) {
	var out compare.CellPrecision
	found := false
	samples = bench.Choose(samples, m.Stop.Statistic)
	for _, a := range m.Arms[1:] {
		p := compare.Width(samples, compare.Options{Base: m.Arms[0].Name, Other: a.Name, Confidence: m.Stop.Confidence})
		if w := p.Worst(); len(p.Cells) > 0 && (!found || w.HalfWidth > out.HalfWidth) {
			out, found = w, true
		}
	}
	return out, found
}

// cellName is a cell in a few words.
func cellName(k compare.Key) string {
	s := k.Benchmark + " " + k.Metric
	if k.Size != bench.NoSize {
		s += fmt.Sprintf(" at %d B", k.Size)
	}
	return s + ", " + k.Placement
}
