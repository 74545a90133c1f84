package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
func (l *Lab) chooseSlurm(want string, cpus int, all []proc) (Slurm, error) {
	topo, err := readTopology(os.DirFS("/sys"))
	if err != nil {
		topo = flat(runtime.NumCPU())
	}
	why := cgroupObstacle(cgroupRoot, topo, cpus)
	if other := otherCgroupLab(all, l.ID()); why == "" && other != "" {
		why = "the lab in " + other + " uses the machine's control groups"
	}
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
		if _, err := os.Stat(filepath.Join(dir, "release_agent")); err != nil {
			return fmt.Sprintf("%s is not the root of a version 1 control group hierarchy", dir)
		}
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return fmt.Sprintf("%s: %v", dir, err)
		}
	}
	return ""
}

// otherCgroupLab is the directory of another lab that has Slurm's control
// groups in use: slurmd names them by node, so that two labs would collide.
func otherCgroupLab(all []proc, id string) string {
	for _, p := range all {
		if p.id != id && p.slurm == ModeCgroup {
			return p.dir
		}
	}
	return ""
}

var labCgroup = regexp.MustCompile(`^slurm_(n(1[0-6]|[1-9]))$`)

// removeCgroups removes what the nodes' slurmd left below cgroup; the kernel
// needs a moment until killed processes have left their groups.
func removeCgroups(root string) error {
	var err error
	for range 100 {
		if err = tryRemoveCgroups(root); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func tryRemoveCgroups(root string) error {
	dirs, err := filepath.Glob(filepath.Join(root, "*", "slurm_n*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range dirs {
		if labCgroup.MatchString(filepath.Base(d)) {
			errs = append(errs, rmdirTree(d))
		}
	}
	return errors.Join(errs...)
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
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("control group %s: %w", dir, err)
	}
	return nil
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
