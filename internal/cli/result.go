package cli

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"

	"github.com/nearmetal/nearmetal/internal/compare"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// showResult ends a bench or a fetch with the comparison. A container that is
// slower is a result here, not a failure: compare gives exit code 3.
func showResult(d Deps, path string, asJSON bool) error {
	err := runCompare(d, CompareOptions{
		Runs: []string{path}, Margin: compare.DefaultMargin, Confidence: compare.DefaultConfidence, JSON: asJSON,
	})
	if fail.Code(err) == fail.Findings {
		err = nil
	}
	if err == nil {
		fmt.Fprintf(d.Err, "hint: nearmetal report %s -o report.html\n", shellescape.Quote(path))
	}
	return err
}
