package campaign

import (
	"context"
	"fmt"
	"strings"

	"github.com/nearmetal/nearmetal/bench"
)

// persist carries out a launch, and starts it again within its block when it
// fails, at most Manifest.Retries times, so that the block keeps both its
// arms. Each failed start is kept in raw/ and named in the run: an MPI whose
// start-up is not sure (Open MPI 5.0.7 crashes about once in a hundred starts
// on a busy machine, ompi issue 12495) is a result too. A launch that took too
// long is not started again: the next one would as well.
func (e *executor) persist(ctx context.Context, l bench.Launch) (bench.Run, []bench.Sample, error) {
	var failed []bench.Attempt
	for {
		run, samples, again, err := e.attempt(ctx, l, failed)
		if err != nil || !again {
			return run, samples, err
		}
		failed = append(failed, bench.Attempt{Exit: run.Exit, Why: e.why(run)})
	}
}

// attempt makes one start. again says that it failed, was kept beside the
// schedule, and may be made again.
func (e *executor) attempt(ctx context.Context, l bench.Launch, failed []bench.Attempt) (run bench.Run, samples []bench.Sample, again bool, err error) {
	rec, run, out, err := e.carry(ctx, l)
	if err != nil {
		return run, nil, false, err
	}
	run.Failed = failed
	again = !run.OK() && !strings.HasPrefix(run.Error, tooLong) && len(failed) < e.dir.Manifest.Retries
	if again {
		run, err = rec.CommitFailed(run, len(failed)+1)
		return run, nil, err == nil, err
	}
	run, err = rec.Commit(run)
	return run, out.Samples, false, err
}

// retryNote tells of the starts that failed, for people.
func retryNote(r bench.Run) string {
	times := fmt.Sprintf("%d times", len(r.Failed))
	if len(r.Failed) == 1 {
		times = "once"
	}
	return fmt.Sprintf("launch %d (%s, %s) failed %s and was started again: %s", r.ID, r.Arm, r.Case, times, r.Failed[0].Why)
}
