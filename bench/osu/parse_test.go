package osu

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/bench/probe"
)

const latency = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n1                       0.44\n2                       0.00\n"

func parse(t *testing.T, text string) Result {
	t.Helper()
	res, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return res
}

func TestSamples(t *testing.T) {
	l := bench.Launch{ID: 4, Block: 2, Arm: "native", Case: "2 nodes, 2 ranks"}
	got := parse(t, latency).Samples(l)
	want := bench.Sample{Suite: "osu", Benchmark: "latency", Placement: l.Case, Metric: "latency", Unit: "us", Size: 1, Arm: "native", Block: 2, Launch: 4, Value: 0.44}
	if len(got) != 2 || got[0] != want || got[1].Value != 0 {
		t.Errorf("%+v", got)
	}
}

func TestSamplesOfSeveralDatatypesAreKeptApart(t *testing.T) {
	text := "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size  Avg Latency(us)\n4  1.00\n# Datatype: MPI_INT.\n# Size  Avg Latency(us)\n4  2.00\n"
	got := parse(t, text).Samples(bench.Launch{})
	if len(got) != 2 || got[0].Benchmark != "latency-char" || got[1].Benchmark != "latency-int" {
		t.Errorf("%+v", got)
	}
}

func TestDeviceBuffers(t *testing.T) { // title and note as osu_util_mpi.c prints them with -d cuda
	text := strings.Replace(latency, "MPI Latency Test v7.4", "MPI-CUDA MANAGED Latency Test v5.7\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)", 1)
	b := parse(t, text).Blocks[0]
	if b.Program != "osu_latency" || b.Device != "CUDA MANAGED" || b.Benchmark() != "latency-CUDA MANAGED" || len(b.Notes) != 1 || len(b.Rows) != 2 {
		t.Errorf("%+v", b)
	}
	if p, d := identify("MPI_Put-ROCM latency"); p != "osu_put_latency" || d != "ROCM" {
		t.Errorf("one-sided: %q %q", p, d)
	}
}

func TestPrefixes(t *testing.T) {
	for prefix, label := range map[string]string{
		"0: ": "0", " 12: ": "12",
		"[1,0]<stdout>:":                           "0",
		"[1,3]<stdout>: ":                          "3",
		"Mon Nov 30 18:59:35 2026[1,0]<stdout>:":   "0",
		"Mon Nov  2 18:59:35 2026<stdout>:":        "",
		"[prterun-n1-4711@1,0]<stdout>: ":          "0",
		"[7] ":                                     "7",
		"2026-11-30T18:59:35.123456+01:00 ":        "",
		"[2026-11-30 18:59:35] ":                   "",
		"Nov 30 18:59:35 ":                         "",
		"2026-11-30T18:59:35Z 3: ":                 "3",
		"2026-11-30T18:59:35.001Z [1,2]<stdout>: ": "2",
	} {
		text := prefix + strings.ReplaceAll(strings.TrimSuffix(latency, "\n"), "\n", "\n"+prefix) + "\n"
		res, err := Parse(strings.NewReader(text))
		if err != nil || len(res.Blocks) != 1 || len(res.Blocks[0].Rows) != 2 || res.Blocks[0].Label != label || len(res.Warnings) != 0 {
			t.Errorf("%q: %v %+v %v", prefix, err, res.Blocks, res.Warnings)
		}
	}
}

// srun --label without PMIx: every task prints a table of its own.
func TestInterleavedTasksAreKeptApart(t *testing.T) {
	var text strings.Builder
	for _, line := range strings.SplitAfter(latency, "\n") {
		if line != "" {
			text.WriteString("0: " + line + "1: " + strings.Replace(line, "0.44", "0.55", 1))
		}
	}
	res := parse(t, text.String())
	if len(res.Blocks) != 2 || res.Blocks[1].Label != "1" || res.Blocks[1].Rows[0].Values[0] != 0.55 || len(res.Blocks[0].Rows) != 2 {
		t.Errorf("%+v", res)
	}
}

func TestChatterInTables(t *testing.T) {
	lines := strings.SplitAfter(latency, "\n")
	text := strings.Join(lines, "[n1:4711] UCX  WARN  transport 'x' is not available\n\nlibibverbs: Warning: no driver\n")
	if b := parse(t, text).Blocks[0]; len(b.Rows) != 2 {
		t.Errorf("%+v", b.Rows)
	}
}

