package cli

import (
	"encoding/json"
	"os"

	"al.essio.dev/pkg/shellescape"
	"github.com/google/renameio/v2"

	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/report"
)

// againstBaseline writes the run's ratios where they are asked for, and holds
// them against a baseline where there is one.
func againstBaseline(o CompareOptions, r *report.Report) error {
	if o.WriteBaseline == "" && o.Baseline == "" {
		return nil
	}
	if len(o.Runs) != 1 {
		return fail.Usagef("nearmetal compare "+shellescape.Quote(o.Runs[0])+" --baseline FILE", "a baseline is of one run")
	}
	c := r.Comparison
	opts := compare.Options{Base: c.Base, Other: c.Other, Margin: c.Margin, Confidence: c.Confidence, Statistic: c.Statistic}
	if o.WriteBaseline != "" {
		text, err := json.Marshal(compare.NewBaseline(r.Samples, opts))
		if err != nil {
			return err
		}
		if err := renameio.WriteFile(o.WriteBaseline, append(text, '\n'), 0o644); err != nil {
			return fail.New(fail.Failed, "", "%w", err)
		}
	}
	if o.Baseline == "" {
		return nil
	}
	f, err := os.Open(o.Baseline)
	if err != nil {
		return fail.Usagef("nearmetal compare "+shellescape.Quote(o.Runs[0])+" --write-baseline "+shellescape.Quote(o.Baseline), "baseline: %w", err)
	}
	defer f.Close()
	b, err := compare.ReadBaseline(f)
	if err != nil {
		return fail.Usagef("write it anew: nearmetal compare RUN --write-baseline "+shellescape.Quote(o.Baseline), "%s: %w", o.Baseline, err)
	}
	next, err := compare.CompareBaseline(b, r.Samples, opts)
	if err != nil {
		return fail.Usagef("--statistic "+b.Statistic, "%s: %w", o.Baseline, err)
	}
	next.Facts = c.Facts
	*r = report.Report{Run: r.Run, Comparison: next}
	return nil
}
