package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/store"
)

// nearmetal runs the command line as a user would, without a terminal.
func nearmetal(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	d := Deps{In: strings.NewReader(""), Out: &o, Err: &e, Width: 80, Getenv: func(string) string { return "" }, Now: time.Now}
	code = Main(context.Background(), args, d)
	return o.String(), e.String(), code
}

// unwrapped undoes the wrapping of the terminal view.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }

// syntheticRun writes a run directory of OSU latency whose numbers are made
// up: the container's are slow times the native ones.
func syntheticRun(t *testing.T, dir string, blocks int, slow float64, done int) string {
	t.Helper()
	const name = "osu_latency: 1 node, 2 ranks"
	arms := []string{"native", "native-again", "container"}
	m := store.Manifest{Version: "test", Blocks: blocks, Cases: []bench.Case{{Suite: "osu", Name: name, Nodes: 1, Ranks: 2, Program: "osu_latency"}}}
	for _, a := range arms {
		m.Arms = append(m.Arms, store.Arm{Name: a})
	}
	for i := range (blocks + 1) * len(arms) {
		m.Schedule = append(m.Schedule, bench.Launch{ID: i, Block: i/len(arms) + bench.WarmUp, Arm: arms[i%len(arms)], Case: name})
	}
	d, err := store.Create(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, l := range m.Schedule[:min(done, len(m.Schedule))] {
		record(t, d, l, slow, rng)
	}
	return dir
}

func record(t *testing.T, d *store.Dir, l bench.Launch, slow float64, rng *rand.Rand) {
	t.Helper()
	rec, err := d.Begin(l)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(rec.Stdout, "\n# OSU MPI Latency Test v7.0\n# Size          Latency (us)\n")
	for b := 1; b <= 4096; b *= 4 {
		v := (40 + float64(b)/50) * (1 + 0.003*rng.NormFloat64())
		if l.Arm == "container" {
			v *= slow
		}
		fmt.Fprintf(rec.Stdout, "%-10d%20.2f\n", b, v)
	}
	at := time.Date(2026, 3, 14, 9, l.ID, 0, 0, time.UTC)
	if _, err := rec.Commit(bench.Run{Launch: l, Start: at, End: at.Add(time.Minute), Nodes: []string{"n1"}}); err != nil {
		t.Fatal(err)
	}
}

func TestCompareSaysEquivalent(t *testing.T) {
	run := syntheticRun(t, filepath.Join(t.TempDir(), "run1"), 12, 1, 99)
	out, errs, code := nearmetal("compare", run)
	if code != fail.OK || !strings.HasPrefix(unwrapped(out), "= container against native:") || !strings.Contains(unwrapped(out), "equivalent within ±2 % at all 7 sizes") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
}

func TestCompareExitsWith3OnARegression(t *testing.T) {
	run := syntheticRun(t, filepath.Join(t.TempDir(), "run1"), 12, 1.1, 99)
	out, errs, code := nearmetal("compare", run)
	if code != fail.Findings || !strings.Contains(out, "▲ slower") || errs != "" {
		t.Errorf("code %d, stderr %q\n%s", code, errs, out)
	}
	if _, _, code := nearmetal("compare", run, "--margin", "15%"); code != fail.OK {
		t.Errorf("within a margin of 15 %%: code %d", code)
	}
	if _, _, code := nearmetal("compare", run, "--base", "container", "--other", "native"); code != fail.OK {
		t.Errorf("native is faster than the container: code %d", code)
	}
}

func TestCompareJSON(t *testing.T) {
	run := syntheticRun(t, filepath.Join(t.TempDir(), "run1"), 8, 1, 99)
	out, _, _ := nearmetal("compare", run, "--json", "--margin", "3 %", "--confidence", "0.9")
	var c struct {
		Schema             string
		Margin, Confidence float64
		NoiseArm           string `json:"noise_arm"`
	}
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	if c.Schema != "nearmetal/comparison/v1" || c.Margin != 0.03 || c.Confidence != 0.9 || c.NoiseArm != "native-again" {
		t.Errorf("%+v", c)
	}
}

func TestCompareTwoRuns(t *testing.T) {
	dir := t.TempDir()
	a := syntheticRun(t, filepath.Join(dir, "before"), 10, 1, 99)
	b := syntheticRun(t, filepath.Join(dir, "after"), 10, 1.2, 99)
	out, _, code := nearmetal("compare", a, b)
	if code != fail.Findings || !strings.Contains(unwrapped(out), "after against before: latency, 1 node, 2 ranks: slower") {
		t.Errorf("code %d\n%s", code, out)
	}
	page := filepath.Join(dir, "report.html")
	if _, errs, code := nearmetal("report", a, b, "-o", page); code != fail.OK {
		t.Fatalf("code %d: %s", code, errs)
	}
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte("Mann–Whitney")) || !bytes.Contains(text, []byte("Every launch, size by size")) {
		t.Errorf("page of two runs lacks its method or its distributions (%v)", err)
	}
}

