package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/bench/app"
	"github.com/nearmetal/nearmetal/bench/probe"
	"github.com/nearmetal/nearmetal/internal/campaign"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/store"
)

// BenchOptions are the flags of `nearmetal bench`.
type BenchOptions struct {
	launchFlags
	Suites                  []string
	Arms                    []string
	Blocks, Warmups         int
	Seed                    uint64
	Out, Resume, NativeBin  string
	ImageBin, Root          string
	Timeout                 string
	Submit, JSON, NoCompare bool
	stopFlags
	Retries   int
	NoExplain bool
	seedGiven bool
}

const benchExample = `  nearmetal bench mpi --image app.sif -N 2 -o run1
  nearmetal bench mpi --image app.sif -N 2 --blocks 20 -t 1:00:00 --submit
  nearmetal bench mpi --image app.sif -N 2 --precision 1% --budget 10m
  nearmetal bench osu --image app.sif -N 2 \
      --native-bin ~/omb/bin --image-bin /opt/omb/bin
  nearmetal bench --resume run1
  nearmetal status; nearmetal fetch; nearmetal compare run1`

func newBench(d Deps, runF func(context.Context, Deps, BenchOptions) error) *cobra.Command {
	var o BenchOptions
	c := &cobra.Command{
		Use:     "bench SUITE... --image IMG [flags]",
		Short:   "measure an image beside the native program on the same nodes",
		Example: benchExample,
		Long: `Measure an image beside the native program. A block launches every arm once, in
random order; all blocks run in one allocation, and all raw output is kept in a
run directory. Outside a job it asks Slurm for nodes (salloc), or with --submit
leaves a job behind (sbatch) and returns at once.

Suites:
` + suiteHelp() + `
Arms:
  native        the program of the node
  native-again  the same once more: what this machine calls "no difference"
  container     the program in the image
  unpacked      the image's own program and libraries without a container
                (--root DIR, from apptainer build --sandbox DIR app.sif)

The native MPI probe is nearmetal-probe beside nearmetal or in PATH; compile it
with the site's own MPI:
  mpicc ` + probe.Build + ` -o nearmetal-probe bench/probe/src/*.c ` + probe.Libs + `

With --precision the run ends when every interval is narrow enough, with --budget when
its time is spent, at --blocks at the latest (100 unless given). It looks at the widths
only, never at which arm is faster, which would bias the verdict.

A run that was interrupted is finished by --resume; no complete launch is
repeated.`,
		RunE: func(c *cobra.Command, args []string) error {
			o.Suites = args
			o.seedGiven = c.Flags().Changed("seed")
			if (o.Precision > 0 || o.Budget != "") && !c.Flags().Changed("blocks") {
				o.Blocks = mostBlocks
			}
			return runF(c.Context(), d, o)
		},
	}
	o.launchFlags.add(c)
	f := c.Flags()
	f.StringSliceVar(&o.Arms, "arms", []string{"native", "native-again", "container"}, "`ARMS` of a block, with commas between")
	f.IntVar(&o.Blocks, "blocks", 10, "`NUMBER` of blocks that count: launches of each arm")
	f.IntVar(&o.Warmups, "warmups", 1, "`NUMBER` of blocks before those, which do not count")
	f.Uint64Var(&o.Seed, "seed", 0, "`NUMBER` that the order of launches comes from (default: random, and stored)")
	f.StringVarP(&o.Out, "output", "o", "", "run directory, a new `DIR` (default runs/DATE-SUITE)")
	f.StringVar(&o.Resume, "resume", "", "finish what is missing in the run directory `DIR`")
	f.StringVar(&o.NativeBin, "native-bin", "", "`DIR` of the native programs (default: nearmetal's own, then PATH)")
	f.StringVar(&o.ImageBin, "image-bin", "", "`DIR` of the programs in the image (default: the image's PATH)")
	f.StringVar(&o.Root, "root", "", "`DIR` where the image is unpacked, for the arm unpacked")
	f.StringVar(&o.Timeout, "timeout", "10m", "longest `TIME` of one launch, 90s or 10m")
	o.stopFlags.add(f)
	f.IntVar(&o.Retries, "retries", 2, "starts of a launch after one that failed; each is recorded")
	f.BoolVar(&o.NoExplain, "no-explain", false, "leave out the launches that are not timed and tell what the libraries chose")
	f.BoolVar(&o.Submit, "submit", false, "leave a job behind (sbatch) and return at once")
	f.BoolVar(&o.NoCompare, "no-compare", false, "do not show the comparison at the end")
	f.BoolVar(&o.JSON, "json", false, "one JSON document instead of text")
	return c
}

func suiteHelp() string {
	var out strings.Builder
	for _, s := range campaign.Suites {
		fmt.Fprintf(&out, "  %-5s %s\n", s.Name, s.About)
	}
	fmt.Fprintf(&out, "  %-5s %s\n", "app:X", "any program with a declared metric: X is a YAML file or one of "+strings.Join(app.Names(), ", "))
	return out.String()
}

