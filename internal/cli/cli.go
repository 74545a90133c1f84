// Package cli is nearmetal's command line: one file per verb, each with an
// options struct, a constructor that only parses, and a run function that does
// the work through the dependencies it is given.
//
// Data goes to stdout and talk to stderr. Errors read `error: …` then
// `hint: …`; exit codes are those of internal/fail.
package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
)

// Version is set by the linker from git describe.
var Version = "dev"

// Deps is what the verbs reach the world through.
type Deps struct {
	In          io.Reader
	Out         io.Writer // data
	Err         io.Writer // talk, progress, errors
	Interactive bool      // In is a terminal
	Terminal    bool      // Err is a terminal: progress may be drawn
	Color       bool      // Out is a terminal and NO_COLOR is not set
	Width       int       // columns of the terminal, 80 when there is none
	Runner      runner.Runner
	Getenv      func(string) string
	Now         func() time.Time
}

// verbs is the catalogue of commands, in the order of the main job.
func verbs(d Deps) []*cobra.Command {
	return []*cobra.Command{
		newInit(d, runInit),
		newDef(d, runDef),
		newLock(d, runLock),
		newBuild(d, runBuild),
		newInspect(d, runInspect),
		newLint(d, runLint),
		newRun(d, runRun),
		newBench(d, runBench),
		newStatus(d, runStatus),
		newFetch(d, runFetch),
		newCompare(d, runCompare),
		newReport(d, runReport),
		newScan(d, runScan),
		newDoctor(d, runDoctor),
		newTopo(d, runTopo),
	}
}

// Main runs the command line and gives the process's exit code.
func Main(ctx context.Context, args []string, d Deps) int {
	root := newRoot(d)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	tell(d.Err, err)
	return fail.Code(err)
}

func newRoot(d Deps) *cobra.Command {
	root := &cobra.Command{
		Use:           "nearmetal",
		Short:         "Does my HPC container run as fast as the bare metal, and if not, why?",
		Example:       rootExample,
		Args:          noVerb,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		Version:       Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(d.In)
	root.SetOut(d.Out)
	root.SetErr(d.Err)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(verbs(d)...)
	setHelp(root, d.Width)
	return root
}

// flagError turns cobra's complaint into exit code 2 with the way to the help.
func flagError(c *cobra.Command, err error) error {
	return fail.Usagef(c.CommandPath()+" --help", "%w", err)
}

// tell prints an error the way every verb does.
func tell(w io.Writer, err error) {
	if err == nil || quiet(err) {
		return
	}
	fmt.Fprintf(w, "error: %s\n", strings.TrimRight(err.Error(), "\n"))
	if hint := fail.Hint(err); hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
}
