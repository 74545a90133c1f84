package campaign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/store"
)

// Progress is told of each launch, before it starts with a nil run and after
// it has been stored.
type Progress func(done, total int, l bench.Launch, run *bench.Run)

// Bounds of failure: a launch may fail, and the comparison goes on with a block
// less; a campaign that mostly fails is stopped.
const (
	maxInRow = 5 // failed launches of one arm, one after the other
)

type executor struct {
	world   World
	dir     *store.Dir
	tell    Progress
	inStep  bool           // we run inside a step: ours must overlap it
	inRow   map[string]int // failed launches of each arm since its last good one
	samples []bench.Sample // of the launches so far, for the rule that stops
}

// Execute does the launches of a run directory that are missing. It needs an
// allocation around it. who says who we are, for whoever finds the lock.
func Execute(ctx context.Context, w World, dir *store.Dir, who string, tell Progress) error {
	if err := dir.Lock(who); err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Tidy(); err != nil {
		return err
	}
	have, err := dir.Runs()
	if err != nil {
		return err
	}
	samples, err := repairSamples(dir, have)
	if err != nil {
		return err
	}
	e := &executor{world: w, dir: dir, tell: tell, samples: samples, inRow: map[string]int{}, inStep: isStep(w.Getenv("SLURM_STEP_ID"))}
	release, err := e.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := e.environments(ctx); err != nil {
		return err
	}
	if err := e.explanations(ctx); err != nil {
		return err
	}
	return e.missing(ctx, have)
}

// isStep says whether Slurm's step id is that of an srun step. The batch and
// interactive steps (0xfffffffb, 0xfffffffa, slurm.h) hold no resources.
func isStep(id string) bool {
	return id != "" && id != "4294967291" && id != "4294967290"
}

func (e *executor) missing(ctx context.Context, have []bench.Run) error {
	done := map[int]bool{}
	for _, r := range have {
		done[r.ID] = true
	}
	total := len(e.dir.Manifest.Schedule)
	for _, l := range e.dir.Manifest.Schedule {
		if done[l.ID] {
			continue
		}
		e.tell(len(done), total, l, nil)
		if over, err := e.enough(have, l); err != nil || over {
			return err
		}
		run, samples, err := e.persist(ctx, l)
		if err != nil {
			return err
		}
		if err := e.dir.AppendSamples(samples); err != nil {
			return err
		}
		done[l.ID] = true
		have = append(have, run)
		e.samples = append(e.samples, samples...)
		e.tell(len(done), total, l, &run)
		if err := e.bound(run); err != nil {
			return err
		}
	}
	return nil
}

// bound stops a campaign in which an arm does not work.
func (e *executor) bound(r bench.Run) error {
	if r.OK() {
		e.inRow[r.Arm] = 0
		return nil
	}
	e.inRow[r.Arm]++
	if e.inRow[r.Arm] < maxInRow {
		return nil
	}
	return fail.New(fail.Failed, "read "+filepath.Join(e.dir.Path(), r.Stderr),
		"%d launches of arm %s failed one after the other; the last: %s", maxInRow, r.Arm, e.why(r))
}

// why is one line on a failed run.
func (e *executor) why(r bench.Run) string {
	text := fmt.Sprintf("exit code %d", r.Exit)
	if r.Error != "" {
		text = r.Error
	}
	if last := LastLines(e.dir, r.Stderr, 1); len(last) > 0 {
		text += ": " + last[0]
	}
	return text
}

// repairSamples makes samples.jsonl say what raw/ says.
func repairSamples(dir *store.Dir, have []bench.Run) ([]bench.Sample, error) {
	want, _, err := samplesOf(dir, have)
	if err != nil {
		return nil, err
	}
	if got, err := dir.Samples(); err == nil && equal(got, want) {
		return want, nil
	}
	return want, dir.WriteSamples(want)
}

func equal(a, b []bench.Sample) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Who names this process for the lock file.
func Who(getenv func(string) string) string {
	host, _ := os.Hostname()
	who := fmt.Sprintf("process %d on %s", os.Getpid(), host)
	if job := getenv("SLURM_JOB_ID"); job != "" {
		who += ", job " + job
	}
	return who
}
