package report

import (
	"fmt"

	"github.com/nearmetal/nearmetal/internal/compare"
)

// method says in one paragraph how the numbers were made.
func method(c compare.Comparison) string {
	s := "The unit of replication is the launch: a launch's repetitions are reduced to their " + oneValue(c.Statistic) + ". "
	if c.Design == compare.Blocked {
		s += fmt.Sprintf("Each block holds one launch of each arm in random order in one allocation, so that drift of the machine cancels. "+
			"The ratio at a size is the Hodges–Lehmann centre of the blocks' log ratios %s ÷ %s, with the exact Wilcoxon signed-rank interval at %s confidence or the next level above it. ", c.Other, c.Base, percent(c.Confidence))
	} else {
		s += fmt.Sprintf("The two runs share no blocks, so that drift between them does not cancel. The ratio at a size is the Hodges–Lehmann shift of the launches' logs, %s ÷ %s, with the exact Mann–Whitney interval at %s confidence or the next level above it. ", c.Other, c.Base, percent(c.Confidence))
	}
	s += fmt.Sprintf("Equivalent: the whole interval lies within ±%s (two one-sided tests). Slower or faster: the interval excludes 1. Undecided: neither could be shown, which is no claim of equality. "+
		"“Different somewhere” over a benchmark's sizes is corrected by Holm's method; “equivalent at every size” needs no correction. ", percent(c.Margin))
	if c.NoiseArm != "" {
		return s + fmt.Sprintf("The noise floor is the interval of %s ÷ %s, the same program measured twice.", c.NoiseArm, c.Base)
	}
	return s + "No arm was measured twice, so the noise floor is not known."
}
