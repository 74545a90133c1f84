package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/lab"
	"github.com/nearmetal/nearmetal/internal/runner"
)

// version is set by the linker as nearmetal's own is.
var version = "dev"

type streams struct {
	in, out, err *os.File
	getenv       func(string) string
}

// place is where the lab lives; every verb takes it.
type place struct {
	dir, cache string
	s          streams
}

func (p *place) flags(c *cobra.Command) {
	c.Flags().StringVar(&p.dir, "dir", lab.DefaultDir(p.s.getenv), "directory of the lab ($NEARMETAL_LAB_DIR)")
	c.Flags().StringVar(&p.cache, "cache", p.s.getenv("NEARMETAL_LAB_CACHE"), "directory of the root filesystems, that of the lab when empty ($NEARMETAL_LAB_CACHE)")
}

func (p *place) open() (*lab.Lab, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return lab.Open(lab.System(lab.Lab{Dir: p.dir, Cache: p.cache, Self: self, Talk: p.s.err, Run: runner.Real{}}))
}

// run is the command line; it gives the exit code.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	tell(s.err, err)
	return fail.Code(err)
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "nearmetal-lab",
		Short:         "A real Slurm cluster on this machine, for trying and testing",
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fail.Usagef(c.CommandPath()+" --help", "%w", err)
	})
	root.AddCommand(newUp(s), newDown(s), newStatus(s), newExec(s), newFault(s), newRootfs(s), newBase(s))
	for _, c := range append(root.Commands(), root) {
		c.Args = usage(c.Args)
	}
	return root
}

// usage gives complaints about the number of arguments exit code 2.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return fail.Usagef(c.CommandPath()+" --help", "%w", err)
		}
		return nil
	}
}

func tell(w *os.File, err error) {
	if err == nil || quiet(err) {
		return
	}
	fmt.Fprintf(w, "error: %s\n", strings.TrimRight(err.Error(), "\n"))
	if hint := fail.Hint(err); hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
}

// quiet says that the failure has been shown already (a command's own status).
func quiet(err error) bool {
	var e *fail.Error
	return errors.As(err, &e) && e.Quiet
}
