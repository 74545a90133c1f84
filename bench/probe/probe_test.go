package probe

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
)

func TestArgs(t *testing.T) {
	cases := []struct {
		in   Options
		want string
	}{
		{Options{}, ""},
		{Options{Benchmarks: []string{"init", "bw"}, JSON: "-"}, "--bench init,bw --json -"},
		{Options{MinBytes: 8}, "-m 8:"},
		{Options{MaxBytes: 1024}, "-m 1024"},
		{Options{MinBytes: 1, MaxBytes: 4, Iterations: 9, WarmUp: 2, Window: 8, Verify: -1, Ranks: 2}, "-m 1:4 -i 9 -x 2 -W 8 -c 0 --expect-ranks 2"},
		{Options{Budget: 2500 * time.Microsecond}, "--budget-ms 2.5"},
	}
	for _, c := range cases {
		got, err := c.in.Args()
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.in, got, err, c.want)
		}
	}
}

func TestArgsRefusesBadOptions(t *testing.T) {
	for _, o := range []Options{
		{Benchmarks: []string{"latency", "latncy"}},
		{MinBytes: 8, MaxBytes: 4},
		{Iterations: -1},
		{Budget: -time.Second},
	} {
		if _, err := o.Args(); fail.Code(err) != fail.Usage {
			t.Errorf("%+v: %v, want a usage error", o, err)
		}
	}
}

// The catalogue in C is the truth: names, in order.
func TestCatalogueIsThatOfTheSource(t *testing.T) {
	src, err := os.ReadFile("src/catalogue.c")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^    \{"(\w+)", "MPI`).FindAllSubmatch(src, -1) {
		names = append(names, string(m[1]))
	}
	if !slices.Equal(names, Names()) {
		t.Errorf("source has %v, package has %v", names, Names())
	}
}

func parseFile(t *testing.T, name string) (Result, []byte, error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Parse(bytes.NewReader(text))
	return res, text, err
}

var pointLine = regexp.MustCompile(`(?m)"type":"point"`)

func TestNoPointIsLost(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	if len(files) < 6 {
		t.Fatalf("only %d fixtures", len(files))
	}
	for _, f := range files {
		name := filepath.Base(f)
		if strings.Contains(name, "singletons") {
			continue // TestSingletonsAreRefused
		}
		res, text, err := parseFile(t, name)
		if bad := strings.Contains(name, "corrupt"); (err != nil) != bad {
			t.Errorf("%s: error %v", name, err)
		}
		if want := len(pointLine.FindAll(text, -1)); len(res.Points) != want || want == 0 {
			t.Errorf("%s: %d points, %d in the file", name, len(res.Points), want)
		}
		if len(res.Warnings) != 0 {
			t.Errorf("%s: warnings %v", name, res.Warnings)
		}
	}
}

