package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/slurm"
)

// RunOptions are the flags of `nearmetal run`.
type RunOptions struct {
	launchFlags
	Program                      []string
	DryRun, Explain, Batch, JSON bool
	Label                        bool
}

const runExample = `  nearmetal run -N 2 -n 2 -- hostname
  nearmetal run --image app.sif -N 2 -n 8 -- ./my_app --input "my file"
  nearmetal run --image app.sif -n 4 --env OMP_NUM_THREADS=2 --bind /scratch -- ./my_app
  nearmetal run --image app.sif -N 2 -n 2 --dry-run --explain -- ./my_app
  nearmetal run --image app.sif -N 2 -n 2 --sbatch -- ./my_app > job.sh`

func newRun(d Deps, runF func(context.Context, Deps, RunOptions) error) *cobra.Command {
	var o RunOptions
	c := &cobra.Command{
		Use:     "run [--image IMG] [flags] -- CMD [ARG]...",
		Short:   "launch a program under Slurm, natively or in an image",
		Example: runExample,
		Long: `Launches CMD under Slurm as one job step: natively, or with --image in a container.
The same flags mean the same in both worlds.

The exit code is the program's own; 125 means that nearmetal or Slurm could not start it.
Arguments and environment values reach the program as they are, whatever is in them.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return asLaunch(fail.Usagef("nearmetal run -N 2 -n 2 -- hostname", "no program to run"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.Program = args
			err := runF(c.Context(), d, o)
			if err != nil && !o.DryRun && !o.Batch {
				err = asLaunch(err)
			}
			return err
		},
	}
	// A program may exit with 2 itself: ours is 125, as for env(1) and timeout(1).
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return asLaunch(flagError(c, err)) })
	o.launchFlags.add(c)
	f := c.Flags()
	f.SetInterspersed(false)
	f.BoolVar(&o.Label, "label", false, "begin each line with its rank")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the line that would run, ready to paste, and stop")
	f.BoolVar(&o.Explain, "explain", false, "say on stderr why each part of the line is there")
	f.BoolVar(&o.Batch, "sbatch", false, "print an sbatch script instead of running")
	f.BoolVar(&o.JSON, "json", false, "with --dry-run: the plan as one JSON document")
	return c
}

func runRun(ctx context.Context, d Deps, o RunOptions) error {
	p, err := o.plan(d)
	if err != nil {
		return err
	}
	p.Label, p.Program = o.Label, o.Program
	if o.Explain {
		explain(d, p)
	}
	switch {
	case o.Batch:
		return printScript(d, p)
	case o.DryRun:
		return printPlan(d, p, o.JSON)
	}
	return launch(ctx, d, p)
}

func explain(d Deps, p slurm.Plan) {
	for _, r := range p.Explain() {
		fmt.Fprintf(d.Err, "%s\n    %s\n", r.Part, r.Why)
	}
}

func printScript(d Deps, p slurm.Plan) error {
	s, err := p.Script()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(d.Out, s)
	return err
}

// planDocument is `run --dry-run --json`.
type planDocument struct {
	Schema string         `json:"schema"`
	Plan   slurm.Plan     `json:"plan"`
	Argv   []string       `json:"argv"`
	Env    []string       `json:"env"`
	Line   string         `json:"line"`
	Why    []slurm.Reason `json:"why"`
}

func printPlan(d Deps, p slurm.Plan, asJSON bool) error {
	line, err := p.Line()
	if err != nil {
		return err
	}
	if !asJSON {
		_, err = fmt.Fprintln(d.Out, line)
		return err
	}
	argv, err := p.Argv()
	if err != nil {
		return err
	}
	e := json.NewEncoder(d.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(planDocument{"nearmetal/plan/v1", p, argv, p.Environ(d.Getenv("PATH")), line, p.Explain()})
}

// launch runs the step with our own streams. srun gets the signals that we
// get; its exit code is the program's.
func launch(ctx context.Context, d Deps, p slurm.Plan) error {
	argv, err := p.Argv()
	if err != nil {
		return err
	}
	if err := present(d, p.Target); err != nil {
		return err
	}
	if err := holdBehind(ctx, d, p); err != nil {
		return err
	}
	signals, stop := forwarded(d)
	defer stop()
	tail := newTail(d.Err)
	res, err := d.Runner.Run(context.WithoutCancel(ctx), runner.Cmd{
		Argv: argv, Env: p.Environ(d.Getenv("PATH")),
		Stdin: d.In, Stdout: d.Out, Stderr: tail, Signals: signals,
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", argv[0], err)
	}
	return tail.verdict(d, res)
}

// forwarded gives the signals that srun does not get by itself. Ctrl-C on a
// terminal reaches the whole foreground group; a second copy within a second
// would make srun kill the job instead of reporting (srun(1), SIGNALS).
func forwarded(d Deps) (<-chan os.Signal, func()) {
	signals := make(chan os.Signal, 16)
	list := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	if !d.Interactive {
		list = append(list, os.Interrupt, syscall.SIGQUIT)
	}
	signal.Notify(signals, list...)
	return signals, func() { signal.Stop(signals) }
}

// present looks for srun and the image before Slurm is asked for nodes.
func present(d Deps, t slurm.Target) error {
	if _, err := d.Runner.Look("srun"); err != nil {
		return fail.Missingf("run it where Slurm's client commands are, or try nearmetal-lab up", "srun: not found in PATH")
	}
	if t.Kind != slurm.Container {
		return nil
	}
	if _, err := os.Stat(t.Image); err != nil {
		return fail.Missingf("nearmetal build recipe.yaml -o "+filepath.Base(t.Image), "image: %w", err)
	}
	return nil
}

// asLaunch gives our own failures the code that no program should use; a
// program's own exit code stays.
func asLaunch(err error) error {
	if quiet(err) {
		return err
	}
	return &fail.Error{Code: fail.Launch, Msg: err.Error(), Hint: fail.Hint(err), Err: err}
}

// launchFlags are the flags that `run` and `bench` share.
type launchFlags struct {
	Image, Site, Partition, Account, QOS string
	MPI, CPUBind, Distribution, GPUs     string
	Workdir, Start                       string
	Nodes, Ranks, PerNode, CPUs          int
	Time                                 time.Duration
	Binds, Env, Options, Srun, Modules   []string
	NV, Exclusive, Overlap               bool
	limit                                string
}

func (o *launchFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.Image, "image", "", "image file (.sif) or sandbox directory; without it natively")
	f.StringVar(&o.Site, "site", "", "site settings (default $XDG_CONFIG_HOME/nearmetal/site.yaml)")
	f.IntVarP(&o.Nodes, "nodes", "N", 0, "nodes")
	f.IntVarP(&o.Ranks, "ntasks", "n", 0, "MPI ranks in all")
	f.IntVar(&o.PerNode, "ntasks-per-node", 0, "MPI ranks on each node")
	f.IntVarP(&o.CPUs, "cpus-per-task", "c", 0, "CPUs of a rank")
	f.StringVarP(&o.Partition, "partition", "p", "", "partition")
	f.StringVarP(&o.Account, "account", "A", "", "account")
	f.StringVarP(&o.QOS, "qos", "q", "", "quality of service")
	f.StringVarP(&o.limit, "time", "t", "", "time limit: minutes, H:MM:SS, or 90s, 2h")
	f.StringVar(&o.GPUs, "gpus-per-node", "", "GPUs on each node: 4, h100:4")
	f.StringVar(&o.MPI, "mpi", "", "Slurm's MPI plugin (default pmix)")
	f.StringVar(&o.CPUBind, "cpu-bind", "", "binding of ranks, as srun takes it")
	f.StringVarP(&o.Distribution, "distribution", "m", "", "order of ranks over nodes, as srun takes it")
	f.StringVar(&o.Workdir, "chdir", "", "working directory of the program")
	f.StringArrayVar(&o.Binds, "bind", nil, "SRC[:DEST[:ro]] made visible in the container (repeat)")
	f.StringArrayVar(&o.Env, "env", nil, "NAME=VALUE for the program, or NAME to pass ours (repeat)")
	f.StringArrayVar(&o.Modules, "module", nil, "environment module for a native program (repeat)")
	f.StringArrayVar(&o.Options, "option", nil, "further apptainer exec option (repeat)")
	f.StringArrayVar(&o.Srun, "srun", nil, "further srun option (repeat)")
	f.StringVar(&o.Start, "start", string(slurm.StartAuto), "how ranks get into the container: auto, joined, sharens, exec")
	f.BoolVar(&o.NV, "nv", false, "NVIDIA GPUs in the container")
	f.BoolVar(&o.Exclusive, "exclusive", false, "whole nodes")
	f.BoolVar(&o.Overlap, "overlap", false, "beside another step of the job")
}

// plan is everything but the program.
func (o launchFlags) plan(d Deps) (slurm.Plan, error) {
	limit, err := parseTime(o.limit)
	if err != nil {
		return slurm.Plan{}, err
	}
	p := slurm.Plan{
		Nodes: o.Nodes, Ranks: o.Ranks, PerNode: o.PerNode, CPUsPerTask: o.CPUs,
		Partition: o.Partition, Account: o.Account, QOS: o.QOS, Time: limit,
		GPUsPerNode: o.GPUs, MPI: o.MPI, CPUBind: o.CPUBind, Distrib: o.Distribution,
		Exclusive: o.Exclusive, Overlap: o.Overlap, SrunOptions: o.Srun,
		Target: slurm.Target{Kind: slurm.Native, Modules: o.Modules},
	}
	if o.Workdir != "" {
		if p.Workdir, err = filepath.Abs(o.Workdir); err != nil {
			return p, err
		}
	}
	if p.Env, err = parseEnv(d, o.Env); err != nil {
		return p, err
	}
	if p.Binds, err = parseBinds(o.Binds); err != nil {
		return p, err
	}
	if o.Image != "" {
		if p.Target, err = containerTarget(d, o); err != nil {
			return p, err
		}
	}
	s, err := settings(d, o.Site)
	if err != nil {
		return p, err
	}
	return p, applySite(&p, s)
}
