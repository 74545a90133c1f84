package lab

import (
	"context"
	_ "embed" // fault.sh, skew.c
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/nearmetal/nearmetal/internal/fail"
)

//go:embed files/fault.sh
var faultScript []byte

//go:embed files/skew.c
var skewSource []byte

// Fault is something wrong that can be put into a lab on purpose.
type Fault struct {
	Name string
	What string
	// Shared faults lie on what all nodes see and are planted once.
	Shared bool
	// Prolog faults act through Slurm's TaskProlog.
	Prolog bool
	// own plants it from outside of the node; nil: fault.sh does.
	own func(l *Lab, ctx context.Context, node string, on bool) error
}

// Faults is the catalogue, in the order of docs/faults.md.
func Faults() []Fault {
	return []Fault{
		{Name: "memlock", What: "64 KiB of locked memory in every step"},
		{Name: "no-pmix", What: "Slurm's PMIx plugin is missing"},
		{Name: "wrong-gds", What: "PMIX_MCA_gds names a store that PMIx 5 does not have", Prolog: true},
		{Name: "munge-key", What: "another munge key than the other nodes"},
		{Name: "shm-small", What: "/dev/shm of 1 MiB"},
		{Name: "tmp-full", What: "no room in /tmp"},
		{Name: "tmp-noexec", What: "/tmp mounted noexec"},
		{Name: "tmp-read-only", What: "/tmp mounted read-only"},
		{Name: "sharens-race", What: "APPTAINER_SHARENS=1 for every task", Prolog: true},
		{Name: "wrong-arch", What: "/shared/faults/wrong-arch, a root of arm64 programs", Shared: true},
		{Name: "dead-interface", What: "docker0 with 172.17.0.1, as on every machine with docker"},
		{Name: "slow-node", What: "a quota of a twentieth of a CPU", own: slowNode},
		{Name: "clock-skew", What: "munged two minutes ahead"},
		{Name: "one-core", What: "every task bound to core 0", Prolog: true},
		{Name: "nested-mpirun", What: "/shared/faults/nested-mpirun.sh, a job that runs mpirun under srun", Shared: true},
		{Name: "permissions", What: "/dev/fuse is root's alone"},
		{Name: "killed-node", What: "the node is gone, as after a loss of power", own: killedNode},
	}
}

// FindFault gives the fault of a name.
func FindFault(name string) (Fault, error) {
	all := Faults()
	i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
		}
		return Fault{}, fail.Usagef("nearmetal-lab fault "+names[0]+" on n1", "no fault is called %q; there are %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// Plant puts a fault into the nodes (all compute nodes when none is named), or
// takes it away. What is so already is left alone.
func (l *Lab) Plant(ctx context.Context, name string, on bool, nodes ...string) error {
	f, err := FindFault(name)
	if err != nil {
		return err
	}
	if err := needRoot(); err != nil {
		return err
	}
	release, err := l.lock(ctx, l.path("lock"))
	if err != nil {
		return err
	}
	defer release()
	if nodes, err = l.targets(f, nodes); err != nil {
		return err
	}
	for _, node := range nodes {
		if l.planted(f.Name, node) == on {
			continue
		}
		if err := l.plant(ctx, f, node, on); err != nil {
			return fmt.Errorf("fault %s on %s: %w", f.Name, node, err)
		}
		if err := l.note(f.Name, node, on); err != nil {
			return err
		}
	}
	if f.Prolog {
		return l.useProlog(ctx)
	}
	return nil
}

func (l *Lab) targets(f Fault, nodes []string) ([]string, error) {
	set, err := l.settings()
	switch {
	case err != nil:
		return nil, err
	case set == nil:
		return nil, fail.Missingf("nearmetal-lab up --nodes 2 --dir "+l.Dir, "no lab is up in %s", l.Dir)
	case f.Shared:
		return []string{Head}, nil
	case len(nodes) == 0:
		return names(set.Nodes)[1:], nil
	}
	for _, n := range nodes {
		if !slices.Contains(names(set.Nodes), n) {
			return nil, fail.Missingf("nearmetal-lab status --dir "+l.Dir, "the lab has no node %q", n)
		}
	}
	return nodes, nil
}

func (l *Lab) plant(ctx context.Context, f Fault, node string, on bool) error {
	if f.own != nil {
		return f.own(l, ctx, node, on)
	}
	state := "off"
	if on {
		state = "on"
	}
	p, err := l.find(node)
	if err != nil {
		return err
	}
	here := fmt.Sprintf("/proc/%d/root/run/nearmetal", p.pid)
	err = errors.Join(os.WriteFile(here+"/fault.sh", faultScript, 0o755), os.WriteFile(here+"/skew.c", skewSource, 0o644))
	if err != nil {
		return err
	}
	out, code, err := l.output(ctx, node, "/bin/sh", "/run/nearmetal/fault.sh", f.Name, state)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d: %s", code, out)
	}
	return err
}

// The notes of what is planted lie beside the nodes' layers and go with them.
func (l *Lab) noteFile(name, node string) string { return l.path("run", "faults", name+"."+node) }

func (l *Lab) planted(name, node string) bool {
	_, err := os.Stat(l.noteFile(name, node))
	return err == nil
}

func (l *Lab) note(name, node string, on bool) error {
	if !on {
		return os.Remove(l.noteFile(name, node))
	}
	if err := os.MkdirAll(l.path("run", "faults"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(l.noteFile(name, node), nil, 0o644)
}

// Planted lists what is planted, as NAME.NODE.
func (l *Lab) Planted() ([]string, error) {
	files, err := filepath.Glob(l.path("run", "faults", "*"))
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files, err
}

// taskProlog runs what fault.sh left on the node; its lines of the form
// "export NAME=value" change the task's environment (slurm.conf(5)).
const taskProlog = `#!/bin/sh
for f in /run/nearmetal/prolog/*; do
	if [ -e "$f" ]; then . "$f"; fi
done
`

// useProlog has Slurm run the prolog as long as a fault needs it: it costs every
// task a few milliseconds.
func (l *Lab) useProlog(ctx context.Context) error {
	set, err := l.settings()
	if err != nil {
		return err
	}
	text, err := renderSlurmConf(set.Slurm, set.Nodes)
	if err != nil {
		return err
	}
	for _, f := range Faults() {
		left, err := filepath.Glob(l.noteFile(f.Name, "*"))
		if err != nil {
			return err
		}
		if f.Prolog && len(left) > 0 {
			text += "TaskProlog=/etc/slurm/task-prolog.sh\n"
			break
		}
	}
	dir := l.path("run", "etc")
	err = errors.Join(renameio.WriteFile(filepath.Join(dir, "task-prolog.sh"), []byte(taskProlog), 0o755),
		renameio.WriteFile(filepath.Join(dir, "slurm.conf"), []byte(text), 0o644))
	if err != nil {
		return err
	}
	out, code, err := l.output(ctx, Head, "scontrol", "reconfigure")
	if err == nil && code != 0 {
		err = fmt.Errorf("scontrol reconfigure: %s", out)
	}
	return err
}
