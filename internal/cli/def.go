package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// DefOptions is what `nearmetal def` was asked.
type DefOptions struct {
	Recipe string
	Base   string // another base than the recipe's
	Output string // "" and "-": stdout
}

func newDef(d Deps, runF func(Deps, DefOptions) error) *cobra.Command {
	var o DefOptions
	c := &cobra.Command{
		Use:   "def RECIPE",
		Short: "render the Apptainer definition of a recipe",
		Long: `Render the Apptainer definition of a recipe: a file, or the name of one that
comes with nearmetal. The same recipe always gives the same bytes.`,
		Example: `  nearmetal def openmpi-debian
  nearmetal def my.yaml -o my.def
  nearmetal def my.yaml --base localimage:/shared/bases/trixie`,
		Args: exactly(1, "RECIPE"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Recipe = args[0]
			return runF(d, o)
		},
	}
	c.Flags().StringVarP(&o.Output, "output", "o", "", "write to `FILE` instead of stdout")
	baseFlag(c, &o.Base)
	return c
}

func baseFlag(c *cobra.Command, p *string) {
	c.Flags().StringVar(p, "base", "", "another base than the recipe's, `KIND:WHAT`: docker:debian:trixie-slim, localimage:/path or debootstrap:SUITE@MIRROR")
}

func runDef(d Deps, o DefOptions) error {
	src, err := loadRecipe(o.Recipe, o.Base)
	if err != nil {
		return err
	}
	if o.Output == "" || o.Output == "-" {
		_, err := io.WriteString(d.Out, src.def.Text)
		return err
	}
	return writeFile(o.Output, []byte(src.def.Text))
}
