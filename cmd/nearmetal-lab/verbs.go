package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/lab"
)

func newUp(s streams) *cobra.Command {
	p, o, asJSON := place{s: s}, lab.Options{}, false
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the lab, or make it have this many nodes",
		Example: `  nearmetal-lab up --nodes 2
  nearmetal-lab up --nodes 16 --slurm linuxproc --cpus 4`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := p.open()
			if err != nil {
				return err
			}
			st, err := l.Up(c.Context(), o)
			if err != nil {
				return err
			}
			return show(s.out, st, asJSON)
		},
	}
	p.flags(c)
	c.Flags().IntVar(&o.Nodes, "nodes", 2, fmt.Sprintf("compute nodes, 1 to %d", lab.MaxNodes))
	c.Flags().StringVar(&o.Slurm, "slurm", "", "form of Slurm: cgroup, linuxproc or auto (default auto)")
	c.Flags().IntVar(&o.CPUs, "cpus", 0, fmt.Sprintf("CPUs of each node as Slurm sees them (default: the machine's own with cgroup, %d with linuxproc)", lab.FakeCPUs))
	c.Flags().StringVar(&o.Suite, "suite", "", "Debian suite of the nodes (default "+lab.DefaultSuite+")")
	c.Flags().StringVar(&o.Mirror, "mirror", "", "Debian archive (default: from the machine's apt sources)")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return c
}

func newDown(s streams) *cobra.Command {
	p, all, purge := place{s: s}, false, false
	c := &cobra.Command{
		Use:   "down",
		Short: "End the lab and leave nothing running",
		Example: `  nearmetal-lab down
  nearmetal-lab down --all`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := p.open()
			if err != nil {
				return err
			}
			err = l.Down(c.Context(), purge)
			if err != nil || !all {
				return err
			}
			return downOthers(c, p)
		},
	}
	p.flags(c)
	c.Flags().BoolVar(&all, "all", false, "every lab on this machine, whatever its directory")
	c.Flags().BoolVar(&purge, "purge", false, "also remove the homes, /shared and the root filesystems")
	return c
}

// downOthers ends the labs that run from other directories.
func downOthers(c *cobra.Command, p place) error {
	dirs, err := lab.Standing()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		p.dir, p.cache = dir, ""
		l, openErr := p.open()
		if openErr == nil {
			openErr = l.Down(c.Context(), false)
		}
		err = errors.Join(err, openErr)
	}
	return err
}

func newStatus(s streams) *cobra.Command {
	p, asJSON := place{s: s}, false
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show the lab's nodes; exit code 1 when it is not whole",
		Example: "  nearmetal-lab status --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := p.open()
			if err != nil {
				return err
			}
			st, err := l.Status(c.Context())
			if err == nil {
				err = show(s.out, st, asJSON)
			}
			if err == nil && !st.Up {
				return fail.Exit(fail.Failed)
			}
			return err
		},
	}
	p.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return c
}

func newExec(s streams) *cobra.Command {
	p := place{s: s}
	e := lab.Exec{Stdin: s.in, Stdout: s.out, Stderr: s.err}
	network := "node"
	c := &cobra.Command{
		Use:   "exec [flags] NODE -- CMD [ARG]...",
		Short: "Run a command in a node; its exit code is ours",
		Example: `  nearmetal-lab exec --user alice head -- srun -N2 --mpi=pmix hostname
  nearmetal-lab exec --user alice --net host head -- apptainer build --fakeroot my.sif my.def`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if network != "node" && network != "host" {
				return fail.Usagef("--net node or --net host", "no network is called %q", network)
			}
			e.HostNet, e.Node, e.Argv = network == "host", args[0], args[1:]
			return execIn(c, p, e)
		},
	}
	p.flags(c)
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&e.User, "user", "root", "account of the node: root, alice, bob")
	c.Flags().StringVar(&network, "net", "node", "network: the node's own, or the host's (to reach a package mirror)")
	c.Flags().StringArrayVar(&e.Env, "env", nil, "NAME=value for the command (may be given again)")
	c.Flags().StringVar(&e.Dir, "workdir", "", "directory to start in (default: the user's home)")
	return c
}

func execIn(c *cobra.Command, p place, e lab.Exec) error {
	// Without interspersed flags the separator stays an argument.
	if len(e.Argv) > 0 && e.Argv[0] == "--" {
		e.Argv = e.Argv[1:]
	}
	if len(e.Argv) == 0 {
		return fail.Usagef("nearmetal-lab exec head -- hostname", "no command given")
	}
	l, err := p.open()
	if err != nil {
		return err
	}
	code, err := l.Exec(c.Context(), e)
	if err == nil && code != 0 {
		return fail.Exit(code)
	}
	return err
}

func newRootfs(s streams) *cobra.Command {
	p, suite, mirror := place{s: s}, "", ""
	c := &cobra.Command{
		Use:     "rootfs",
		Short:   "Make the cached root filesystems and print the nodes' path",
		Example: "  nearmetal-lab rootfs",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := p.open()
			if err != nil {
				return err
			}
			roots, err := l.Prepare(c.Context(), suite, mirror)
			if err == nil {
				_, err = fmt.Fprintln(s.out, roots.Node)
			}
			return err
		},
	}
	p.flags(c)
	c.Flags().StringVar(&suite, "suite", lab.DefaultSuite, "Debian suite")
	c.Flags().StringVar(&mirror, "mirror", "", "Debian archive (default: from the machine's apt sources)")
	return c
}

func newBase(s streams) *cobra.Command {
	p, mirror := place{s: s}, ""
	c := &cobra.Command{
		Use:     "base SUITE",
		Short:   "Make a directory to build images from, /shared/bases/SUITE in the lab",
		Example: "  nearmetal-lab base bookworm",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := p.open()
			if err != nil {
				return err
			}
			return l.Base(c.Context(), args[0], mirror)
		},
	}
	p.flags(c)
	c.Flags().StringVar(&mirror, "mirror", "", "Debian archive (default: from the machine's apt sources)")
	return c
}

// show prints a status as a table or as one document.
func show(w io.Writer, st *lab.Status, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(st)
	}
	if len(st.Nodes) == 0 {
		_, err := fmt.Fprintf(w, "no lab is up in %s\n", st.Dir)
		return err
	}
	fmt.Fprintf(w, "lab in %s: Debian %s, Slurm's %s form (%s), %d CPUs a node\n",
		st.Dir, st.Suite, st.Slurm.Mode, st.Slurm.Reason, st.Slurm.CPUs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tADDRESS\tSTATE\tPID")
	for _, n := range st.Nodes {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\n", n.Name, n.Addr, n.State, n.PID)
	}
	return t.Flush()
}
