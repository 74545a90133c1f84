package campaign

import (
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/store"
)

// The lines are srun's and slurmstepd's own (Slurm 24.11), but for preemption,
// which is from slurmstepd's source.
func TestLostAllocationIsNoResult(t *testing.T) {
	ended := []string{
		"srun: error: Unable to confirm allocation for job 34: Invalid job id specified",
		"srun: error: Unable to create step for job 34: Job/step already completing or completed",
		"srun: error: Unable to confirm allocation for job 34: Expired or invalid job 34",
		"srun: Force Terminated job 41",
		"slurmstepd-n1: error: *** STEP 5.0 ON n1 CANCELLED AT 2026-11-30T20:00:00 DUE TO TIME LIMIT ***",
		"slurmstepd-n1: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-30T20:00:00 DUE TO PREEMPTION ***",
	}
	own := []string{
		"srun: error: n1: task 0: Exited with exit code 14",
		"slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-30T19:55:19 ***",
		"srun: Job step aborted: Waiting up to 7 seconds for job step to finish.",
	}
	for _, line := range ended {
		if err := lost(&store.Dir{}, strings.NewReader("chatter\n"+line+"\n")); err == nil {
			t.Errorf("not seen: %s", line)
		}
	}
	for _, line := range own {
		if err := lost(&store.Dir{}, strings.NewReader(line+"\n")); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
