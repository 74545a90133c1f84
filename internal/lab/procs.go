package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
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
}

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

// end kills the processes and waits until they are gone. Each is held by a
// pidfd before it is looked at again, so that no stranger with a recycled
// number is hit (pidfd_open(2)).
func end(ctx context.Context, victims []proc) error {
	for _, v := range victims {
		h, err := os.FindProcess(v.pid)
		if err != nil {
			continue
		}
		if now, ok := inspect("/proc", v.pid); ok && now == v {
			_ = h.Signal(syscall.SIGKILL)
		}
		_ = h.Release()
	}
	for _, v := range victims {
		if err := gone(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

func gone(ctx context.Context, v proc) error {
	for i := 0; i < 2000; i++ {
		if now, ok := inspect("/proc", v.pid); !ok || now != v {
			return nil
		}
		// Our own child stays a zombie until it is waited for; for others this fails.
		_, _ = syscall.Wait4(v.pid, nil, syscall.WNOHANG, nil)
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("process %d of node %s does not end", v.pid, v.node)
}
