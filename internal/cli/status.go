package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/campaign"
)

// StatusOptions are the flags of `nearmetal status`.
type StatusOptions struct {
	Name string // run directory or job id; "" lists the runs that are known
	JSON bool
}

func newStatus(d Deps, runF func(context.Context, Deps, StatusOptions) error) *cobra.Command {
	var o StatusOptions
	c := &cobra.Command{
		Use:   "status [RUNDIR|JOBID]",
		Short: "where runs stand, also when the shell that started them is gone",
		Long: `Show the runs that nearmetal bench started, the newest first; or one of them,
with the time that it still needs, the end of its log and the command that comes
next.`,
		Example: `  nearmetal status
  nearmetal status 4711
  nearmetal status runs/20261130-120000-mpi --json`,
		Args: between(0, 1, "[RUNDIR|JOBID]"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = strings.Join(args, "")
			return runF(c.Context(), d, o)
		},
	}
	c.Flags().BoolVar(&o.JSON, "json", false, "one JSON document")
	return c
}

type statusList struct {
	Schema string            `json:"schema"`
	Runs   []campaign.Status `json:"runs"`
}

func runStatus(ctx context.Context, d Deps, o StatusOptions) error {
	w := campaign.World{Runner: d.Runner, Getenv: d.Getenv, Now: d.Now}
	if o.Name == "" {
		return listStatus(ctx, d, w, o.JSON)
	}
	path, err := index(d).Find(o.Name)
	if err != nil {
		return err
	}
	s, err := campaign.StatusOf(ctx, w, path)
	if err != nil {
		return err
	}
	if o.JSON {
		return writeJSON(d.Out, s)
	}
	tellStatus(d.Out, s)
	return nil
}

// listed is how many of the newest runs are shown.
const listed = 20

func listStatus(ctx context.Context, d Deps, w campaign.World, asJSON bool) error {
	entries, err := index(d).List()
	if err != nil {
		return err
	}
	list := statusList{Schema: "nearmetal/status-list/v1", Runs: []campaign.Status{}}
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.Dir] || len(list.Runs) == listed {
			continue
		}
		seen[e.Dir] = true
		// Runs that were deleted are passed over.
		if s, err := campaign.StatusOf(ctx, w, e.Dir); err == nil {
			list.Runs = append(list.Runs, s)
		}
	}
	if asJSON {
		return writeJSON(d.Out, list)
	}
	if len(list.Runs) == 0 {
		fmt.Fprintln(d.Err, "no runs are known; nearmetal bench mpi --image IMG --submit makes one")
		return nil
	}
	return tableOfRuns(d.Out, list.Runs)
}

func tableOfRuns(w io.Writer, runs []campaign.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tSTATE\tLAUNCHES\tFAILED\tRUN DIRECTORY")
	for _, s := range runs {
		fmt.Fprintf(t, "%s\t%s\t%d/%d\t%d\t%s\n", first(s.Job, "-"), s.State, s.Done, s.Total, s.Failures, s.Dir)
	}
	return t.Flush()
}

func tellStatus(w io.Writer, s campaign.Status) {
	fmt.Fprintf(w, "%s: %d of %d launches", s.State, s.Done, s.Total)
	if s.Failures > 0 {
		fmt.Fprintf(w, ", %d of them failed", s.Failures)
	}
	if s.Remaining != nil {
		fmt.Fprintf(w, ", about %s left", time.Duration(*s.Remaining*float64(time.Second)).Round(time.Second))
	}
	fmt.Fprintf(w, "\nrun directory: %s\n", s.Dir)
	if s.Job != "" {
		fmt.Fprintf(w, "job: %s\n", strings.TrimSpace(s.Job+" "+s.JobState))
	}
	if s.Reason != "" && s.State == campaign.Pending {
		fmt.Fprintf(w, "waits for: %s\n", s.Reason)
	}
	if s.Start != "" && s.State == campaign.Pending {
		fmt.Fprintf(w, "expected start: %s\n", s.Start)
	}
	for _, l := range s.Last {
		fmt.Fprintf(w, "  %s\n", l)
	}
	if next := nextStep(s); next != "" {
		fmt.Fprintf(w, "next: %s\n", next)
	}
}

// nextStep is the command that helps on.
func nextStep(s campaign.Status) string {
	switch s.State {
	case campaign.Finished:
		return "nearmetal fetch " + shellescape.Quote(first(s.Job, s.Dir))
	case campaign.Stopped, campaign.Failed:
		return "nearmetal bench --resume " + shellescape.Quote(s.Dir) + " (add --submit for a job)"
	}
	return ""
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
