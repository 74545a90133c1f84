package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/defs"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// DefOptions is what `nearmetal def` was asked.
type DefOptions struct {
	Recipe string
	Base   string // another base than the recipe's
	Output string // "" and "-": stdout
	Site   defs.Site
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
	siteFlags(c, &o.Site)
	return c
}

// siteFlags are what a host without network brings to a build.
func siteFlags(c *cobra.Command, s *defs.Site) {
	c.Flags().StringVar(&s.SpackRoot, "spack-root", "", "take Spack from `DIR` instead of cloning it (provider: spack)")
	c.Flags().StringVar(&s.Mirror, "mirror", "", "take sources from this Spack mirror first: `DIR` or URL (provider: spack)")
}

// absSite makes the folders absolute, so that Apptainer finds them.
func absSite(s defs.Site) (defs.Site, error) {
	for _, p := range []*string{&s.SpackRoot, &s.Mirror} {
		if *p == "" || strings.Contains(*p, "://") {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return s, err
		}
		if info, err := os.Stat(abs); err != nil || !info.IsDir() {
			return s, fail.Missingf("ls -ld "+shellescape.Quote(abs), "%s is not a folder that can be read", *p)
		}
		*p = abs
	}
	return s, nil
}

func baseFlag(c *cobra.Command, p *string) {
	c.Flags().StringVar(p, "base", "", "another base than the recipe's, `KIND:WHAT`: docker:debian:trixie-slim, localimage:/path or debootstrap:SUITE@MIRROR")
}

func runDef(d Deps, o DefOptions) error {
	site, err := absSite(o.Site)
	if err != nil {
		return err
	}
	src, err := loadRecipe(o.Recipe, o.Base, site)
	if err != nil {
		return err
	}
	if o.Output == "" || o.Output == "-" {
		_, err := io.WriteString(d.Out, src.def.Text)
		return err
	}
	return writeFile(o.Output, []byte(src.def.Text))
}
