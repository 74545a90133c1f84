package runner

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
)

// TB is the part of testing.TB that Fake needs, so that this package does not
// import testing into the product.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Stub answers one command line.
type Stub struct {
	Match  string // regular expression over the blank-joined argument vector
	Stdout string
	Stderr string
	Exit   int
	Err    error // the program did not start
	Do     func(c Cmd)
	Times  int // how often it may answer; 0: once
}

// Fake is a Runner for tests. A command no stub matches, and a stub nobody
// used, fail the test (the manner of gh's run/stub.go).
type Fake struct {
	t     TB
	mu    sync.Mutex
	stubs []*Stub
	used  []int
	Calls [][]string
}

// NewFake makes a Fake that reports to t.
func NewFake(t TB, stubs ...Stub) *Fake {
	f := &Fake{t: t}
	for _, s := range stubs {
		f.stubs = append(f.stubs, &s)
	}
	f.used = make([]int, len(stubs))
	t.Cleanup(f.leftovers)
	return f
}

func (f *Fake) leftovers() {
	for i, s := range f.stubs {
		if f.used[i] == 0 {
			f.t.Errorf("runner: no command matched %q", s.Match)
		}
	}
}

// Look finds every program.
func (f *Fake) Look(name string) (string, error) { return "/usr/bin/" + name, nil }

// Run answers c from the first stub that matches and is not used up.
func (f *Fake) Run(_ context.Context, c Cmd) (Result, error) {
	f.t.Helper()
	if s := f.take(c); s != nil {
		return s.answer(c) // not under the lock: it may wait for another command
	}
	line := strings.Join(c.Argv, " ")
	f.t.Errorf("runner: unexpected command %q", line)
	return Result{ExitCode: 127}, fmt.Errorf("unexpected command %q", line)
}

// take gives the stub that answers c, or nil.
func (f *Fake) take(c Cmd) *Stub {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Calls = append(f.Calls, c.Argv)
	for i, s := range f.stubs {
		if f.used[i] < max(s.Times, 1) && regexp.MustCompile(s.Match).MatchString(strings.Join(c.Argv, " ")) {
			f.used[i]++
			return s
		}
	}
	return nil
}

func (s *Stub) answer(c Cmd) (Result, error) {
	if s.Do != nil {
		s.Do(c)
	}
	write(c.Stdout, s.Stdout)
	write(c.Stderr, s.Stderr)
	t := time.Unix(0, 0)
	return Result{ExitCode: s.Exit, Start: t, End: t.Add(time.Second)}, s.Err
}

func write(w io.Writer, text string) {
	if w != nil {
		io.WriteString(w, text)
	}
}
