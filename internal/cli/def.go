package cli

import (
	"io"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
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
	c.Flags().StringVar(p, "base", "", "another base than the recipe's: `KIND:WHAT` as in docker:debian:trixie-slim, localimage:/path, debootstrap:SUITE@MIRROR")
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
	if err := renameio.WriteFile(o.Output, []byte(src.def.Text), 0o644); err != nil {
		return fail.New(fail.Failed, "", "%w", err)
	}
	return nil
}

// exactly wants n arguments and names them when they are not there.
func exactly(n int, names string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fail.Usagef(c.CommandPath()+" --help", "%s takes %s, not %d arguments", c.CommandPath(), names, len(args))
	}
}
