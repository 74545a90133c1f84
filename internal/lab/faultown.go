package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// slowGroup is the control group of a slowed node, in the hierarchy that
// nothing else of the lab uses.
func slowGroup(id, node string) string {
	return filepath.Join(cgroupRoot, "cpu", "nearmetal_"+id+"_"+node)
}

// slowNode gives a node's processes, and those they will start, a twentieth of a
// CPU (Documentation/admin-guide/cgroup-v1/cpu: cfs_quota_us of cfs_period_us).
func slowNode(l *Lab, _ context.Context, node string, on bool) error {
	dir := slowGroup(l.ID(), node)
	if !on {
		return dropGroup(dir)
	}
	p, err := l.find(node)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cpu", "tasks")); err != nil {
		return fail.Missingf("try another fault", "the machine has no version 1 cpu control groups: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err = errors.Join(os.WriteFile(filepath.Join(dir, "cpu.cfs_period_us"), []byte("20000"), 0o644),
		os.WriteFile(filepath.Join(dir, "cpu.cfs_quota_us"), []byte("1000"), 0o644))
	if err != nil {
		return err
	}
	pids, err := sameNamespace(p.pid)
	if err != nil {
		return err
	}
	return move(pids, dir)
}

// sameNamespace lists the processes of a node by their pid namespace.
func sameNamespace(first int) ([]int, error) {
	want, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", first))
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)); err == nil && ns == want {
			out = append(out, pid)
		}
	}
	return out, nil
}

// move puts processes into a control group; those that ended meanwhile do not
// matter.
func move(pids []int, dir string) error {
	for _, pid := range pids {
		err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
		if _, statErr := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil && statErr == nil {
			return err
		}
	}
	return nil
}

// dropGroup frees the processes of a control group and removes it.
func dropGroup(dir string) error {
	for range 20 {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := move(numbers(string(text)), filepath.Join(cgroupRoot, "cpu")); err != nil {
			return err
		}
		if os.Remove(dir) == nil {
			return nil
		}
	}
	return fmt.Errorf("control group %s is still in use", dir)
}

// dropSlowGroups removes what slowNode left, when the lab goes down.
func (l *Lab) dropSlowGroups() error {
	dirs, err := filepath.Glob(slowGroup(l.ID(), "*"))
	for _, d := range dirs {
		err = errors.Join(err, dropGroup(d))
	}
	return err
}

// killedNode ends a node and starts it again: what its layer held is lost, as
// are other faults in it.
func killedNode(l *Lab, ctx context.Context, node string, on bool) error {
	if node == Head {
		return fail.Usagef("nearmetal-lab fault killed-node on n2", "the head holds slurmctld: without it there is no cluster")
	}
	if on {
		p, err := l.find(node)
		if err != nil {
			return err
		}
		return end(ctx, []proc{p})
	}
	standing, set, err := l.standing()
	if err != nil {
		return err
	}
	if set == nil {
		return fail.Missingf("nearmetal-lab up", "the lab is not up")
	}
	_, err = l.resize(ctx, set.Nodes, set, standing)
	return err
}

func numbers(text string) []int {
	var out []int
	for _, f := range strings.Fields(text) {
		if n, err := strconv.Atoi(f); err == nil {
			out = append(out, n)
		}
	}
	return out
}
