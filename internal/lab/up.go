package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Options is what up is asked for. A zero CPUs, an empty Slurm and an empty
// Suite mean what the running lab has, else the default.
type Options struct {
	Nodes  int
	Slurm  string // cgroup, linuxproc or auto
	CPUs   int    // of each node
	Suite  string
	Mirror string
}

func (o Options) check() error {
	switch {
	case o.Nodes < 1 || o.Nodes > MaxNodes:
		return fail.Usagef("nearmetal-lab up --nodes 2", "a lab has 1 to %d nodes, not %d", MaxNodes, o.Nodes)
	case o.CPUs < 0 || o.CPUs > 1024:
		return fail.Usagef("nearmetal-lab up --cpus 8", "a node has 1 to 1024 CPUs, not %d", o.CPUs)
	}
	return nil
}

// Up makes the lab stand with exactly the nodes asked for, whatever of it
// stands already, and waits until Slurm has all of them. When it fails and no
// lab stood before, it leaves none.
func (l *Lab) Up(ctx context.Context, o Options) (*Status, error) {
	if err := errors.Join(o.check(), preflight()); err != nil {
		return nil, err
	}
	release, err := l.lock(ctx, l.path("lock"))
	if err != nil {
		return nil, err
	}
	defer release()
	standing, set, err := l.standing()
	if err != nil {
		return nil, err
	}
	if set == nil {
		return l.upFresh(ctx, o)
	}
	if err := conflict(o, set); err != nil {
		return nil, err
	}
	return l.resize(ctx, o.Nodes, set, standing)
}

// standing gives the lab's processes and settings. What has no head, no network
// or no settings is no lab: it is cleared away.
func (l *Lab) standing() (map[string]proc, *Settings, error) {
	procs, err := l.procs()
	if err != nil {
		return nil, nil, err
	}
	set, err := l.settings()
	if err != nil {
		return nil, nil, err
	}
	if set != nil && procs[Head].ready && procs[fabric].ready {
		ready, unready := stand(procs)
		return ready, set, end(context.Background(), unready)
	}
	return nil, nil, l.clear(context.Background())
}

// conflict refuses a wish that a running lab cannot fulfil without losing jobs.
func conflict(o Options, set *Settings) error {
	hint := "nearmetal-lab down, then up again"
	switch {
	case o.Slurm != "" && o.Slurm != ModeAuto && o.Slurm != set.Slurm.Mode:
		return fail.Usagef(hint, "the lab is up with Slurm's %s form, not %s", set.Slurm.Mode, o.Slurm)
	case o.CPUs != 0 && o.CPUs != set.Slurm.CPUs:
		return fail.Usagef(hint, "the lab is up with %d CPUs a node, not %d", set.Slurm.CPUs, o.CPUs)
	case o.Suite != "" && o.Suite != set.Suite:
		return fail.Usagef(hint, "the lab is up with %s, not %s", set.Suite, o.Suite)
	}
	return nil
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}

func (l *Lab) upFresh(ctx context.Context, o Options) (*Status, error) {
	suite := orDefault(o.Suite, DefaultSuite)
	roots, err := l.Prepare(ctx, suite, o.Mirror)
	if err != nil {
		return nil, err
	}
	fab, set, err := l.begin(ctx, o, suite, roots)
	if err != nil {
		return nil, errors.Join(err, l.clear(context.WithoutCancel(ctx)))
	}
	l.say("Slurm's %s form (%s), %d CPUs a node", set.Slurm.Mode, set.Slurm.Reason, set.Slurm.CPUs)
	st, err := l.bringUp(ctx, set, roots, fab, names(o.Nodes))
	if err != nil {
		return nil, errors.Join(err, l.clear(context.WithoutCancel(ctx)))
	}
	return st, nil
}

// begin settles the form of Slurm, writes the settings and starts the network.
func (l *Lab) begin(ctx context.Context, o Options, suite string, roots Roots) (proc, *Settings, error) {
	slurm, err := l.chooseSlurm(orDefault(o.Slurm, ModeAuto), o.CPUs)
	if err != nil {
		return proc{}, nil, err
	}
	set := &Settings{Schema, o.Nodes, slurm, suite, roots.Node, l.Now().UTC()}
	if err := errors.Join(l.prepareDir(roots.Node), l.writeSlurmConf(slurm, o.Nodes), l.save(set)); err != nil {
		return proc{}, nil, err
	}
	if slurm.Mode == ModeCgroup {
		if err := makeCgroups(cgroupRoot, l.ID()); err != nil {
			return proc{}, nil, err
		}
	}
	fab, err := l.startFabric(ctx)
	return fab, set, err
}

