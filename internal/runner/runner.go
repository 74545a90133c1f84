// Package runner is the only place where nearmetal starts another program.
//
//	Cmd ──→ Real    starts it (os/exec)
//	    ──→ Fake    answers from a list and fails the test for a stranger or a leftover
//
// A Cmd is an argument vector, never a shell line: nothing from a recipe, a
// path or an environment value is ever parsed by a shell on the way.
package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Cmd is one program to run.
type Cmd struct {
	Argv   []string  // program and arguments; Argv[0] is looked up in PATH
	Env    []string  // NAME=value added to our own environment, later ones win
	Dir    string    // working directory; "" is ours
	Stdin  io.Reader // nil: no input (/dev/null)
	Stdout io.Writer // nil: thrown away
	Stderr io.Writer // nil: thrown away
	// Own gives the program a process group of its own, so that Ctrl-C on the
	// terminal reaches us alone and the context decides what it gets.
	Own bool
	// Signals are passed on to the program as they come (its group with Own).
	Signals <-chan os.Signal
	// Tied sends the program SIGTERM when we die, SIGKILL included (prctl(2),
	// PR_SET_PDEATHSIG).
	Tied bool
	// Grace is how long a cancelled program has between SIGTERM and SIGKILL;
	// 0 is 5 s.
	Grace time.Duration
}

// Result is how a program ended.
type Result struct {
	ExitCode int            // as a shell reports it: 128+signal when killed
	Signal   syscall.Signal // 0 when it exited by itself
	Start    time.Time
	End      time.Time
}

// Wall is the time from start to end.
func (r Result) Wall() time.Duration { return r.End.Sub(r.Start) }

// Runner starts programs. An error means that the program did not start or
// could not be waited for; a non-zero exit is not an error.
type Runner interface {
	Run(ctx context.Context, c Cmd) (Result, error)
	// Look gives the path of a program, or an error that names it.
	Look(name string) (string, error)
}

// Real runs programs with os/exec.
type Real struct{}

// Look searches PATH.
func (Real) Look(name string) (string, error) { return exec.LookPath(name) }

// Run starts c and waits. When ctx ends first, the program gets SIGTERM, then
// after Grace SIGKILL, and the error is ctx's cause.
func (Real) Run(ctx context.Context, c Cmd) (Result, error) {
	if len(c.Argv) == 0 {
		return Result{}, errors.New("runner: empty command")
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: c.Own}
	if c.Tied {
		// The signal comes when the thread that forked ends, so it must not
		// end before the program (golang.org/issue/27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	cmd.Cancel = func() error { return stop(cmd.Process.Pid, c.Own) }
	cmd.WaitDelay = grace(c.Grace)
	res := Result{Start: time.Now()}
	err := cmd.Start()
	if err == nil {
		stopped := make(chan struct{})
		go forward(cmd.Process.Pid, c.Own, c.Signals, stopped)
		err = cmd.Wait()
		close(stopped)
	}
	res.End = time.Now()
	if cmd.ProcessState == nil {
		return res, err
	}
	res.ExitCode, res.Signal = status(cmd.ProcessState)
	if ctx.Err() != nil {
		return res, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return res, err
}

func grace(d time.Duration) time.Duration {
	if d == 0 {
		return 5 * time.Second
	}
	return d
}

func stop(pid int, group bool) error { return send(pid, group, syscall.SIGTERM) }

func send(pid int, group bool, sig syscall.Signal) error {
	if group {
		pid = -pid
	}
	return syscall.Kill(pid, sig)
}

// forward passes signals on until stopped; a program that is gone has no use
// for them.
func forward(pid int, group bool, signals <-chan os.Signal, stopped <-chan struct{}) {
	for {
		select {
		case <-stopped:
			return
		case s := <-signals:
			if sig, ok := s.(syscall.Signal); ok {
				_ = send(pid, group, sig)
			}
		}
	}
}

// status gives the exit code a shell would report.
func status(s *os.ProcessState) (int, syscall.Signal) {
	ws, ok := s.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal()
	}
	return s.ExitCode(), 0
}

// Output runs a program and gives its standard output; a non-zero exit is an
// error that ends with the last of what it wrote to standard error.
func Output(ctx context.Context, r Runner, argv ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	res, err := r.Run(ctx, Cmd{Argv: argv, Stdout: &out, Stderr: &errs})
	if err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w", argv[0], err)
	}
	if res.ExitCode != 0 {
		return out.Bytes(), fmt.Errorf("%s: exit status %d: %s", argv[0], res.ExitCode, tail(errs.Bytes(), 400))
	}
	return out.Bytes(), nil
}

func tail(b []byte, n int) []byte {
	b = bytes.TrimSpace(b)
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return b
}
