package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
	"golang.org/x/sys/unix"
)

// cgroupRoot is where the machine has its control groups.
const cgroupRoot = "/sys/fs/cgroup"

// controllers are the version 1 hierarchies that Slurm's cgroup plugins use.
var controllers = []string{"cpuset", "memory", "freezer", "cpuacct", "devices"}

// chooseSlurm decides the form of Slurm. cpus 0 means unasked.
func (l *Lab) chooseSlurm(want string, cpus int) (Slurm, error) {
	topo, err := readTopology(os.DirFS("/sys"))
	if err != nil {
		topo = flat(runtime.NumCPU())
	}
	why := cgroupObstacle(cgroupRoot, topo, cpus)
	return decideSlurm(want, cpus, topo, memoryMB(), why)
}

// decideSlurm is the rule of chooseSlurm; why is what speaks against control
// groups, or "".
func decideSlurm(want string, cpus int, topo topology, mem int, why string) (Slurm, error) {
	faked := FakeCPUs
	if cpus > 0 {
		faked = cpus
	}
	switch {
	case want == ModeCgroup && why != "":
		return Slurm{}, fail.Missingf("nearmetal-lab up --slurm linuxproc", "Slurm with control groups is not possible here: %s", why)
	case want == ModeLinuxproc:
		return flat(faked).slurm(ModeLinuxproc, "asked for", mem), nil
	case why != "":
		return flat(faked).slurm(ModeLinuxproc, why, mem), nil
	case want == ModeCgroup || want == ModeAuto:
		return topo.slurm(ModeCgroup, "cgroup version 1 and the machine's own CPUs", mem), nil
	}
	return Slurm{}, fail.Usagef("--slurm cgroup, linuxproc or auto", "no form of Slurm is called %q", want)
}

// cgroupObstacle says what keeps Slurm from using control groups, or "".
func cgroupObstacle(root string, topo topology, cpus int) string {
	if cpus != 0 && cpus != topo.cpus {
		return fmt.Sprintf("%d CPUs a node were asked for and the machine has %d", cpus, topo.cpus)
	}
	if n := runtime.NumCPU(); n != topo.cpus {
		return fmt.Sprintf("only %d of the machine's %d CPUs are ours", n, topo.cpus)
	}
	for _, c := range controllers {
		dir := filepath.Join(root, c)
		// Only version 1 has a file of this name (cgroups(7)).
		if _, err := os.Stat(filepath.Join(dir, "tasks")); err != nil {
			return fmt.Sprintf("%s is not a version 1 control group hierarchy", dir)
		}
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return fmt.Sprintf("%s: %v", dir, err)
		}
	}
	return ""
}

// labGroup is the lab's control group in each hierarchy. The nodes see it as
// the root of all groups (cgroup_namespaces(7)), so that two labs, and a real
// slurmd of the machine, do not meet.
func labGroup(root, controller, id string) string {
	return filepath.Join(root, controller, "nearmetal_"+id)
}

// makeCgroups makes the lab's groups. One of cpuset takes no process before it
// has CPUs and memory nodes.
func makeCgroups(root, id string) error {
	for _, c := range controllers {
		dir := labGroup(root, c, id)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
		b, err := os.ReadFile(filepath.Join(root, "cpuset", f))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(labGroup(root, "cpuset", id), f), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// joinCgroups moves our process into the lab's groups and makes them the root
// of what this thread and its children see.
func joinCgroups(root, id string) error {
	for _, c := range controllers {
		if err := os.WriteFile(filepath.Join(labGroup(root, c, id), "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return err
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("cgroup namespace: %w", err)
	}
	return nil
}

// removeCgroups removes the lab's groups; the kernel needs a moment until
// killed processes have left them.
func removeCgroups(ctx context.Context, root, id string) error {
	for i := 0; ; i++ {
		var errs []error
		for _, c := range controllers {
			errs = append(errs, rmdirTree(labGroup(root, c, id)))
		}
		err := errors.Join(errs...)
		if err == nil || i == 100 {
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// rmdirTree removes a control group and those below it; its files go with it.
func rmdirTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := rmdirTree(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	err = unix.Rmdir(dir)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	killGroup(dir)
	return fmt.Errorf("control group %s: %w", dir, err)
}

// killGroup kills what is still in a group of the lab's: a process that a
// killed up was just starting bears no mark yet, but can be nobody else's.
func killGroup(dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, field := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended by itself
		}
	}
}

// memoryMB is nine tenths of the machine's memory in MiB, as each node claims.
func memoryMB() int {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 1000
	}
	return parseMemory(string(b))
}

func parseMemory(meminfo string) int {
	for _, line := range strings.Split(meminfo, "\n") {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "MemTotal:" {
			continue
		}
		if kb, err := strconv.Atoi(f[1]); err == nil {
			return kb / 1024 * 9 / 10
		}
	}
	return 1000
}
