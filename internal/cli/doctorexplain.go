package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/check"
	"github.com/nearmetal/nearmetal/internal/fail"
)

func newExplain(d Deps, runF func(Deps, []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE…]",
		Short: "what a cause means, how it is recognised and fixed; without a code, all of them",
		Example: `  nearmetal doctor explain VRB001
  nearmetal doctor explain memlock-limit
  nearmetal doctor explain`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return runF(d, args) },
	}
}

func runExplain(d Deps, names []string) error {
	doc, err := check.New(check.All())
	if err != nil {
		return err
	}
	if len(names) == 0 {
		t := tabwriter.NewWriter(d.Out, 0, 0, 2, ' ', 0)
		for _, c := range doc.Checks() {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Code, c.Severity, c.Key, c.Title)
		}
		return t.Flush()
	}
	for i, name := range names {
		c, ok := doc.Find(name)
		if !ok {
			return fail.Usagef("nearmetal doctor explain   # lists all", "no cause %q", name)
		}
		if i > 0 {
			fmt.Fprintln(d.Out)
		}
		if err := check.Explain(d.Out, c, check.TextStyle{Color: d.Color, Width: min(d.Width, 120)}); err != nil {
			return err
		}
	}
	return nil
}
