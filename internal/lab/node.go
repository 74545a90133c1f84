package lab

import (
	"context"
	_ "embed" // start.sh
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/nearmetal/nearmetal/internal/runner"
	"golang.org/x/sys/unix"
)

//go:embed files/start.sh
var startScript []byte

// nodeNamespaces are the namespaces that a node has of its own. The user
// namespace is the machine's: Apptainer makes its own ones, as on a real node.
const nodeNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWPID

// nodeConfig is what a node's init needs to know.
type nodeConfig struct {
	Name, Addr string
	Root       string // the shared root filesystem
	Run        string // DIR/run
	Home       string
	Shared     string
	Bases      string // bound at /shared/bases
	MungeKey   []byte
	Groups     string // the lab's control groups; "" without
}

// startNode starts one node and waits until its daemons were started.
func (l *Lab) startNode(ctx context.Context, fabricPid int, cfg nodeConfig) error {
	if err := l.freshUpper(cfg.Name); err != nil {
		return err
	}
	c, err := l.spawn(argNode, nodeNamespaces, l.marks(cfg.Name), 0)
	if err != nil {
		return err
	}
	if err := plug(fabricPid, cfg.Name, c.proc.Pid); err != nil {
		c.config.Close()
		return fmt.Errorf("node %s: network: %w", cfg.Name, errors.Join(err, c.ready(ctx)))
	}
	if err := errors.Join(c.configure(cfg), c.ready(ctx)); err != nil {
		return fmt.Errorf("node %s: %w", cfg.Name, err)
	}
	return nil
}

func (l *Lab) freshUpper(node string) error {
	dir := l.path("run", node)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, d := range []string{"upper", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// nodeInit is the first process of a node: it makes the node's file system,
// network and daemons, then becomes tini, which reaps what is left to it.
func nodeInit() error {
	// The control group namespace is this thread's: all that follows starts from it.
	runtime.LockOSThread()
	var cfg nodeConfig
	if err := readConfig(&cfg); err != nil {
		return err
	}
	if cfg.Groups != "" {
		if err := joinCgroups(cgroupRoot, cfg.Groups); err != nil {
			return err
		}
	}
	steps := []func(nodeConfig) error{
		func(c nodeConfig) error { return unix.Sethostname([]byte(c.Name)) },
		func(c nodeConfig) error { return address(c.Addr) },
		mountRoot, mountSystem, makeDevices, mountShared, writeNodeFiles, pivot, startDaemons,
	}
	for _, step := range steps {
		if err := step(cfg); err != nil {
			return err
		}
	}
	return becomeSleeper([]string{"/usr/bin/tini", "-g", "--", "/bin/sleep", "infinity"})
}

func (c nodeConfig) root(parts ...string) string {
	return filepath.Join(append([]string{c.Run, c.Name, "root"}, parts...)...)
}

func mount(source, target, fstype string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, fstype, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", fstype, target, err)
	}
	return nil
}

func bind(source, target string, flags uintptr) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|flags, ""); err != nil {
		return fmt.Errorf("bind %s on %s: %w", source, target, err)
	}
	return nil
}

// mountRoot lays the node's own layer over the shared root. Where DIR cannot
// hold such a layer (it lies on an overlay itself, as in a container), the
// layer is kept in memory.
func mountRoot(c nodeConfig) error {
	if err := mount("", "/", "none", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	dir := filepath.Join(c.Run, c.Name)
	err := mountOverlay(c, dir)
	if err == nil || !errors.Is(err, unix.EINVAL) {
		return err
	}
	if err := mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, d := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	return mountOverlay(c, dir)
}

func mountOverlay(c nodeConfig, dir string) error {
	data := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", c.Root, dir, dir)
	return mount("overlay", c.root(), "overlay", 0, data)
}

func mountSystem(c nodeConfig) error {
	hardened := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	err := errors.Join(
		mount("proc", c.root("proc"), "proc", hardened, ""),
		mount("sysfs", c.root("sys"), "sysfs", hardened|unix.MS_RDONLY, ""),
		mount("tmpfs", c.root("run"), "tmpfs", 0, "mode=755"),
		mount("tmpfs", c.root("tmp"), "tmpfs", 0, "mode=1777"),
		mount("tmpfs", c.root("dev"), "tmpfs", 0, "mode=755"),
	)
	if err != nil || c.Groups == "" {
		return err
	}
	return mountCgroups(c)
}

// mountCgroups shows the lab's control groups where Slurm looks for the
// machine's.
func mountCgroups(c nodeConfig) error {
	dir := c.root(cgroupRoot)
	if err := mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return err
	}
	for _, name := range controllers {
		target := filepath.Join(dir, name)
		if err := os.Mkdir(target, 0o755); err != nil {
			return err
		}
		if err := bind(labGroup(cgroupRoot, name, c.Groups), target, 0); err != nil {
			return err
		}
	}
	return nil
}