func runBench(ctx context.Context, d Deps, o BenchOptions) error {
	w := campaign.World{Runner: d.Runner, Getenv: d.Getenv, Now: d.Now}
	dir, err := benchDir(d, o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if whole, err := complete(dir); err != nil || whole {
		return finish(d, dir, o, err)
	}
	switch {
	case o.Submit:
		return submit(ctx, d, w, dir, self, o.JSON)
	case d.Getenv("SLURM_JOB_ID") == "" && d.Getenv(campaign.InsideVar) == "":
		if _, err := d.Runner.Look("salloc"); err != nil {
			return fail.Missingf("run it where Slurm's client commands are, or try nearmetal-lab up", "salloc: not found in PATH")
		}
		if dir.Locked() {
			return dir.Lock("") // says who holds it
		}
		err := campaign.Allocate(ctx, w, dir, self, allocateFlags(o), d.Out, d.Err)
		if errors.Is(err, campaign.ErrRefused) && o.Resume == "" {
			return errors.Join(err, dir.Discard())
		}
		return err
	}
	return benchHere(ctx, d, w, dir, o)
}

// allocateFlags are what the bench inside the allocation must know too.
func allocateFlags(o BenchOptions) []string {
	var out []string
	if o.JSON {
		out = append(out, "--json")
	}
	if o.NoCompare {
		out = append(out, "--no-compare")
	}
	return out
}

// benchHere carries out what is missing inside the allocation around us.
func benchHere(ctx context.Context, d Deps, w campaign.World, dir *store.Dir, o BenchOptions) error {
	if err := campaign.NoteJob(w, dir); err != nil {
		return err
	}
	p := newLaunchProgress(d, dir.Path())
	err := campaign.Execute(ctx, w, dir, campaign.Who(d.Getenv), p.launch)
	p.clear()
	if err != nil {
		if ctx.Err() != nil {
			return fail.New(fail.Failed, "nearmetal bench --resume "+shellescape.Quote(dir.Path()), "stopped; complete launches are kept")
		}
		return err
	}
	return finish(d, dir, o, nil)
}

// complete says whether nothing is left to do: no nodes are asked for then.
func complete(dir *store.Dir) (bool, error) {
	if _, stopped, err := dir.Stopped(); stopped || err != nil {
		return stopped, err
	}
	runs, err := dir.Runs()
	return len(runs) == len(dir.Manifest.Schedule), err
}

func finish(d Deps, dir *store.Dir, o BenchOptions, err error) error {
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Err, "run directory: %s\n", dir.Path())
	if o.NoCompare {
		return nil
	}
	return showResult(d, dir.Path(), o.JSON)
}

// benchDir opens the run directory to resume, or makes a new one.
func benchDir(d Deps, o BenchOptions) (*store.Dir, error) {
	if o.Resume != "" {
		if len(o.Suites) > 0 || o.Image != "" || o.Out != "" {
			return nil, fail.Usagef("nearmetal bench --resume "+shellescape.Quote(o.Resume), "--resume takes everything from the run directory")
		}
		return store.Open(o.Resume)
	}
	if len(o.Suites) == 0 {
		return nil, fail.Usagef("nearmetal bench mpi --image app.sif -N 2", "no suite named")
	}
	design, err := o.design(d)
	if err != nil {
		return nil, err
	}
	path := o.Out
	if path == "" {
		path = filepath.Join("runs", d.Now().Format("20060102-150405")+"-"+strings.Join(o.Suites, "-"))
	}
	dir, err := campaign.New(path, design)
	if err != nil {
		return nil, err
	}
	return dir, remember(d, dir, "")
}

// remember puts the run into the index; a home without room is no reason to stop.
func remember(d Deps, dir *store.Dir, job string) error {
	err := index(d).Add(campaign.Entry{Dir: dir.Path(), Job: job, Created: dir.Manifest.Created})
	if err != nil {
		fmt.Fprintf(d.Err, "warning: nearmetal status will not list this run: %v\n", err)
	}
	return nil
}

func index(d Deps) campaign.Index {
	return campaign.Index{Dir: filepath.Join(stateHome(d), "nearmetal", "runs")}
}

type submitted struct {
	Schema string `json:"schema"`
	Job    string `json:"job"`
	Dir    string `json:"dir"`
}

func submit(ctx context.Context, d Deps, w campaign.World, dir *store.Dir, self string, asJSON bool) error {
	job, err := campaign.Submit(ctx, w, dir, self)
	if err != nil {
		return err
	}
	if err := remember(d, dir, job.ID); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(d.Out).Encode(submitted{"nearmetal/submitted/v1", job.ID, dir.Path()})
	}
	fmt.Fprintln(d.Out, job.ID)
	fmt.Fprintf(d.Err, "run directory: %s\nhint: nearmetal status %s, then nearmetal fetch %s\n", dir.Path(), job.ID, job.ID)
	return nil
}

func (o BenchOptions) timeout() (time.Duration, error) {
	d, err := time.ParseDuration(o.Timeout)
	if err != nil || d < time.Second {
		return 0, fail.Usagef("--timeout 10m", "timeout %q: not a time of a second or more", o.Timeout)
	}
	return d, nil
}
