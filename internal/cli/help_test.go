package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/campaign"
	"github.com/nearmetal/nearmetal/internal/fail"
)

func TestEachVerbHasHelpWithExamples(t *testing.T) {
	for _, c := range verbs(Deps{Getenv: os.Getenv}) {
		code, out, errs := call(t, nil, c.Name(), "--help")
		if code != fail.OK || errs != "" || !strings.Contains(out, "\nExamples:\n  nearmetal "+c.Name()) {
			t.Errorf("%s --help: exit code %d, stderr %q, or no example", c.Name(), code, errs)
		}
		_, flags, _ := strings.Cut(out, "\nFlags:\n")
		for line := range strings.Lines(flags) {
			if len([]rune(line)) > 81 {
				t.Errorf("%s --help is wider than 80 columns: %q", c.Name(), line)
			}
		}
	}
}

func TestRootHelpFollowsTheJob(t *testing.T) {
	code, out, errs := call(t, nil)
	if code != fail.OK || errs != "" {
		t.Fatal(code, errs)
	}
	at := 0
	for _, want := range []string{"\nMake an image:", "\n  init ", "\n  build ", "\nLaunch and measure:", "\n  run ", "\n  bench ", "\nRead the result:", "\n  compare ", "\n  report "} {
		i := strings.Index(out[at:], want)
		if i < 0 {
			t.Fatalf("%q is not there, or out of order, in:\n%s", want, out)
		}
		at += i
	}
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 81 {
			t.Errorf("wider than 80 columns: %q", line)
		}
	}
}

func TestWrongUsageHasItsExitCodeAndAHint(t *testing.T) {
	for _, c := range []struct {
		args []string
		hint string
	}{
		{[]string{"buidl"}, "nearmetal build"},
		{[]string{"nothing-like-it"}, "nearmetal --help"},
		{[]string{"help", "buidl"}, "nearmetal build"},
		{[]string{"init", "a", "b"}, "nearmetal init --help"},
		{[]string{"status", "a", "b"}, "nearmetal status --help"},
		{[]string{"fetch", "a", "b"}, "nearmetal fetch --help"},
		{[]string{"compare"}, "nearmetal compare --help"},
		{[]string{"--nope"}, "nearmetal --help"},
	} {
		code, out, errs := call(t, nil, c.args...)
		if code != fail.Usage || out != "" || !strings.Contains(errs, "\nhint: ") || !strings.Contains(errs, c.hint) {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", c.args, code, out, errs)
		}
	}
	if code, out, _ := call(t, nil, "help", "def"); code != fail.OK || !strings.Contains(out, "nearmetal def RECIPE") {
		t.Error("nearmetal help def:", code, out)
	}
}

func TestWriteErrorsNameTheFileAskedFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no", "x.def")
	code, _, errs := call(t, nil, "def", "openmpi-debian", "-o", file)
	if code != fail.Failed || !strings.HasPrefix(errs, "error: cannot write "+file+": no such file") || !strings.Contains(errs, "hint: mkdir -p ") {
		t.Error(code, errs)
	}
}

func TestAFailedLaunchSaysWhereItsOutputIs(t *testing.T) {
	var errs bytes.Buffer
	p := newLaunchProgress(Deps{Err: &errs, Width: 80}, "/runs/a b")
	l := bench.Launch{ID: 8, Arm: "native", Case: "2 nodes, 2 ranks"}
	p.launch(9, 66, l, &bench.Run{Launch: l, Exit: 14, Stderr: "raw/0008-native/stderr"})
	if got := errs.String(); !strings.Contains(got, ": failed (exit code 14), 0.0 s") || !strings.Contains(got, "\n  what it said: /runs/a b/raw/0008-native/stderr\n") {
		t.Error(got)
	}
}

func TestTheListOfRunsHasAHeadAndTellsFailures(t *testing.T) {
	var out bytes.Buffer
	runs := []campaign.Status{{Job: "29", State: campaign.Finished, Done: 12, Total: 12, Dir: "/runs/a"}, {State: campaign.Stopped, Done: 19, Total: 42, Failures: 12, Dir: "/runs/b"}}
	if err := tableOfRuns(&out, runs); err != nil {
		t.Fatal(err)
	}
	want := "JOB  STATE     LAUNCHES  FAILED  RUN DIRECTORY\n" +
		"29   finished  12/12     0       /runs/a\n" +
		"-    stopped   19/42     12      /runs/b\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
