// Nearmetal-lab runs a real Slurm cluster on this machine, in namespaces:
// slurmctld, slurmd, munged, PMIx, Open MPI and Apptainer.
//
//	nearmetal-lab up --nodes 2
//	nearmetal-lab exec --user alice head -- srun -N2 --mpi=pmix hostname
//	nearmetal-lab down
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/nearmetal/nearmetal/internal/lab"
)

func main() {
	// A second start of ourselves inside new namespaces is no command line.
	if code, ok := lab.Child(context.Background(), os.Args); ok {
		os.Exit(code)
	}
	os.Exit(mainCode())
}

func mainCode() int {
	ctx := context.Background()
	// exec passes signals on to its command; the other verbs stop at them.
	if verb(os.Args[1:]) != "exec" {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
	}
	return run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr, os.Getenv})
}

// verb is the first argument, as no flag may stand before it.
func verb(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