func TestWarmUpsAreNotReported(t *testing.T) {
	for _, runs := range [][]string{{syntheticRun(t, filepath.Join(t.TempDir(), "a"), 7, 1, 99)},
		{syntheticRun(t, filepath.Join(t.TempDir(), "b"), 7, 1, 99), syntheticRun(t, filepath.Join(t.TempDir(), "c"), 7, 1, 99)}} {
		r, err := loadReport(CompareOptions{Runs: runs})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Samples {
			if s.Block == bench.WarmUp {
				t.Fatalf("a warm-up is in the report: %+v", s)
			}
		}
		if want := 21 * len(runs); r.Run.Launches != want {
			t.Errorf("%d launches, want %d", r.Run.Launches, want)
		}
	}
}

func TestAnIncompleteRunIsComparedAndSaysSo(t *testing.T) {
	run := syntheticRun(t, filepath.Join(t.TempDir(), "run1"), 12, 1, 20)
	out, _, code := nearmetal("compare", run)
	if code != fail.OK || !strings.Contains(unwrapped(out), "20 of 39 launches are there; nearmetal bench --resume") {
		t.Errorf("code %d\n%s", code, out)
	}
}

func TestReportFormats(t *testing.T) {
	dir := t.TempDir()
	run := syntheticRun(t, filepath.Join(dir, "run1"), 8, 1, 99)
	for _, c := range []struct {
		args   []string
		prefix string
	}{
		{[]string{"-o", filepath.Join(dir, "r.html")}, "<!DOCTYPE html>"},
		{[]string{"-o", filepath.Join(dir, "r.md")}, "### "},
		{[]string{"-o", filepath.Join(dir, "r.json")}, "{"},
		{[]string{"-o", filepath.Join(dir, "r.html"), "--format", "term"}, "= container"},
		{[]string{"--format", "html"}, "<!DOCTYPE html>"},
		{nil, "= container"},
	} {
		out, errs, code := nearmetal(append([]string{"report", run}, c.args...)...)
		if len(c.args) > 0 && c.args[0] == "-o" {
			text, err := os.ReadFile(c.args[1])
			if err != nil || out != "" || !strings.Contains(errs, "container against native") {
				t.Fatalf("%v: %v, stdout %q, stderr %q", c.args, err, out, errs)
			}
			out = string(text)
		}
		if code != fail.OK || !strings.HasPrefix(out, c.prefix) {
			t.Errorf("%v: code %d, %.60q", c.args, code, out)
		}
	}
}

func TestReportRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	run := syntheticRun(t, filepath.Join(dir, "run1"), 8, 1, 99)
	empty := syntheticRun(t, filepath.Join(dir, "empty"), 8, 1, 0)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"report", run, "-o", filepath.Join(dir, "r.pdf")}, fail.Usage, `unknown format "pdf"`},
		{[]string{"report", run, "-o", filepath.Join(dir, "no", "r.html")}, fail.Failed, "no such file or directory"},
		{[]string{"report"}, fail.Usage, "takes RUN [RUN]"},
		{[]string{"compare", run, "--margin", "-2%"}, fail.Usage, "want a percentage"},
		{[]string{"compare", run, "--margin", "nan"}, fail.Usage, "want a percentage"},
		{[]string{"compare", run, "--other", "gpu"}, fail.Usage, `no arm "gpu"`},
		{[]string{"compare", empty}, fail.Failed, "no launch has given a result yet"},
		{[]string{"compare", dir}, fail.Usage, "not a run directory"},
	} {
		out, errs, code := nearmetal(c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || !strings.HasPrefix(errs, "error: ") || out != "" {
			t.Errorf("%v: code %d, stdout %q, stderr %q", c.args, code, out, errs)
		}
	}
}
