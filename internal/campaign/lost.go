package campaign

import (
	"bufio"
	"io"
	"regexp"
	"strings"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/store"
)

// gone is what srun and slurmstepd say of a step whose job has ended around it:
// by scancel, the time limit, or the end of the salloc that held it (srun(1);
// slurm_errno.h ESLURM_INVALID_JOB_ID, ESLURM_ALREADY_DONE).
var gone = regexp.MustCompile(`Expired or invalid job|Invalid job id specified|Job/step already completing or completed|` +
	`Job allocation \d+ has been revoked|Force Terminated [Jj]ob|CANCELLED AT \S+ DUE TO (?:TIME LIMIT|PREEMPTION)|` +
	`JOB \d+ ON \S+ CANCELLED`)

// lost is the error for a launch that failed because its allocation ended. It
// says nothing about the arm, so it is not stored, and --resume makes it again.
func lost(dir *store.Dir, stderr io.ReadSeeker) error {
	if _, err := stderr.Seek(0, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if gone.MatchString(lines.Text()) {
			return fail.New(fail.Failed, "nearmetal bench --resume "+dir.Path(),
				"the allocation ended (%s); complete launches are kept", strings.TrimSpace(lines.Text()))
		}
	}
	return nil
}
