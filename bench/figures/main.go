// Figures measures what nearmetal claims about itself, each figure beside its
// peer or limit in the same interleaved run:
//
//	groups (run, launch, bench, compare, cli …) ──→ []Figure ──→ table, figures.json
//
// It is started by scripts/bench.sh: the groups that need Slurm run inside the
// lab, the others on the machine itself, and each adds to the same file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/nearmetal/nearmetal/internal/runner"
)

// setup is where the groups find what they measure.
type setup struct {
	runner runner.Runner
	bin    string        // directory of nearmetal and nearmetal-probe
	image  string        // image for the container arm; "" outside the lab
	n      int           // launches or repeats
	peers  string        // directory of peers that no distribution has, fi_rma_bw; "": none
	window time.Duration // of one transfer measurement
}

// errNotYet marks a group with no measuring code in this tree.
var errNotYet = errors.New("no measurement in this version")

var groups = []struct {
	name    string
	measure func(context.Context, setup) ([]Figure, error)
}{
	{"run", measureRun},
	{"launch", measureLaunch},
	{"launch-cgroup", measureLaunchCgroup},
	{"cli", measureCLI},
	{"compare", measureCompare},
	{"doctor", measureDoctor},
	{"xfer", measureXfer},
}

func main() {
	group := flag.String("group", "run", "group of figures")
	out := flag.String("out", "bench-out/figures.json", "file to add to")
	bin := flag.String("bin", "bin", "directory of the binaries")
	image := flag.String("image", "", "image of the container arm")
	n := flag.Int("n", 20, "launches")
	window := flag.Duration("window", 10*time.Second, "length of one transfer measurement")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, *group, *out, setup{runner.Real{}, *bin, *image, *n, os.Getenv("PEERS_DIR"), *window})
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run measures a group, prints it and adds it to the file. A failed
// measurement is written down as such before the error is returned.
func run(ctx context.Context, group, out string, s setup) error {
	old, err := load(out)
	if err != nil {
		return err
	}
	figures, failed := measure(ctx, group, s)
	why := errNotYet.Error()
	if failed != nil {
		why = "failed: " + failed.Error()
	}
	figures = append(figures, unmeasured(group, figures, why)...)
	if len(figures) == 0 {
		return fmt.Errorf("no group %q", group)
	}
	if errors.Is(failed, errNotYet) {
		failed = nil
	}
	return errors.Join(table(os.Stdout, figures), save(out, old, figures), failed)
}

func measure(ctx context.Context, group string, s setup) ([]Figure, error) {
	for _, g := range groups {
		if g.name == group {
			return g.measure(ctx, s)
		}
	}
	return nil, errNotYet
}
