package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Hidden first arguments by which the program starts itself again inside new
// namespaces.
const (
	argNode   = "node-init"
	argFabric = "fabric-init"
	argBuild  = "build-init"
)

// Child runs the program's own inner roles and gives their exit code; ok is
// false for an ordinary command line. main (and TestMain) call it first.
func Child(ctx context.Context, args []string) (code int, ok bool) {
	if len(args) < 2 {
		return 0, false
	}
	var err error
	switch args[1] {
	case argNode:
		err = nodeInit()
	case argFabric:
		err = fabricInit()
	case argBuild:
		err = buildInit(ctx)
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return fail.Failed, true
	}
	return fail.OK, true
}

// argv0 is what a copy of ourselves is called until it becomes another program.
const argv0 = "nearmetal-lab: init"

// child is a copy of ourselves in new namespaces.
type child struct {
	proc   *os.Process
	config *os.File // its standard input
	report *os.File // its standard output and error
}

// spawn starts ourselves with a role in new namespaces. The copy waits for its
// configuration, and ends when we die before it came.
func (l *Lab) spawn(role string, flags uintptr, env []string, die syscall.Signal) (*child, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), inW.Close())
	}
	p, err := os.StartProcess(l.Self, []string{argv0, role}, &os.ProcAttr{
		Dir:   "/",
		Env:   env,
		Files: []*os.File{inR, outW, outW},
		Sys:   &syscall.SysProcAttr{Cloneflags: flags, Setsid: true, Pdeathsig: die},
	})
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, fail.Missingf(nsHint, "cannot start %s in new namespaces: %w", role, err)
	}
	return &child{p, inW, outR}, nil
}

const nsHint = "the lab needs root with CAP_SYS_ADMIN (in a container: docker run --privileged)"

// configure hands the child its configuration and closes its input.
func (c *child) configure(v any) error {
	defer c.config.Close()
	return json.NewEncoder(c.config).Encode(v)
}

// readyLine ends what a child tells us before it becomes another program.
const readyLine = "nearmetal-lab: ready"

// ready waits until the child says that it stands and has become the program
// that only waits; else the error is what it wrote. A child that is not ready
// when ctx ends is killed.
func (c *child) ready(ctx context.Context) error {
	defer c.report.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.proc.Kill() })
	defer stop()
	said, ok := awaitReady(c.report)
	if ok {
		// Nobody waits for it here: it outlives us, or end ends it.
		return errors.Join(settled(ctx, c.proc.Pid), c.proc.Release())
	}
	_ = c.proc.Kill()
	_, _ = c.proc.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New(said)
}

// settled waits until a process that said it is ready can be found by its
// marks: while execve(2) swaps its memory, its environment reads as empty.
func settled(ctx context.Context, pid int) error {
	for range 5000 {
		if p, ok := inspect("/proc", pid); ok && p.ready {
			return nil
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("it said that it is ready and is not there")
}

// awaitReady reads lines until the ready line; else all that was said.
func awaitReady(r io.Reader) (said string, ok bool) {
	var lines []string
	for s := bufio.NewScanner(r); s.Scan(); {
		if s.Text() == readyLine {
			return strings.Join(lines, "\n"), true
		}
		lines = append(lines, s.Text())
	}
	if len(lines) == 0 {
		return "it ended without a word", false
	}
	return strings.Join(lines, "\n"), false
}

// readConfig is the child's side: a parent that died has closed the pipe.
func readConfig(v any) error {
	if err := json.NewDecoder(os.Stdin).Decode(v); err != nil {
		return fmt.Errorf("no configuration from nearmetal-lab: %w", err)
	}
	return nil
}

// lockThread keeps the calling goroutine's thread alive, which a child's
// Pdeathsig is bound to (prctl(2)).
func lockThread() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
