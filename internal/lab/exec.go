package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/nearmetal/nearmetal/internal/fail"
	"golang.org/x/sys/unix"
)

// Exec is a command to run in a node.
type Exec struct {
	Node    string
	Argv    []string
	User    string // "" is root
	HostNet bool   // the machine's own network, with its resolver: for image builds
	Env     []string
	Dir     string // "" is the user's home
	Stdin   *os.File
	Stdout  *os.File
	Stderr  *os.File
}

// Exec runs a command in a node with our own standard streams and gives its
// exit code as a shell would: 126 and 127 when it cannot be started.
func (l *Lab) Exec(ctx context.Context, e Exec) (int, error) {
	if err := errors.Join(needRoot(), checkEnv(e.Env)); err != nil {
		return 0, err
	}
	p, err := l.find(e.Node)
	if err != nil {
		return 0, err
	}
	var code int
	onOwnThread(func() { code, err = enterAndRun(ctx, p.pid, e) })
	return code, err
}

// onOwnThread runs f on a thread that ends with it, as f enters namespaces that
// the thread cannot leave. The process's first thread never ends and shows in
// /proc/PID, so that it is held until another is found.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		onOwnThread(f)
		runtime.UnlockOSThread()
	}()
	<-done
}

// find gives the first process of a node.
func (l *Lab) find(node string) (proc, error) {
	procs, err := l.procs()
	if err != nil {
		return proc{}, err
	}
	if len(procs) == 0 {
		return proc{}, fail.Missingf("nearmetal-lab up --nodes 2 --dir "+l.Dir, "no lab is up in %s", l.Dir)
	}
	p, ok := procs[node]
	if !ok || node == fabric {
		return proc{}, fail.Missingf("nearmetal-lab status --dir "+l.Dir, "the lab has no node %q", node)
	}
	return p, nil
}

func enterAndRun(ctx context.Context, pid int, e Exec) (int, error) {
	root := fmt.Sprintf("/proc/%d/root", pid)
	u, err := lookupUser(os.DirFS(root), orDefault(e.User, "root"))
	if err != nil {
		return 0, err
	}
	var resolver map[string][]byte
	if e.HostNet {
		resolver = hostResolver()
	}
	if err := enter(pid, e.HostNet); err != nil {
		return 0, fail.New(fail.Launch, nsHint, "entering %s: %w", e.Node, err)
	}
	if err := useResolver(resolver); err != nil {
		return 0, fail.New(fail.Launch, "", "the machine's network in %s: %w", e.Node, err)
	}
	return run(ctx, e, u)
}

// enter joins the node's namespaces with the calling thread only; the pid
// namespace holds for children. A thread may join a mount namespace when it
// shares its root and directory with no other (setns(2)).
func enter(pid int, hostNet bool) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	kinds := []string{"uts", "ipc", "cgroup", "net", "pid", "mnt"}
	if hostNet {
		kinds = []string{"uts", "ipc", "cgroup", "pid", "mnt"}
	}
	var fds []int
	for _, k := range kinds {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, k), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		fds = append(fds, fd)
	}
	for i, fd := range fds {
		if err := unix.Setns(fd, 0); err != nil {
			return fmt.Errorf("%s namespace: %w", kinds[i], err)
		}
	}
	return nil
}

// hostResolver is what name look-ups with the machine's network need.
func hostResolver() map[string][]byte {
	resolv, _ := os.ReadFile("/etc/resolv.conf")
	hosts, _ := os.ReadFile("/etc/hosts")
	return map[string][]byte{"resolv.conf": resolv, "hosts": mergeHosts(hostsFile(), string(hosts))}
}

// mergeHosts adds the machine's own entries to the lab's.
func mergeHosts(lab, host string) []byte {
	out := lab
	for _, line := range strings.Split(host, "\n") {
		f := strings.Fields(line)
		if len(f) > 1 && !strings.HasPrefix(f[0], "#") && f[1] != "localhost" {
			out += strings.Join(f, " ") + "\n"
		}
	}
	return []byte(out)
}

// useResolver puts these files over the node's, for this command alone: it has
// a copy of the node's mount namespace, where they are bound.
func useResolver(files map[string][]byte) error {
	if files == nil {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := mount("", "/", "none", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return err
	}
	for name, data := range files {
		f, err := os.CreateTemp("/run/nearmetal", name)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		// The bind keeps the file alive after its name is gone.
		err = errors.Join(err, f.Chmod(0o644), f.Close(), bind(f.Name(), "/etc/"+name, 0), os.Remove(f.Name()))
		if err != nil {
			return err
		}
	}
	return nil
}

// dieWithUs starts a command so that it gets SIGTERM when we are killed.
// SysProcAttr's Pdeathsig would hit at once: seen from another pid namespace
// our own number is 0, which it takes for a parent that died already.
var dieWithUs = []string{"/usr/bin/setpriv", "--pdeathsig", "TERM", "--"}

// run starts the command from the calling thread and waits.
func run(ctx context.Context, e Exec, u user) (int, error) {
	path, err := lookPath(e.Argv[0], u)
	if err != nil {
		fmt.Fprintf(e.Stderr, "nearmetal-lab: %s: %v\n", e.Argv[0], err)
		return 127, nil
	}
	argv := slices.Concat(dieWithUs, []string{path}, e.Argv[1:])
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir:   orDefault(e.Dir, u.home),
		Env:   environment(u, e.HostNet, e.Env, os.Getenv),
		Files: []*os.File{e.Stdin, e.Stdout, e.Stderr},
		Sys:   &syscall.SysProcAttr{Credential: u.credential()},
	})
	if err != nil {
		fmt.Fprintf(e.Stderr, "nearmetal-lab: %v\n", err)
		return 126, nil
	}
	defer forwardSignals(p, isTerminal(e.Stdin))()
	defer context.AfterFunc(ctx, func() { _ = p.Signal(syscall.SIGTERM) })()
	state, err := p.Wait()
	if err != nil {
		return 0, err
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return state.ExitCode(), nil
}

// forwardSignals passes on what is sent to us. With a terminal the keyboard's
// signals reach the command by itself, and twice would be once too many.
func forwardSignals(p *os.Process, terminal bool) (stop func()) {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range ch {
			if terminal && (s == syscall.SIGINT || s == syscall.SIGQUIT) {
				continue
			}
			_ = p.Signal(s)
		}
	}()
	return func() { signal.Stop(ch); close(ch) }
}

func isTerminal(f *os.File) bool {
	if f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// lookPath finds a program inside the node, with the calling thread's root.
func lookPath(name string, u user) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(u.path()) {
		path := filepath.Join(dir, name)
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o111 != 0 {
			return path, nil
		}
	}
	return "", fs.ErrNotExist
}

// output runs a command as root in a node and gives both its streams.
func (l *Lab) output(ctx context.Context, node string, argv ...string) (string, int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", 0, err
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		w.Close()
		return "", 0, err
	}
	defer null.Close()
	var out bytes.Buffer
	read := make(chan struct{})
	go func() { _, _ = out.ReadFrom(r); close(read) }()
	code, err := l.Exec(ctx, Exec{Node: node, Argv: argv, Dir: "/", Stdin: null, Stdout: w, Stderr: w})
	w.Close()
	if err == nil {
		<-read
	}
	return strings.TrimSpace(out.String()), code, err
}