func TestEnvironmentIsRead(t *testing.T) {
	res, _, err := parseFile(t, "openmpi-4.1.4-n4-tag-output.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	e := res.Env
	if e.World != 4 || len(e.Ranks) != 4 || e.Ranks[3].Rank != 3 || e.Ranks[0].Host != "vm" {
		t.Errorf("ranks: %+v", e.Ranks)
	}
	if !strings.HasPrefix(e.MPI, "Open MPI v4.1.4") || !strings.Contains(e.PMIx, "4.2.2") || e.UCX != "" {
		t.Errorf("versions: %q %q %q", e.MPI, e.PMIx, e.UCX)
	}
	if r := e.Ranks[1]; r.UserNS == 0 || r.MntNS == 0 || r.CPUs == "" || r.InitMS <= 0 || r.AgeMS == nil {
		t.Errorf("facts missing: %+v", r)
	}
}

func TestSamples(t *testing.T) {
	res, _, err := parseFile(t, "openmpi-4.1.4-n4-tag-output.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	l := bench.Launch{ID: 7, Block: 3, Arm: "container", Case: "1 node, 4 ranks"}
	got := res.Samples(l)
	if len(got) != 1+4*2+1 {
		t.Fatalf("%d samples: %+v", len(got), got)
	}
	want := bench.Sample{Suite: "mpi", Benchmark: "init", Placement: l.Case, Metric: "time", Unit: "ms",
		Size: bench.NoSize, Arm: "container", Block: 3, Launch: 7, Value: 336.230703}
	if got[0] != want {
		t.Errorf("init: %+v, want %+v", got[0], want)
	}
	if s := got[2]; s.Metric != "message-rate" || s.Unit != "msg/s" || s.Size != 1 || s.Value != 5189731.31 {
		t.Errorf("rate: %+v", s)
	}
}

func TestMediansAndTails(t *testing.T) {
	res, _, _ := parseFile(t, "openmpi-4.1.4-n2-all.jsonl")
	count := map[string]int{}
	for _, s := range append(res.Medians(bench.Launch{}), res.Tails(bench.Launch{})...) {
		count[s.Benchmark+" "+s.Metric+" "+s.Unit]++
		if !(s.Value > 0) {
			t.Errorf("%+v", s)
		}
	}
	for name, want := range map[string]int{
		"latency latency-p50 us": 23, "bw bandwidth-p50 MB/s": 23, "bibw bandwidth-p50 MB/s": 23,
		"barrier latency-p50 us": 1, "mbw_mr bandwidth-p50 MB/s": 0, "init time-p50 ms": 0,
	} {
		if count[name] != want {
			t.Errorf("%s: %d, want %d", name, count[name], want)
		}
	}
	if n := count["latency latency-p99 us"]; n == 0 || n > 23 {
		t.Errorf("%d tails", n)
	}
}

func TestPercentilesAreOrdered(t *testing.T) {
	res, _, _ := parseFile(t, "openmpi-4.1.4-n2-all.jsonl")
	for _, p := range res.Points {
		s := p.TimeUS
		if !slices.IsSorted([]float64{s.Min, s.P50, s.P90, s.P99, s.P999, s.Max}) || s.Mean < s.Min || s.Mean > s.Max || s.N < 1 {
			t.Errorf("%s %d: %+v", p.Bench, p.Size, s)
		}
	}
}

func TestWrongDataIsAnError(t *testing.T) {
	res, _, err := parseFile(t, "openmpi-4.1.4-n2-corrupt.jsonl")
	if err == nil || !strings.Contains(err.Error(), "bytes were wrong") || len(res.Points) == 0 {
		t.Errorf("%v with %d points", err, len(res.Points))
	}
}

func TestSingletonsAreRefused(t *testing.T) {
	if _, _, err := parseFile(t, "openmpi-4.1.4-singletons.jsonl"); err == nil || !strings.Contains(err.Error(), "a world of its own") {
		t.Errorf("error %v", err)
	}
}

func TestEveryCutIsNoticed(t *testing.T) {
	_, text, err := parseFile(t, "openmpi-4.1.4-n4-tag-output.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(text, "\n"))
	for n := range end {
		if _, err := Parse(bytes.NewReader(text[:n])); err == nil {
			t.Fatalf("cut after %d of %d bytes: no error", n, end)
		}
	}
}

func TestChatterAndBrokenLines(t *testing.T) {
	_, text, _ := parseFile(t, "openmpi-4.1.4-n4-tag-output.jsonl")
	lines := strings.SplitAfter(string(text), "\n")
	noisy := "libibverbs: Warning: couldn't load driver\n" + strings.Join(lines, "[1733000000.1] UCX  WARN  x\n")
	if res, err := Parse(strings.NewReader(noisy)); err != nil || len(res.Points) != 6 {
		t.Errorf("chatter: %d points, %v", len(res.Points), err)
	}
	glued := strings.ReplaceAll(string(text), "\n[1,0]<stdout>:", "")
	if res, err := Parse(strings.NewReader(glued)); err != nil || len(res.Points) != 6 {
		t.Errorf("glued lines: %d points, %v", len(res.Points), err)
	}
	lines[2] = strings.Replace(lines[2], `"value":`, `"value":oops`, 1)
	res, err := Parse(strings.NewReader(strings.Join(lines, "")))
	if err == nil || len(res.Warnings) == 0 || res.Warnings[0].Line != 3 {
		t.Errorf("a lost point passed: %v, %v", err, res.Warnings)
	}
}

func TestOtherSchemaIsRefused(t *testing.T) {
	_, err := Parse(strings.NewReader(`{"type":"env","schema":"nearmetal/probe/v9"}`))
	var f *fail.Error
	if !errors.As(err, &f) || f.Hint == "" {
		t.Errorf("error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:min(len(text), 4<<10)])
		f.Add(text[max(0, len(text)-2<<10):])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		res, err := Parse(bytes.NewReader(text))
		if err == nil && (len(res.Points) == 0 && res.End.Points != 0 || res.End == nil) {
			t.Error("success without an end")
		}
		for _, s := range res.Samples(bench.Launch{}) {
			if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) || s.Value <= 0 {
				t.Errorf("sample %+v", s)
			}
		}
	})
}
