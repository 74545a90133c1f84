package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/campaign"
)

// launchProgress tells of launches on stderr: one line drawn again on a terminal,
// a line for each launch elsewhere.
type launchProgress struct {
	d    Deps
	dir  string // run directory
	runs []bench.Run
}

func newLaunchProgress(d Deps, dir string) *launchProgress { return &launchProgress{d: d, dir: dir} }

func (p *launchProgress) launch(done, total int, l bench.Launch, run *bench.Run) {
	if run != nil {
		p.runs = append(p.runs, *run)
		p.finished(done, total, *run)
		return
	}
	if p.d.Terminal {
		line := fmt.Sprintf("[%d/%d] %s%s", done+1, total, campaign.Label(l), p.left(total-done))
		if w := p.d.Width - 1; len(line) > w && w > 0 {
			line = line[:w]
		}
		fmt.Fprintf(p.d.Err, "\r\033[K%s", line)
	}
}

func (p *launchProgress) finished(done, total int, r bench.Run) {
	if p.d.Terminal && r.OK() {
		return
	}
	p.clear()
	fmt.Fprintf(p.d.Err, "[%d/%d] %s: %s, %.1f s%s\n", done, total, campaign.Label(r.Launch), outcome(r), r.End.Sub(r.Start).Seconds(), p.left(total-done))
	if !r.OK() && r.Stderr != "" {
		fmt.Fprintf(p.d.Err, "  what it said: %s\n", filepath.Join(p.dir, r.Stderr))
	}
}

func outcome(r bench.Run) string {
	switch {
	case r.OK():
		return "ok"
	case r.Error != "":
		return fmt.Sprintf("failed (exit code %d): %s", r.Exit, r.Error)
	}
	return fmt.Sprintf("failed (exit code %d)", r.Exit)
}

// left is the time that the rest takes, by the launches so far.
func (p *launchProgress) left(missing int) string {
	d, ok := campaign.Estimate(p.runs, missing)
	if !ok || missing == 0 {
		return ""
	}
	return ", " + d.Round(time.Second).String() + " left"
}

func (p *launchProgress) clear() {
	if p.d.Terminal {
		fmt.Fprint(p.d.Err, "\r\033[K")
	}
}
