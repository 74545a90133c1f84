package nccl

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/bench"
)

// dataRow is what a person takes for a row of a table.
var dataRow = regexp.MustCompile(`(?m)^\s+\d+\s+\d+\s+(?:float|half|double|u?int\d+|bfloat16|f8\w+)\s`)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func fixtures(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	return files
}

func TestNoRowIsLost(t *testing.T) {
	for _, f := range fixtures(t) {
		text := fixture(t, filepath.Base(f))
		res, err := Parse(bytes.NewReader(text))
		if bad := strings.Contains(f, "wrong"); (err != nil) != bad {
			t.Errorf("%s: %v", f, err)
		}
		if want := len(dataRow.FindAll(text, -1)); len(res.Rows) != want || want == 0 || len(res.Warnings) != 0 {
			t.Errorf("%s: %d rows, %d in the file, %v", f, len(res.Rows), want, res.Warnings)
		}
	}
}

func TestValues(t *testing.T) {
	res, err := Parse(bytes.NewReader(fixture(t, "all_reduce_perf-2xH200.txt")))
	if err != nil {
		t.Fatal(err)
	}
	last := res.Rows[len(res.Rows)-1]
	if res.Program != "all_reduce_perf" || res.Version != "2.19.6" || res.Library != "22809" || len(res.Devices) != 2 || res.Devices[1].GPU != "NVIDIA H200" || res.AvgBusBW != 96.7937 {
		t.Errorf("%+v", res)
	}
	if last.Size != 2<<30 || last.Op != "sum" || last.Out.TimeUS != 6339.13 || last.Out.BusBW != 338.77 || last.InPlace.BusBW != 340.06 || *last.Out.Wrong != 0 {
		t.Errorf("%+v %+v", last, last.Out)
	}
	send, _ := Parse(bytes.NewReader(fixture(t, "sendrecv_perf-2xH200.txt")))
	if b := send.Rows[0].InPlace; b == nil || b.Wrong != nil || b.TimeUS != 26.68 {
		t.Errorf("N/A is not zero wrong elements: %+v", b)
	}
}

func TestOldFormats(t *testing.T) {
	res, err := Parse(bytes.NewReader(fixture(t, "synthetic-2.0-broadcast.txt")))
	if err != nil || len(res.Rows) != 2 || res.Rows[1].Root != "0" || res.Rows[1].Out.BusBW != 11.86 || res.Rows[1].Out.Wrong != nil {
		t.Errorf("%+v, %v", res.Rows, err)
	}
	res, err = Parse(bytes.NewReader(fixture(t, "synthetic-per-iteration.txt")))
	if err != nil || len(res.Rows) != 2 || res.Rows[0].Out.Iter == nil || res.Rows[0].Out.Iter.P99 != 19.84 || res.Rows[0].InPlace.Iter.Max != 21.02 {
		t.Errorf("%+v, %v", res.Rows, err)
	}
}

func TestWrongDataIsAnError(t *testing.T) {
	res, err := Parse(bytes.NewReader(fixture(t, "synthetic-wrong.txt")))
	if err == nil || !strings.Contains(err.Error(), "wrong") || len(res.Rows) != 1 {
		t.Errorf("%d rows, %v", len(res.Rows), err)
	}
}

// TestEveryCutIsNoticed cuts a good output anywhere before its summary.
func TestEveryCutIsNoticed(t *testing.T) {
	text := fixture(t, "all_reduce_perf-2xH200.txt")
	end := bytes.Index(text, []byte("# Avg bus"))
	for n := range end {
		if _, err := Parse(bytes.NewReader(text[:n])); err == nil {
			t.Fatalf("cut after %d of %d bytes: no error", n, len(text))
		}
	}
}

func TestACutRowIsAWarning(t *testing.T) {
	text := string(fixture(t, "sendrecv_perf-2xH200.txt"))
	broken := strings.Replace(text, "   16.68   31.44   31.44       0    16.16   32.44   32.44    N/A", "   16.68", 1)
	res, err := Parse(strings.NewReader(broken))
	if err != nil || len(res.Rows) != 5 || len(res.Warnings) != 1 || res.Warnings[0].Line != 13 {
		t.Errorf("%d rows, %+v, %v", len(res.Rows), res.Warnings, err)
	}
}

