package probe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Rank says where a rank ran.
type Rank struct {
	Rank   int      `json:"rank"`
	Host   string   `json:"host"`
	CPUs   string   `json:"cpus"`    // affinity mask, "0-3,8"
	CPU    int      `json:"cpu"`     // the one it was on when asked
	PID    int      `json:"pid"`     // in its own pid namespace
	UserNS uint64   `json:"user_ns"` // inodes of /proc/self/ns/*, 0 when unknown
	MntNS  uint64   `json:"mnt_ns"`
	PIDNS  uint64   `json:"pid_ns"`
	IPCNS  uint64   `json:"ipc_ns"`
	InitMS float64  `json:"init_ms"`          // MPI_Init, ms
	AgeMS  *float64 `json:"age_ms,omitempty"` // fork to main, ms in steps of 10; nil when unknown
}

// Env is what the launch ran on.
type Env struct {
	Schema      string  `json:"schema"`
	Version     string  `json:"version"` // of the probe
	MPI         string  `json:"mpi"`     // MPI_Get_library_version
	MPIStandard string  `json:"mpi_standard"`
	PMIx        string  `json:"pmix"`                // "" when MPI did not load it
	UCX         string  `json:"ucx"`                 // likewise
	Libfabric   string  `json:"libfabric"`           // likewise
	World       int     `json:"world"`               // size of MPI_COMM_WORLD
	Pair        [2]int  `json:"pair"`                // ranks of latency, bw, bibw
	Window      int     `json:"window"`              // most messages in flight
	BudgetMS    float64 `json:"budget_ms"`           // per benchmark and size; 0: none
	Optimized   *bool   `json:"optimized,omitempty"` // compiled with -O1 or more; nil when an older probe does not tell
	Ranks       []Rank  `json:"ranks"`
}

