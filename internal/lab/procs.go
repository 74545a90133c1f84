package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Marks in the environment of the processes that hold a lab up. They are found
// again by these, never by a remembered pid, which may have been given to
// another process since.
const (
	markID   = "NEARMETAL_LAB_MARK"
	markDir  = "NEARMETAL_LAB_MARK_DIR"
	markNode = "NEARMETAL_LAB_MARK_NODE"
)

// fabric is the role of the process that holds the lab's network.
const fabric = "fabric"

// proc is a process that holds a part of a lab up.
type proc struct {
	pid           int
	id, dir, node string
	ready         bool // it became the program that only waits
}

// same says whether it is the same process at another time.
func (p proc) same(q proc) bool { return p.pid == q.pid && p.id == q.id && p.node == q.node }

// scan finds the processes of every lab on this machine.
func scan(root string) ([]proc, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var out []proc
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := inspect(root, pid); ok {
			out = append(out, p)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].pid < out[j].pid })
	return out, nil
}

// inspect says whether a process is a lab's own: root's, with the marks in its
// environment, and, for a node, the first of its pid namespace. A process that
// somebody in the lab started with a copy of the environment is none.
func inspect(root string, pid int) (proc, bool) {
	dir := filepath.Join(root, strconv.Itoa(pid))
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil || !bytes.Contains(env, []byte(markID+"=")) {
		return proc{}, false
	}
	p := parseMarks(env)
	p.pid = pid
	cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	p.ready = err == nil && !bytes.HasPrefix(cmdline, []byte(argv0+"\x00"))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil || p.id == "" || p.node == "" {
		return proc{}, false
	}
	return p, ownStatus(status, p.node)
}

func parseMarks(environ []byte) proc {
	var p proc
	for _, kv := range strings.Split(string(environ), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case markID:
			p.id = value
		case markDir:
			p.dir = value
		case markNode:
			p.node = value
		}
	}
	return p
}

// ownStatus judges /proc/PID/status (proc_pid_status(5)).
func ownStatus(status []byte, node string) bool {
	root, first := false, false
	for _, line := range strings.Split(string(status), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "State:" && (f[1] == "Z" || f[1] == "X"):
			return false
		case f[0] == "Uid:":
			root = f[1] == "0"
		case f[0] == "NSpid:":
			first = len(f) > 2 && f[len(f)-1] == "1"
		}
	}
	return root && (first || node == fabric)
}

// procs finds the processes of this lab by node name. When a node has two (a
// killed up and another), the younger counts, and down ends both.
func (l *Lab) procs() (map[string]proc, error) {
	all, err := scan("/proc")
	if err != nil {
		return nil, err
	}
	out := map[string]proc{}
	for _, p := range all {
		if p.id == l.ID() {
			out[p.node] = p
		}
	}
	return out, nil
}

// end kills the processes and waits until they are gone, and with a node's
// first process everything in the node. Each is held by a pidfd before it is
// looked at again, so that no stranger with a recycled number is hit
// (pidfd_open(2)).
func end(ctx context.Context, victims []proc) error {
	var held []int
	defer func() {
		for _, fd := range held {
			unix.Close(fd)
		}
	}()
	for _, v := range victims {
		fd, err := unix.PidfdOpen(v.pid, 0)
		if err != nil {
			continue // gone
		}
		if now, ok := inspect("/proc", v.pid); !ok || !now.same(v) {
			unix.Close(fd)
			continue // a stranger, or a zombie
		}
		held = append(held, fd)
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	for _, fd := range held {
		if err := gone(ctx, fd); err != nil {
			return fmt.Errorf("a process of the lab does not end: %w", err)
		}
	}
	return nil
}

// gone waits until the process of a pidfd has ended. The first process of a pid
// namespace ends after all others in it, and after it has let go of its mounts.
func gone(ctx context.Context, pidfd int) error {
	const seconds = 20
	for range seconds * 10 {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 100)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("still there after %d s", seconds)
}

// stand keeps the processes that are set up; one that still is ourselves waits
// for an up that may have been killed.
func stand(procs map[string]proc) (ready map[string]proc, unready []proc) {
	ready = map[string]proc{}
	for name, p := range procs {
		if p.ready {
			ready[name] = p
		} else {
			unready = append(unready, p)
		}
	}
	return ready, unready
}