func TestPrefixes(t *testing.T) {
	text := string(fixture(t, "all_reduce_perf-2xH200.txt"))
	for _, prefix := range []string{"0: ", "[1,0]<stdout>: "} {
		lines := strings.SplitAfter(text, "\n")
		res, err := Parse(strings.NewReader(prefix + strings.Join(lines[:len(lines)-1], prefix)))
		if err != nil || len(res.Rows) != 15 {
			t.Errorf("%q: %d rows, %v", prefix, len(res.Rows), err)
		}
	}
}

// TestJSONSaysWhatTheTextSays writes the rows of a text as util.cu does.
func TestJSONSaysWhatTheTextSays(t *testing.T) {
	want, err := Parse(bytes.NewReader(fixture(t, "all_reduce_perf-2xH200.txt")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(strings.NewReader(asJSON(want)))
	if err != nil || got.Program != want.Program || len(got.Rows) != len(want.Rows) || got.Library != want.Library || len(got.Devices) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range want.Rows {
		a, b := want.Rows[i], got.Rows[i]
		if a.Size != b.Size || a.Out.TimeUS != b.Out.TimeUS || a.InPlace.BusBW != b.InPlace.BusBW || *b.Out.Wrong != 0 {
			t.Errorf("row %d: %+v, want %+v", i, b, a)
		}
	}
	whole := asJSON(want)
	if _, err := Parse(strings.NewReader(whole[:len(whole)-3])); err == nil {
		t.Error("a cut file passed")
	}
}

// asJSON is the form of src/util.cu, version 1: booleans and roots as strings.
func asJSON(r Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"version":1,"start_time":"2026-11-30T18:00:00","args":["./build/%s","-g","2"],"env":["A=1"],"nccl_version":%s,"config":{"nthreads":1,"ngpus":2,"devices":[`, r.Program, r.Library)
	for i, d := range r.Devices {
		fmt.Fprintf(&b, `%s{"rank":%d,"group":0,"pid":1,"hostname":"%s","device":%d,"device_hex":"0000:00:06","device_info":"%s"}`, comma(i), d.Rank, d.Host, i, d.GPU)
	}
	b.WriteString(`]},"results":[`)
	body := func(x *Body) string {
		return fmt.Sprintf(`{"time":%f,"alg_bw":%f,"bus_bw":%f,"nwrong":%f}`, x.TimeUS, x.AlgBW, x.BusBW, *x.Wrong)
	}
	for i, row := range r.Rows {
		fmt.Fprintf(&b, `%s{"size":%d,"count":%d,"type":"%s","redop":"%s","root":"    %s","out_of_place":%s,"in_place":%s,"actual_iterations":20,"experiment_name":""}`,
			comma(i), row.Size, row.Count, row.Type, row.Op, row.Root, body(row.Out), body(row.InPlace))
	}
	b.WriteString(`],"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":96.793700,"okay":"unchecked"},"end_time":"x"}`)
	return b.String()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

func TestSamples(t *testing.T) {
	res, _ := Parse(bytes.NewReader(fixture(t, "all_reduce_perf-2xH200.txt")))
	got := res.Samples(bench.Launch{ID: 3, Block: 1, Arm: "container", Case: "1 node, 2 ranks"}, "x_perf")
	count := map[string]int{}
	for _, s := range got {
		count[s.Benchmark+" "+s.Metric+" "+s.Unit]++
	}
	if count["all_reduce time us"] != 15 || count["all_reduce-in-place time us"] != 15 || count["all_reduce busbw GB/s"] != 13 {
		t.Errorf("%v", count)
	}
	if s := got[0]; s.Suite != "nccl" || s.Size != 8 || s.Value != 18.62 || s.Launch != 3 || s.Placement != "1 node, 2 ranks" {
		t.Errorf("%+v", s)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range fixtures(f) {
		text := fixture(f, filepath.Base(name))
		f.Add(text)
		if res, err := Parse(bytes.NewReader(text)); err == nil && res.Rows[0].Out != nil && res.Rows[0].Out.Wrong != nil && res.Rows[0].InPlace.Wrong != nil {
			f.Add([]byte(asJSON(res)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		res, err := Parse(bytes.NewReader(text))
		if err == nil && len(res.Rows) == 0 {
			t.Error("success without a row")
		}
		for _, s := range res.Samples(bench.Launch{}, "") {
			if !(s.Value > 0) || math.IsInf(s.Value, 0) {
				t.Errorf("%+v", s)
			}
		}
	})
}