// Stats are nearest-rank percentiles over the iterations of a point, in
// microseconds, of the slowest rank (one way for latency, a window of messages
// for bandwidths, over the ranks for init).
type Stats struct {
	N    int     `json:"n"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// Point is one benchmark at one size.
type Point struct {
	Line         int     `json:"-"`
	Bench        string  `json:"bench"`
	Size         int64   `json:"size"`  // bytes; 0 where there is no size
	Value        float64 `json:"value"` // as the OSU program of that name reports it
	Unit         string  `json:"unit"`
	Window       int     `json:"window"`         // messages in flight; 0 where there is no window
	Pairs        int     `json:"pairs"`          // mbw_mr
	MessagesPerS float64 `json:"messages_per_s"` // mbw_mr
	Ranks        int     `json:"ranks"`
	RankMinUS    float64 `json:"rank_min_us"` // mean of the fastest rank
	RankMaxUS    float64 `json:"rank_max_us"` // mean of the slowest rank
	WarmUp       int     `json:"warmup"`
	Errors       int64   `json:"errors"`  // wrong bytes received
	WallMS       float64 `json:"wall_ms"` // verification and warm-up included
	TimeUS       Stats   `json:"time_us"`
}

// Skip is a size that was left out, and why.
type Skip struct {
	Line   int    `json:"-"`
	Bench  string `json:"bench"`
	Size   int64  `json:"size"`
	Reason string `json:"reason"`
}

// End is the last line; without it the output was cut off.
type End struct {
	Points int     `json:"points"`
	Errors int64   `json:"errors"`
	WallMS float64 `json:"wall_ms"`
}

// Warning is a line that was not understood.
type Warning struct {
	Line int
	Text string
}

// Result is one launch.
type Result struct {
	Env      Env
	Points   []Point
	Skipped  []Skip
	End      *End // nil when the output was cut off
	Warnings []Warning
}

// Parse reads the JSON lines of one launch. Lines of other programs before,
// between and after them, and prefixes of srun --label or mpirun --tag-output,
// are passed over; a broken JSON line is a warning. Output that was cut off,
// holds no point or reports wrong data is an error (exit code 1); what could be
// read is in the result all the same.
func Parse(r io.Reader) (Result, error) {
	var res Result
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if perr := res.line(n, line); perr != nil {
			return res, perr
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return res, fail.New(fail.Failed, "", "read probe output after line %d: %w", n, err)
		}
	}
	return res, res.verdict()
}

var marker = []byte(`{"type":`)

// line takes every JSON document of a line: two processes may write into one.
func (r *Result) line(n int, text []byte) error {
	for {
		i := bytes.Index(text, marker)
		if i < 0 {
			return nil
		}
		text = text[i:]
		dec := json.NewDecoder(bytes.NewReader(text))
		var doc json.RawMessage
		if err := dec.Decode(&doc); err != nil {
			r.warn(n, "broken JSON: %v", err)
			text = text[len(marker):]
			continue
		}
		if err := r.take(n, doc); err != nil {
			return err
		}
		text = text[dec.InputOffset():]
	}
}

func (r *Result) warn(n int, format string, args ...any) {
	r.Warnings = append(r.Warnings, Warning{Line: n, Text: fmt.Sprintf(format, args...)})
}

// take sorts a document by its type. A document of the wrong shape is a
// warning; the count in the last line then tells that a point is missing.
func (r *Result) take(n int, doc json.RawMessage) error {
	var kind struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(doc, &kind)
	if err == nil {
		switch kind.Type {
		case "env":
			return r.takeEnv(n, doc)
		case "point":
			p := Point{Line: n}
			if err = json.Unmarshal(doc, &p); err == nil {
				err = r.takePoint(p)
			}
		case "skipped":
			s := Skip{Line: n}
			err = json.Unmarshal(doc, &s)
			r.Skipped = append(r.Skipped, s)
		case "end":
			err = json.Unmarshal(doc, &r.End)
		default:
			err = fmt.Errorf("unknown type %q", kind.Type)
		}
	}
	if err != nil {
		r.warn(n, "%v", err)
	}
	return nil
}

// takeEnv refuses what would make the rest meaningless: another schema, or a
// second launch in the same stream (N singletons instead of one world of N).
func (r *Result) takeEnv(n int, doc json.RawMessage) error {
	var e Env
	if err := json.Unmarshal(doc, &e); err != nil {
		return fail.New(fail.Failed, "", "line %d: probe environment: %w", n, err)
	}
	if e.Schema != Schema {
		return fail.New(fail.Failed, "build the probe from the source that came with nearmetal", "line %d: probe output of schema %q, want %q", n, e.Schema, Schema)
	}
	if r.Env.Schema != "" {
		return fail.New(fail.Failed, "srun --mpi=list; then srun --mpi=pmix", "line %d: a second probe in one output: every rank started a world of its own", n)
	}
	r.Env = e
	return nil
}

func (r *Result) takePoint(p Point) error {
	b, ok := Find(p.Bench)
	switch {
	case !ok:
		return fmt.Errorf("unknown benchmark %q", p.Bench)
	case p.Unit != b.Unit:
		return fmt.Errorf("%s in %q, want %q", p.Bench, p.Unit, b.Unit)
	case !(p.Value > 0) || math.IsInf(p.Value, 0):
		return fmt.Errorf("%s at %d bytes: value %g", p.Bench, p.Size, p.Value)
	case p.Size < 0 || b.Sized == (p.Size == 0):
		return fmt.Errorf("%s: size %d", p.Bench, p.Size)
	}
	r.Points = append(r.Points, p)
	return nil
}

func (r *Result) verdict() error {
	var wrong int64
	for _, p := range r.Points {
		wrong += p.Errors
	}
	switch {
	case r.Env.Schema == "" && len(r.Points) == 0:
		return fail.New(fail.Failed, "look at the launch's stderr", "no probe output")
	case r.Env.Schema == "":
		return fail.New(fail.Failed, "look at the launch's stderr", "probe output without its first line")
	case r.End == nil:
		return fail.New(fail.Failed, "look at the launch's stderr and exit code", "probe output cut off after %d points", len(r.Points))
	case r.End.Points != len(r.Points):
		return fail.New(fail.Failed, "look at the warnings", "probe made %d points, %d could be read", r.End.Points, len(r.Points))
	case wrong > 0 || r.End.Errors > 0:
		return fail.New(fail.Failed, "do not trust these numbers: the data arrived wrong", "%d received bytes were wrong", max(wrong, r.End.Errors))
	}
	return nil
}
