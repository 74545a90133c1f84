package campaign

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/store"
	"github.com/nearmetal/nearmetal/slurm"
)

// State is where a run stands.
type State string

// The states.
const (
	Pending  State = "pending"  // its job waits
	Running  State = "running"  // launches are being made
	Finished State = "finished" // every launch of the schedule is stored
	Stopped  State = "stopped"  // nobody runs it and launches are missing: bench --resume finishes it
	Failed   State = "failed"   // its job has ended badly and launches are missing
)

// Status is what `nearmetal status` tells of a run directory.
type Status struct {
	Schema    string    `json:"schema"`
	Dir       string    `json:"dir"`
	State     State     `json:"state"`
	Job       string    `json:"job,omitempty"`
	JobState  string    `json:"job_state,omitempty"` // Slurm's word
	Reason    string    `json:"reason,omitempty"`    // why it waits or failed
	Start     string    `json:"expected_start,omitempty"`
	Done      int       `json:"done"`
	Total     int       `json:"total"`
	Failures  int       `json:"failures"` // stored launches that failed
	Remaining *float64  `json:"remaining_s,omitempty"`
	Created   time.Time `json:"created"`
	Last      []string  `json:"last,omitempty"` // last lines of the log or of the last failure
	Nodes     []string  `json:"nodes,omitempty"`
}

// StatusSchema names Status as JSON.
const StatusSchema = "nearmetal/status/v1"

// StatusOf looks at a run directory and asks Slurm about its job.
func StatusOf(ctx context.Context, w World, path string) (Status, error) {
	dir, err := store.Open(path)
	if err != nil {
		return Status{}, err
	}
	runs, err := dir.Runs()
	if err != nil {
		return Status{}, err
	}
	s := Status{Schema: StatusSchema, Dir: dir.Path(), Done: len(runs), Total: len(dir.Manifest.Schedule), Created: dir.Manifest.Created}
	last := s.count(runs)
	job, ok, err := dir.Job()
	if err != nil {
		return s, err
	}
	var j slurm.Job
	if ok {
		s.Job = job.ID
		j = askJob(ctx, w, job.ID, dir.Path())
		s.JobState, s.Reason, s.Start = j.State, j.Reason, j.Start
	}
	s.State = decide(s.Done == s.Total, j, dir.Locked())
	if s.State == Running {
		if left, ok := Estimate(runs, s.Total-s.Done); ok {
			sec := left.Seconds()
			s.Remaining = &sec
		}
	}
	if s.State == Failed || s.State == Stopped {
		s.Last = lastWords(dir, last)
	}
	return s, nil
}

// count fills what the stored launches say, and gives the last one that failed.
func (s *Status) count(runs []bench.Run) *bench.Run {
	var last *bench.Run
	for i, r := range runs {
		if !r.OK() {
			s.Failures++
			last = &runs[i]
		}
		if len(r.Nodes) > len(s.Nodes) {
			s.Nodes = r.Nodes
		}
	}
	return last
}

// decide joins what is stored, what Slurm says and who holds the lock.
func decide(complete bool, j slurm.Job, locked bool) State {
	switch {
	case complete:
		return Finished
	case j.Waiting():
		return Pending
	case j.Alive() || locked:
		return Running
	case j.State != "" && j.State != "COMPLETED":
		return Failed
	}
	return Stopped
}

// askJob gives what Slurm still knows of a job: slurmctld forgets it after
// MinJobAge, then accounting may know. A Slurm that does not answer is no
// error: the directory says the rest. Job numbers are used again when Slurm
// is set up anew, hence the look at the comment.
func askJob(ctx context.Context, w World, id, dir string) slurm.Job {
	if out, err := runner.Output(ctx, w.Runner, "scontrol", "show", "job", "-o", id); err == nil {
		if jobs, err := slurm.ParseJobs(string(out)); err == nil && len(jobs) > 0 && (jobs[0].Comment == "" || jobs[0].Comment == "nearmetal "+dir) {
			return jobs[0]
		}
	}
	if out, err := runner.Output(ctx, w.Runner, "sacct", "-X", "-n", "-P", "-j", id, "--format=JobID,State,ExitCode,Start,End,NodeList"); err == nil {
		if jobs, err := slurm.ParseAccounts(string(out)); err == nil && len(jobs) > 0 {
			return jobs[0]
		}
	}
	return slurm.Job{}
}

func lastWords(dir *store.Dir, failed *bench.Run) []string {
	f, err := os.Open(filepath.Join(dir.Path(), LogName))
	if err == nil {
		defer f.Close()
		if lines := lastLines(f, 5); len(lines) > 0 {
			return lines
		}
	}
	if failed != nil {
		return LastLines(dir, failed.Stderr, 5)
	}
	return nil
}
