package runner

import (
	"bytes"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRealPassesArgumentsUnchanged(t *testing.T) {
	hostile := []string{"a b", "$(touch /tmp/x)", "new\nline", `q"'`, "", "*"}
	var out bytes.Buffer
	res, err := Real{}.Run(t.Context(), Cmd{Argv: append([]string{"printf", `%s\0`}, hostile...), Stdout: &out})
	if err != nil || res.ExitCode != 0 {
		t.Fatal(res, err)
	}
	if got := strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00"); strings.Join(got, "|") != strings.Join(hostile, "|") {
		t.Errorf("got %q", got)
	}
}

func TestRealExitCodes(t *testing.T) {
	cases := map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + int(syscall.SIGTERM)}
	for line, want := range cases {
		res, err := Real{}.Run(t.Context(), Cmd{Argv: []string{"sh", "-c", line}})
		if err != nil || res.ExitCode != want {
			t.Errorf("%s: %d %v, want %d", line, res.ExitCode, err, want)
		}
	}
}

func TestRealMissingProgram(t *testing.T) {
	if _, err := (Real{}).Run(t.Context(), Cmd{Argv: []string{"no-such-program-here"}}); err == nil {
		t.Error("no error for a program that is not there")
	}
}

func TestRealCancelKillsTheGroup(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Real{}.Run(ctx, Cmd{Argv: []string{"sh", "-c", "sleep 60 & wait"}, Own: true, Grace: time.Second})
	if err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("err %v after %v", err, time.Since(start))
	}
}

func TestRealForwardsSignals(t *testing.T) {
	signals := make(chan os.Signal, 1)
	out := &upThen{do: func() { signals <- syscall.SIGUSR1 }}
	line := `trap 'exit 9' USR1; echo up; i=0; while [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done`
	res, err := Real{}.Run(t.Context(), Cmd{Argv: []string{"sh", "-c", line}, Stdout: out, Signals: signals})
	if err != nil || res.ExitCode != 9 {
		t.Errorf("exit code %d, %v", res.ExitCode, err)
	}
}

// upThen calls do at the first output.
type upThen struct {
	do   func()
	done bool
}

func (u *upThen) Write(b []byte) (int, error) {
	if !u.done {
		u.done = true
		u.do()
	}
	return len(b), nil
}

// TestTiedProgramDiesWithUs starts this test binary again, which starts a tied
// sleep, and kills it with SIGKILL.
func TestTiedProgramDiesWithUs(t *testing.T) {
	const role = "NEARMETAL_TEST_TIED"
	if os.Getenv(role) != "" {
		_, _ = Real{}.Run(t.Context(), Cmd{Argv: []string{"sh", "-c", "echo $$; exec sleep 60"}, Stdout: os.Stdout, Own: true, Tied: true})
		return
	}
	pids := make(chan string, 1)
	signals := make(chan os.Signal, 1)
	out := writerFunc(func(b []byte) { pids <- strings.TrimSpace(string(b)); signals <- syscall.SIGKILL })
	res, err := Real{}.Run(t.Context(), Cmd{Argv: []string{os.Args[0], "-test.run", "TestTiedProgramDiesWithUs"}, Env: []string{role + "=1"}, Stdout: out, Signals: signals, Grace: time.Second})
	if err != nil || res.Signal != syscall.SIGKILL {
		t.Fatal(res, err)
	}
	pid := <-pids
	for range 100 {
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %s outlived its parent", pid)
}

type writerFunc func(b []byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func TestFakeFailsStrangersAndLeftovers(t *testing.T) {
	rec := &recorder{}
	f := NewFake(rec, Stub{Match: "^sinfo", Stdout: "idle"}, Stub{Match: "^never"})
	if out, err := Output(t.Context(), f, "sinfo", "-h"); err != nil || string(out) != "idle" {
		t.Error(string(out), err)
	}
	if _, err := Output(t.Context(), f, "rm", "-rf"); err == nil {
		t.Error("stranger accepted")
	}
	rec.cleanup()
	if rec.errs != 2 {
		t.Errorf("%d complaints, want 2 (stranger, leftover)", rec.errs)
	}
}

type recorder struct {
	errs    int
	cleanup func()
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errs++ }
func (r *recorder) Cleanup(f func())      { r.cleanup = f }
