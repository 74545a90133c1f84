package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// version is set by the linker as nearmetal's own is.
var version = "dev"

type streams struct{ out, err io.Writer }

// run is the command line; it gives the exit code.
func run(ctx context.Context, args []string, out, talk io.Writer) int {
	root := newRoot(streams{out, talk})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(talk, "error:", err)
		if hint := fail.Hint(err); hint != "" {
			fmt.Fprintln(talk, "hint:", hint)
		}
	}
	return fail.Code(err)
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use: "nearmetal-xfer", Short: "Scattered pages over every NIC: timed by the receiver, every page verified",
		Version: version, SilenceErrors: true, SilenceUsage: true,
	}
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fail.Usagef(c.CommandPath()+" --help", "%w", err)
	})
	root.AddCommand(newServer(s), newClient(s))
	for _, c := range root.Commands() {
		c.Args = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fail.Usagef(c.CommandPath()+" --help", "unknown argument %q", args[0])
			}
			return nil
		}
	}
	return root
}