func TestOddRowsAreWarnedOf(t *testing.T) {
	for row, want := range map[string]string{
		"4":                                 "row cut off",
		"4      ":                           "row cut off",
		"4           0.4":                   "cut off",
		"4           12":                    "cut off",
		"4           0.44[n1:1] warning":    "cut off or no number",
		"4x          0.44":                  "no number of bytes",
		"99999999999999999999 0.44":         "no number of bytes",
		"4           0.44 [n1:1] a warning": "text behind a row",
		"WARNING x   4    0.44":             "behind other text",
		"2           0.44":                  "second time",
		"4           nan":                   "not finite",
		"4           inf":                   "not finite",
	} {
		res := parse(t, latency+row+"\n")
		if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0].Text, want) || res.Warnings[0].Line != 5 {
			t.Errorf("%q: %v, want %q", row, res.Warnings, want)
		}
	}
}

func TestFailures(t *testing.T) {
	head := "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n"
	for text, want := range map[string]string{
		"":                              "no OSU table",
		"srun: error: n1: task 0\n":     "no OSU table",
		head:                            "line 1: osu_latency printed its heading and no result",
		"# OSU MPI Latency Test v7.4\n": "printed its heading and no result",
		latency + head:                  "line 5: osu_latency printed its heading",
		"# OSU MPI Latency Test v7.4\n# Size          Latency (us)          Validation\n1                       0.44                Fail\n": "line 3: osu_latency: validation failed",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Cut anywhere, a table gives the rows before the cut, never another number.
func TestCutsNeverChangeAValue(t *testing.T) {
	for _, c := range good(t)[:40] {
		whole := parse(t, c.Text)
		for n := range len(c.Text) {
			res, _ := Parse(strings.NewReader(c.Text[:n]))
			for i, b := range res.Blocks {
				for j, row := range b.Rows {
					if !sameRow(row, whole.Blocks[i].Rows[j], len(res.Warnings) > 0) {
						t.Fatalf("%s cut at %d: %v, whole %v", c.Name, n, row, whole.Blocks[i].Rows[j])
					}
				}
			}
		}
	}
}

// sameRow lets the last column of a row with a warning differ: a cut count
// ("10" of "1000 iterations") cannot be told from a whole one.
func sameRow(got, want Row, warned bool) bool {
	for i, v := range got.Values {
		last := warned && i == len(got.Values)-1
		if v != want.Values[i] && !(math.IsNaN(v) && math.IsNaN(want.Values[i])) && !last {
			return false
		}
	}
	return got.Size == want.Size
}

// The probe's text is read here; the same launch wrote JSON.
func TestProbeTextAgreesWithItsJSON(t *testing.T) {
	dir := "../probe/testdata/openmpi-4.1.4-n4-all"
	text, err := os.Open(dir + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	lines, err := os.Open(dir + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	fromText, err := Parse(text)
	if err != nil || len(fromText.Warnings) > 0 {
		t.Fatal(err, fromText.Warnings)
	}
	fromJSON, err := probe.Parse(lines)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, fromText.Samples(bench.Launch{}), fromJSON.Samples(bench.Launch{}))
}

func compare(t *testing.T, text, json []bench.Sample) {
	t.Helper()
	if len(text) != len(json) || len(text) < 100 {
		t.Fatalf("%d samples from text, %d from JSON", len(text), len(json))
	}
	for i, a := range text {
		b := json[i]
		if a.Benchmark != b.Benchmark || a.Size != b.Size || a.Metric != b.Metric || a.Unit != b.Unit || math.Abs(a.Value-b.Value) > 0.0051+1e-8*b.Value {
			t.Errorf("text %+v, JSON %+v", a, b)
		}
	}
}

func FuzzParse(f *testing.F) {
	for i, c := range append(good(f), captures(f, "failed.txtar")...) {
		if i%7 == 0 && len(c.Text) < 4<<10 {
			f.Add(c.Text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		res, err := Parse(strings.NewReader(text))
		rows := 0
		for _, b := range res.Blocks {
			rows += len(b.Rows)
			for _, r := range b.Rows {
				if len(r.Values) != len(b.Columns) {
					t.Errorf("%d values in %d columns", len(r.Values), len(b.Columns))
				}
			}
		}
		if err == nil && rows == 0 {
			t.Error("success without a row")
		}
		res.AllSamples(bench.Launch{})
	})
}
