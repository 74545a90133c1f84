package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/nearmetal/nearmetal/internal/image"
)

// follow shows where a build is until the returned function is called: on a
// terminal one line drawn over and over, elsewhere one line a phase.
func follow(d Deps, p *image.Progress, start time.Time) (stop func()) {
	if !d.Terminal {
		p.Change = func(phase string) {
			fmt.Fprintf(d.Err, "%5s  %s\n", round(d.Now().Sub(start)), phase)
		}
		return func() {}
	}
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { draw(d, p, start, quit) })
	return func() {
		close(quit)
		done.Wait()
	}
}

const redraw = 200 * time.Millisecond

func draw(d Deps, p *image.Progress, start time.Time, quit <-chan struct{}) {
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			fmt.Fprint(d.Err, "\r\x1b[K")
			return
		case <-tick.C:
			phase, line := p.Now()
			text := fmt.Sprintf("%5s  %-11s  %s", round(d.Now().Sub(start)), phase, printable(line))
			fmt.Fprintf(d.Err, "\r\x1b[K%s", cut(text, d.Width-1))
		}
	}
}

// cut keeps the first n characters: apt's and Apptainer's lines are ASCII but
// for names, so that a character is a column.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:max(n, 0)])
	}
	return s
}
