// Package store keeps run directories.
//
//	manifest.json              what is to be run: cases, arms with their plans, schedule, seed, image
//	job.json                   the Slurm job that runs it, when there is one
//	raw/NNNN-ARM/stdout        each complete launch, as it came out
//	raw/NNNN-ARM/stderr
//	raw/NNNN-ARM/run.json      command, exit code, times
//	samples.jsonl              read from raw/, for other programs; derived again when in doubt
//	lock                       held by the one that runs (flock(2))
//
// raw/ is the truth. A launch is written into a hidden directory that is
// synced and renamed when it is complete, so that a crash, a SIGKILL or a full
// disk at any moment leaves a directory of complete launches and nothing else
// that counts.
package store

import (
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/slurm"
)

// Schema is what manifest.json declares.
const Schema = "nearmetal/run/v1"

// Manifest says what a run directory is of. It is written once, before the
// first launch, and again when the arms' environment is known.
type Manifest struct {
	Schema   string         `json:"schema"`
	Version  string         `json:"version"` // of nearmetal
	Created  time.Time      `json:"created"`
	Host     string         `json:"host"` // where it was created
	Seed     uint64         `json:"seed"`
	Warmups  int            `json:"warmups"`
	Blocks   int            `json:"blocks"`
	Timeout  time.Duration  `json:"timeout_ns"` // of one launch
	Cases    []bench.Case   `json:"cases"`
	Arms     []Arm          `json:"arms"`
	Schedule []bench.Launch `json:"schedule"`
	Image    *Image         `json:"image,omitempty"`
	Job      slurm.Plan     `json:"job"`               // what the allocation asks for
	Facts    string         `json:"facts,omitempty"`   // digest of the site's facts
	Explain  bool           `json:"explain,omitempty"` // launches that are not timed tell what the libraries chose
	Retries  int            `json:"retries,omitempty"` // how often a failed launch is started again
	Stop     StopRule       `json:"stop,omitzero"`     // when fewer than Blocks are enough
}

// StopRule ends a run before its last block. Zero fields do not count. It looks
// at widths and time, never at which arm is faster: that would bias the verdict.
type StopRule struct {
	Precision  float64       `json:"precision,omitempty"`  // every interval at most ± this, relative
	Confidence float64       `json:"confidence,omitempty"` // of those intervals
	Budget     time.Duration `json:"budget_ns,omitempty"`  // wall time of all launches
	Statistic  string        `json:"statistic,omitempty"`  // of a launch: "median", "mean"
}

// Stopped says why a run ended before its last block.
type Stopped struct {
	Reason string    `json:"reason"`
	Blocks int       `json:"blocks"` // complete ones, warm-ups not counted
	At     time.Time `json:"at"`
}

// Arm is one side of the comparison: the common plan with its target.
type Arm struct {
	Name string     `json:"name"`
	Plan slurm.Plan `json:"plan"`          // without shape and program, which are the case's
	Dir  string     `json:"dir,omitempty"` // where the arm's programs are looked for first
}

// Image identifies the image that was measured.
type Image struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	ID       string    `json:"id,omitempty"` // SIF's UUID, or another digest
}

// Job is the Slurm job that a run was submitted as.
type Job struct {
	ID        string    `json:"id"`
	Cluster   string    `json:"cluster,omitempty"`
	Submitted time.Time `json:"submitted"`
}

// Arm gives the arm of that name.
func (m Manifest) Arm(name string) (Arm, bool) {
	for _, a := range m.Arms {
		if a.Name == name {
			return a, true
		}
	}
	return Arm{}, false
}

// Case gives the case of that name.
func (m Manifest) Case(name string) (bench.Case, bool) {
	for _, c := range m.Cases {
		if c.Name == name {
			return c, true
		}
	}
	return bench.Case{}, false
}
