package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/campaign"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// FetchOptions are the flags of `nearmetal fetch`.
type FetchOptions struct {
	Name    string // run directory or job id; "" is the newest run
	Out     string // copy of the run directory
	Wait    bool
	Partial bool
	JSON    bool
}

func newFetch(d Deps, runF func(context.Context, Deps, FetchOptions) error) *cobra.Command {
	var o FetchOptions
	c := &cobra.Command{
		Use:   "fetch [RUNDIR|JOBID]",
		Short: "the comparison of a submitted run, once it is finished",
		Long: `Show the comparison of a run that nearmetal bench --submit started: the newest,
or the one named. A run that is not finished is refused; --wait waits for it,
and --partial takes what is there.`,
		Example: `  nearmetal fetch
  nearmetal fetch 4711 --wait
  nearmetal fetch 4711 -o results/4711`,
		Args: between(0, 1, "[RUNDIR|JOBID]"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = strings.Join(args, "")
			return runF(c.Context(), d, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Out, "output", "o", "", "copy the run directory to `DIR`")
	f.BoolVar(&o.Wait, "wait", false, "wait until it is finished")
	f.BoolVar(&o.Partial, "partial", false, "take what is there of a run that is not finished")
	f.BoolVar(&o.JSON, "json", false, "the comparison as one JSON document")
	return c
}

// pollEvery is how often --wait asks Slurm: often enough for people, seldom
// enough for slurmctld.
const pollEvery = 5 * time.Second

func runFetch(ctx context.Context, d Deps, o FetchOptions) error {
	path, err := index(d).Find(o.Name)
	if err != nil {
		return err
	}
	w := campaign.World{Runner: d.Runner, Getenv: d.Getenv, Now: d.Now}
	s, err := finishedStatus(ctx, w, path, o)
	if err != nil {
		return err
	}
	path = s.Dir
	if o.Out != "" {
		if err := copyRun(path, o.Out); err != nil {
			return err
		}
		path = o.Out
	}
	fmt.Fprintf(d.Err, "run directory: %s\n", path)
	return showResult(d, path, o.JSON)
}

// finishedStatus waits if it may, and refuses a run that is not finished.
func finishedStatus(ctx context.Context, w campaign.World, path string, o FetchOptions) (campaign.Status, error) {
	for {
		s, err := campaign.StatusOf(ctx, w, path)
		if err != nil || s.State == campaign.Finished || o.Partial && s.Done > 0 {
			return s, err
		}
		under := s.State == campaign.Running || s.State == campaign.Pending
		if !o.Wait || !under {
			hint := nextStep(s)
			if under {
				hint = "nearmetal fetch " + shellescape.Quote(first(s.Job, s.Dir)) + " --wait"
			}
			return s, fail.New(fail.Failed, hint, "%s: %s, %d of %d launches", s.Dir, s.State, s.Done, s.Total)
		}
		select {
		case <-ctx.Done():
			return s, context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

// copyRun copies into a directory that is not there yet; it appears whole.
func copyRun(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fail.Usagef("choose another with -o", "%s: there already", to)
	}
	part := strings.TrimRight(to, "/") + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.CopyFS(part, os.DirFS(from)); err != nil {
		os.RemoveAll(part)
		return err
	}
	return os.Rename(part, to)
}
