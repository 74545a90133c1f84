// Package bench holds the values that benchmarking passes along, and the
// schedule that makes a comparison fair.
//
//	Case × Arm ──Schedule──→ []Launch ──(cli: slurm, runner)──→ Run + raw output ──suite.Parse──→ []Sample ──→ compare
//
// The unit of replication is the launch, not the iteration inside one: two
// iterations of one launch share their nodes, pages, ports and luck, so they
// say nothing about the next launch. The package does no effects; it knows
// neither Slurm nor Apptainer.
package bench

import "time"

// NoSize marks a sample of a benchmark that has no message size (barrier, init).
const NoSize int64 = -1

// WarmUp is the block number of launches that are run and kept but not compared.
const WarmUp = -1

// Case is one program with its arguments on a shape of nodes and ranks, run
// alike in every arm.
type Case struct {
	Suite   string   `json:"suite"`         // "mpi", "osu"
	Name    string   `json:"name"`          // unique in a run: "1 node, 2 ranks"
	Nodes   int      `json:"nodes"`         // number of nodes
	Ranks   int      `json:"ranks"`         // MPI ranks in all
	Program string   `json:"program"`       // base name, found on the arm's own search path
	Args    []string `json:"args"`          // arguments, never parsed by a shell
	App     *App     `json:"app,omitempty"` // what its output means, for suite "app"
}

// App says how any program's output becomes samples.
type App struct {
	Name    string   `json:"name"`              // benchmark of the samples
	Scaling string   `json:"scaling,omitempty"` // "strong", "weak" or ""
	Check   string   `json:"check,omitempty"`   // regular expression that a right output matches
	Metrics []Metric `json:"metrics"`
}

// Metric is one number of a program's output. Without Regexp and JSON it is
// the launch's wall time in seconds.
type Metric struct {
	Name   string `json:"name" yaml:"name"`                         // "solve"
	Unit   string `json:"unit" yaml:"unit"`                         // "s", "GFLOP/s"; HigherIsBetter knows the rates
	Regexp string `json:"regexp,omitempty" yaml:"regexp,omitempty"` // its first group is the number; the last match counts
	JSON   string `json:"json,omitempty" yaml:"json,omitempty"`     // path in the last JSON line that has it: "result.time"
}

// Launch is one planned start of a case in an arm.
type Launch struct {
	ID    int    `json:"id"`    // order of execution, from 0
	Block int    `json:"block"` // from 0; WarmUp for a warm-up
	Arm   string `json:"arm"`   // "native", "native-again", "container", "unpacked"
	Case  string `json:"case"`  // Case.Name
}

// Run is a launch that was carried out.
type Run struct {
	Launch
	Argv   []string  `json:"argv"`             // what was started
	Env    []string  `json:"env,omitempty"`    // NAME=value added to the environment
	Nodes  []string  `json:"nodes,omitempty"`  // node names, when known
	Facts  string    `json:"facts,omitempty"`  // digest of the site's facts
	Exit   int       `json:"exit"`             // exit code as a shell reports it
	Error  string    `json:"error,omitempty"`  // why it did not run or could not be parsed
	Start  time.Time `json:"start"`            // wall clock
	End    time.Time `json:"end"`              // wall clock
	Stdout string    `json:"stdout,omitempty"` // raw output, path below the run directory
	Stderr string    `json:"stderr,omitempty"`
	Failed []Attempt `json:"failed,omitempty"` // starts that failed before this one, in order
}

// Attempt is a start of a launch that failed and was made again.
type Attempt struct {
	Exit int    `json:"exit"`
	Why  string `json:"why"` // one line
}

// OK says whether a run gave a result that counts.
func (r Run) OK() bool { return r.Exit == 0 && r.Error == "" }

// Sample is one value of one launch.
type Sample struct {
	Suite     string  `json:"suite"`     // "mpi", "osu"
	Benchmark string  `json:"benchmark"` // "latency", "bw", "allreduce", "init"
	Placement string  `json:"placement"` // Case.Name: "1 node, 2 ranks"
	Metric    string  `json:"metric"`    // "latency", "bandwidth", "p99", "time"
	Unit      string  `json:"unit"`      // "us", "ms", "s", "MB/s", "GB/s", "msg/s"
	Size      int64   `json:"size"`      // message size in bytes; NoSize when there is none
	Arm       string  `json:"arm"`
	Block     int     `json:"block"`
	Launch    int     `json:"launch"` // Launch.ID
	Value     float64 `json:"value"`
}

// HigherIsBetter says which way a unit improves: rates up, times down.
func HigherIsBetter(unit string) bool {
	switch unit {
	case "MB/s", "GB/s", "MiB/s", "GiB/s", "Gbit/s", "msg/s", "op/s", "GFLOP/s":
		return true
	}
	return false
}
