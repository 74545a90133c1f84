package cli

import (
	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/report"
)

// CompareOptions is what `nearmetal compare` was asked; `report` asks the same.
type CompareOptions struct {
	Runs                    []string // one run directory, or two
	Base                    string   // arm in the denominator; "": chosen
	Other                   string   // arm in the numerator; "": chosen
	Noise                   string   // A/A arm; "": the base's twin when there is one
	Margin                  share
	Confidence              share
	Baseline, WriteBaseline string        // files
	Strict                  bool          // only an equivalent result gives exit code 0
	Statistic               statisticFlag // of a launch's iterations; "" is the median
	JSON                    bool
}

func newCompare(d Deps, runF func(Deps, CompareOptions) error) *cobra.Command {
	var o CompareOptions
	c := &cobra.Command{
		Use:   "compare RUN [RUN]",
		Short: "is the container as fast as native? the statistics of a run",
		Long: `Compare the arms of a run, block by block, or one arm of two runs.

Exit code 3 says that some benchmark is slower than the margin; 0 that none is
shown to be (undecided is no claim of equality: read the verdict).`,
		Example: `  nearmetal compare run1
  nearmetal compare run1 --margin 5% --json
  nearmetal compare before after --base container --other container
  nearmetal compare run1 --write-baseline site/app.json
  nearmetal compare run2 --baseline site/app.json --strict   # in CI: is the updated image equivalent?`,
		Args: between(1, 2, "RUN [RUN]"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Runs = args
			return runF(d, o)
		},
	}
	compareFlags(c, &o)
	c.Flags().StringVar(&o.Baseline, "baseline", "", "hold the run's ratios against those in `FILE` instead of against 1")
	c.Flags().StringVar(&o.WriteBaseline, "write-baseline", "", "keep the run's ratios in `FILE`")
	c.Flags().BoolVar(&o.Strict, "strict", false, "exit code 3 unless equivalence is shown")
	return c
}

// compareFlags are the flags of compare and report.
func compareFlags(c *cobra.Command, o *CompareOptions) {
	o.Margin, o.Confidence = compare.DefaultMargin, compare.DefaultConfidence
	c.Flags().Var(&o.Margin, "margin", "largest ratio that counts as equal: 2% accepts 1/1.02 to 1.02")
	c.Flags().Var(&o.Confidence, "confidence", "of the intervals")
	c.Flags().StringVar(&o.Base, "base", "", "`ARM` to compare with (native; of two runs: the container)")
	c.Flags().StringVar(&o.Other, "other", "", "`ARM` that is compared (container)")
	c.Flags().StringVar(&o.Noise, "noise", "", "`ARM` that repeats the base, for the noise floor (BASE-again)")
	o.Statistic = bench.Median
	c.Flags().Var(&o.Statistic, "statistic", "what of its iterations stands for a launch: median, mean (as OSU prints it) or p99")
	c.Flags().BoolVar(&o.JSON, "json", false, "one JSON document")
}

func runCompare(d Deps, o CompareOptions) error {
	r, err := loadReport(o)
	if err != nil {
		return err
	}
	if err := againstBaseline(o, &r); err != nil {
		return err
	}
	if o.JSON {
		err = report.ComparisonJSON(d.Out, r.Comparison)
	} else {
		err = r.Term(d.Out, termStyle(d))
	}
	if err == nil && (r.Comparison.Regression || o.Strict && r.Comparison.Verdict != compare.Equivalent) {
		return fail.Exit(fail.Findings)
	}
	return err
}

func termStyle(d Deps) report.Style { return report.Style{Color: d.Color, Width: min(d.Width, 120)} }
