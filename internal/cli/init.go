package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/defs"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// InitOptions is what `nearmetal init` was asked.
type InitOptions struct {
	Dir   string
	From  string
	List  bool
	Force bool
}

func newInit(d Deps, runF func(Deps, InitOptions) error) *cobra.Command {
	o := InitOptions{Dir: "."}
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "write a commented recipe to start from",
		Long: `Write a recipe to start from, NAME.yaml, with every key explained in comments.
It says what an image is made of; nearmetal build makes the image.`,
		Example: `  nearmetal init
  nearmetal init --list
  nearmetal init myproject --from openmpi-debian`,
		Args: between(0, 1, "[DIR]"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Dir = args[0]
			}
			return runF(d, o)
		},
	}
	c.Flags().StringVar(&o.From, "from", "openmpi-debian", "`NAME` of the recipe to copy, one of --list")
	c.Flags().BoolVar(&o.List, "list", false, "list the recipes that come with nearmetal")
	c.Flags().BoolVar(&o.Force, "force", false, "overwrite a recipe that is there")
	return c
}

func runInit(d Deps, o InitOptions) error {
	if o.List {
		return listExamples(d.Out)
	}
	e, ok := defs.FindExample(o.From)
	if !ok {
		return fail.Usagef("nearmetal init --list", "no recipe is called %q", o.From)
	}
	path := filepath.Join(o.Dir, e.Name+".yaml")
	if _, err := os.Lstat(path); err == nil && !o.Force {
		return fail.Usagef("nearmetal init --force "+shellescape.Quote(o.Dir), "%s is there already", path)
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fail.New(fail.Failed, writeHint(filepath.Dir(filepath.Clean(o.Dir)), err), "%w", err)
	}
	if err := writeFile(path, []byte(e.Text)); err != nil {
		return err
	}
	fmt.Fprintf(d.Err, "wrote %s\nnext: nearmetal build %s -o %s.sif\n", path, shellescape.Quote(path), e.Name)
	return nil
}

func listExamples(w io.Writer) error {
	for _, e := range defs.Examples() {
		r, err := defs.Decode(strings.NewReader(e.Text))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-20s %s\n", e.Name, r.Description)
	}
	return nil
}
