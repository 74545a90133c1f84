package campaign

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/nearmetal/nearmetal/internal/runner"
)

// hold keeps a container open on every node for each arm whose ranks join one,
// in steps of its own: what a step of ours started would end with that step
// (proctrack/cgroup). The function that it returns ends them and waits. Nothing
// waits for them to be there, and their failure is none of the campaign's: a
// launch that finds no container starts one itself.
func (e *executor) hold(ctx context.Context) (release func(), err error) {
	var ends []io.Closer
	var all sync.WaitGroup
	release = func() {
		for _, c := range ends {
			c.Close()
		}
		all.Wait()
	}
	for _, a := range e.dir.Manifest.Arms {
		argv, err := a.Plan.Hold(e.dir.Manifest.Job.Nodes)
		if err != nil {
			release()
			return nil, err
		}
		if argv == nil {
			continue
		}
		in, out := io.Pipe()
		ends = append(ends, out)
		cmd := runner.Cmd{Argv: argv, Env: a.Plan.Environ(e.world.Getenv("PATH")), Stdin: in, Own: true, Tied: true, Grace: 10 * time.Second}
		all.Go(func() {
			_, _ = e.world.Runner.Run(ctx, cmd)
			in.Close()
		})
	}
	return release, nil
}

// InStep says whether Slurm's step id is that of an srun step.
func InStep(id string) bool { return isStep(id) }
