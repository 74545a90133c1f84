package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/slurm"
)

// tail passes a stream on at once and keeps its end, for the case that the job
// fails.
type tail struct {
	w    io.Writer
	last []byte
	cut  bool // the beginning is gone
}

const (
	tailBytes = 64 << 10
	screen    = 20 // lines that are surely still in sight
)

func newTail(w io.Writer) *tail { return &tail{w: w} }

// Write passes b on first.
func (t *tail) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	t.last = append(t.last, b...)
	if over := len(t.last) - tailBytes; over > tailBytes {
		t.last = append(t.last[:0], t.last[over:]...)
		t.cut = true
	}
	return n, err
}

// verdict turns how srun ended into our own end: its exit code, and after a
// failure the lines that matter, unless they are in sight anyway.
func (t *tail) verdict(d Deps, res runner.Result) error {
	if res.ExitCode == 0 {
		return nil
	}
	f := slurm.ReadFailure(bytes.NewReader(t.last))
	if f.Refused != "" {
		return fail.New(fail.Launch, f.Hint, "Slurm did not start the step: %s", f.Refused)
	}
	if t.cut || bytes.Count(t.last, []byte("\n")) > screen {
		for _, line := range f.Lines {
			fmt.Fprintln(d.Err, "  "+line)
		}
	}
	fmt.Fprintf(d.Err, "nearmetal: %s\n", f.Sentence(res.ExitCode))
	return fail.Exit(res.ExitCode)
}
