package cli

import (
	"fmt"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/campaign"
)

// launchProgress tells of launches on stderr: one line drawn again on a terminal,
// a line for each launch elsewhere.
type launchProgress struct {
	d    Deps
	runs []bench.Run
}

func newLaunchProgress(d Deps) *launchProgress { return &launchProgress{d: d} }

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
	how := "ok"
	if !r.OK() {
		how = fmt.Sprintf("failed (exit code %d) %s", r.Exit, r.Error)
	}
	fmt.Fprintf(p.d.Err, "[%d/%d] %s: %s, %.1f s%s\n", done, total, campaign.Label(r.Launch), how, r.End.Sub(r.Start).Seconds(), p.left(total-done))
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