// prepareDir makes what the nodes share: homes, /shared and the munge key.
func (l *Lab) prepareDir(root string) error {
	for _, d := range []string{"run", "home", "shared", "shared/bases"} {
		if err := os.MkdirAll(l.path(d), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(l.path("shared"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	key := make([]byte, 128)
	if _, err := io.ReadFull(l.Rand, key); err != nil {
		return err
	}
	if err := os.WriteFile(l.path("run", "munge.key"), key, 0o600); err != nil {
		return err
	}
	return l.makeHomes(root)
}

// makeHomes copies the homes that useradd made in the root, once.
func (l *Lab) makeHomes(root string) error {
	for user, id := range map[string]int{"alice": 1000, "bob": 1001} {
		home := l.path("home", user)
		if isDir(home) {
			continue
		}
		tmp := home + ".new"
		err := errors.Join(os.RemoveAll(tmp), os.CopyFS(tmp, os.DirFS(filepath.Join(root, "home", user))), chownTree(tmp, id), os.Chmod(tmp, 0o755))
		if err != nil {
			return err
		}
		if err := os.Rename(tmp, home); err != nil {
			return err
		}
	}
	return nil
}

func chownTree(dir string, id int) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, id, id))
	})
}

// resize starts and ends nodes until there are n, and heals what is broken.
func (l *Lab) resize(ctx context.Context, n int, set *Settings, standing map[string]proc) (*Status, error) {
	var missing []string
	for _, name := range names(n) {
		if _, ok := standing[name]; !ok {
			missing = append(missing, name)
		}
	}
	if n != set.Nodes || len(missing) > 0 {
		if err := l.reconfigure(ctx, n, set, standing); err != nil {
			return nil, err
		}
	}
	roots := Roots{set.Root, filepath.Join(l.Cache, "bases")}
	if len(missing) == 0 && n == set.Nodes {
		if st, err := l.whole(ctx, set); err == nil {
			return st, nil
		}
		if err := l.healDaemons(ctx, names(n)); err != nil {
			return nil, err
		}
	}
	set.Nodes = n
	return l.bringUp(ctx, set, roots, standing[fabric], missing)
}

// reconfigure ends the nodes that are too many and tells Slurm the new number.
func (l *Lab) reconfigure(ctx context.Context, n int, set *Settings, standing map[string]proc) error {
	var victims []proc
	for i := n + 1; i <= MaxNodes; i++ {
		if p, ok := standing[NodeName(i)]; ok {
			victims = append(victims, p)
		}
	}
	changed := *set
	changed.Nodes = n
	if err := errors.Join(l.writeSlurmConf(set.Slurm, n), l.save(&changed), end(ctx, victims)); err != nil {
		return err
	}
	out, code, err := l.output(ctx, Head, "scontrol", "reconfigure")
	if err == nil && code != 0 {
		err = fmt.Errorf("scontrol reconfigure: %s", out)
	}
	return err
}

// healDaemons starts daemons that died; those that live are left alone.
func (l *Lab) healDaemons(ctx context.Context, nodes []string) error {
	for _, node := range nodes {
		out, code, err := l.output(ctx, node, "/bin/sh", "/run/nearmetal/start.sh", node)
		if err == nil && code != 0 {
			err = fmt.Errorf("daemons of %s: %s", node, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bringUp starts the nodes named, the head first, and waits for Slurm.
func (l *Lab) bringUp(ctx context.Context, set *Settings, roots Roots, fab proc, nodes []string) (*Status, error) {
	key, err := os.ReadFile(l.path("run", "munge.key"))
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	errs := make([]error, len(nodes))
	for i, name := range nodes {
		cfg := l.nodeConfig(name, set, roots, key)
		start := func() { errs[i] = l.startNode(ctx, fab.pid, cfg) }
		if name == Head {
			if start(); errs[i] == nil {
				errs[i] = l.awaitPort(ctx)
			}
			continue
		}
		wg.Go(start)
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, l.withLogs(err, nodes)
	}
	st, err := l.await(ctx, set)
	if err != nil {
		return nil, l.withLogs(err, names(set.Nodes))
	}
	return st, nil
}

func (l *Lab) nodeConfig(name string, set *Settings, roots Roots, key []byte) nodeConfig {
	number := 0
	for i, n := range names(MaxNodes) {
		if n == name {
			number = i
		}
	}
	groups := ""
	if set.Slurm.Mode == ModeCgroup {
		groups = l.ID()
	}
	return nodeConfig{
		Name: name, Addr: addr(number), Root: roots.Node, Run: l.path("run"), Home: l.path("home"), Shared: l.path("shared"),
		Bases: roots.Bases, MungeKey: key, Groups: groups,
	}
}

// System gives the lab its usual clock and randomness.
func System(l Lab) Lab {
	l.Rand, l.Now = rand.Reader, time.Now
	return l
}