func makeDevices(c nodeConfig) error {
	for _, d := range []string{"null", "zero", "full", "random", "urandom", "tty", "fuse"} {
		var st unix.Stat_t
		if err := unix.Stat("/dev/"+d, &st); err != nil {
			return fmt.Errorf("/dev/%s: %w", d, err)
		}
		path := c.root("dev", d)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(st.Rdev)); err != nil {
			return fmt.Errorf("mknod %s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
	}
	links := [][2]string{{"pts/ptmx", "ptmx"}, {"/proc/self/fd", "fd"}, {"/proc/self/fd/0", "stdin"},
		{"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"}}
	for _, ln := range links {
		if err := os.Symlink(ln[0], c.root("dev", ln[1])); err != nil {
			return err
		}
	}
	return mountDevices(c)
}

func mountDevices(c nodeConfig) error {
	for _, d := range []string{"pts", "shm", "mqueue"} {
		if err := os.Mkdir(c.root("dev", d), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(
		mount("devpts", c.root("dev/pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5"),
		mount("tmpfs", c.root("dev/shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"),
		mount("mqueue", c.root("dev/mqueue"), "mqueue", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""),
	)
}

// mountShared binds what all nodes see alike. The bases are read-only, so that
// a build cannot spoil what the next one starts from.
func mountShared(c nodeConfig) error {
	for _, d := range []string{c.root("shared"), c.root("etc/slurm"), filepath.Join(c.Shared, "bases")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	bases := c.root("shared/bases")
	return errors.Join(
		bind(c.Home, c.root("home"), 0),
		bind(c.Shared, c.root("shared"), 0),
		bind(c.Bases, bases, 0),
		mount("", bases, "none", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""),
		bind(filepath.Join(c.Run, "etc"), c.root("etc/slurm"), 0),
	)
}

func writeNodeFiles(c nodeConfig) error {
	if err := os.MkdirAll(c.root("run/nearmetal"), 0o755); err != nil {
		return err
	}
	files := []struct {
		path string
		data []byte
		mode os.FileMode
	}{
		{"etc/hosts", []byte(hostsFile()), 0o644},
		{"etc/hostname", []byte(c.Name + "\n"), 0o644},
		{"run/nearmetal/start.sh", startScript, 0o755},
		{"etc/munge/munge.key", c.MungeKey, 0o400}, // replaced in place: the package's owner stays
	}
	for _, f := range files {
		if err := os.WriteFile(c.root(f.path), f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// pivot makes the node's root the root and lets the machine's go
// (pivot_root(2)).
func pivot(c nodeConfig) error {
	if err := os.Chdir(c.root()); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the old root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return mount("", "/", "none", unix.MS_REC|unix.MS_SHARED, "")
}

// startDaemons runs start.sh with an empty environment. Its output goes to a
// file, which a daemon may keep open without holding us up.
func startDaemons(c nodeConfig) error {
	const log = "/run/nearmetal/start.log"
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	res, err := runner.Real{}.Run(context.Background(), runner.Cmd{Argv: startArgv(c.Name), Stdout: out, Stderr: out})
	if err != nil {
		return fmt.Errorf("start the daemons: %w", err)
	}
	if res.ExitCode != 0 {
		said, _ := os.ReadFile(log)
		return fmt.Errorf("start the daemons: exit status %d: %s", res.ExitCode, strings.TrimSpace(string(said)))
	}
	return nil
}

func startArgv(node string) []string {
	return []string{"/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "/bin/sh", "/run/nearmetal/start.sh", node}
}
