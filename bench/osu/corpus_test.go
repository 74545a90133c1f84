package osu

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// capture is the output of one launch; Name is its command.
type capture struct {
	File, Name, Text string
}

func captures(t testing.TB, pattern string) []capture {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("testdata", pattern))
	if len(files) == 0 {
		t.Fatalf("no fixtures %s", pattern)
	}
	var out []capture
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range a.Files {
			out = append(out, capture{filepath.Base(f), e.Name, string(e.Data)})
		}
	}
	return out
}

func good(t testing.TB) []capture {
	return append(captures(t, "omb-*.txtar"), captures(t, "launchers-*.txtar")...)
}

// rowLine knows nothing of tables: a line that is a size and decimals, or one
// decimal and more, or the line of a startup program, after a launcher's tag.
var rowLine = regexp.MustCompile(`(?m)^(?:[^#\n]*<stdout>:|\[\d+\] |\d+: )? *(?:(?:\d+ +)?-?\d+\.\d\d(?: .*)?|nprocs: .*|This is a test with .*)$`)

func TestNoRowIsLost(t *testing.T) {
	total := 0
	for _, c := range good(t) {
		res, err := Parse(strings.NewReader(c.Text))
		if err != nil {
			t.Errorf("%s: %s: %v", c.File, c.Name, err)
		}
		rows := 0
		for _, b := range res.Blocks {
			rows += len(b.Rows)
		}
		if want := len(rowLine.FindAllString(c.Text, -1)); rows != want {
			t.Errorf("%s: %s: %d rows read, %d lines look like rows", c.File, c.Name, rows, want)
		}
		total += rows
	}
	t.Logf("%d rows", total)
}

func TestFailedRunsAreErrors(t *testing.T) {
	for _, c := range captures(t, "failed.txtar") {
		if _, err := Parse(strings.NewReader(c.Text)); err == nil {
			t.Errorf("%s: no error", c.Name)
		}
	}
}

// Every program of the catalogue was captured, in the name of its command.
func TestCatalogueHasFixtures(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range good(t) {
		for _, word := range strings.Fields(c.Name) {
			seen[word] = true
		}
	}
	for _, p := range Catalogue {
		if !seen[p.Name] {
			t.Errorf("no fixture of %s", p.Name)
		}
	}
}

// sameTitle are programs whose title is another's (see Catalogue).
var sameTitle = map[string]string{
	"osu_bw_fan_in": "osu_bw", "osu_bw_fan_out": "osu_bw", "osu_neighbor_alltoallw": "osu_alltoallw",
}

func TestProgramsAreIdentified(t *testing.T) {
	program := regexp.MustCompile(`osu_\w+`)
	for _, c := range good(t) {
		want := program.FindString(c.Name)
		if other := sameTitle[want]; other != "" {
			want = other
		}
		if want == "osu_ialltoallw" && strings.Contains(c.File, "5.3") {
			want = "osu_ialltoallv"
		}
		p, ok := Find(want)
		if !ok {
			t.Errorf("%s is not in the catalogue", want)
			continue
		}
		res, _ := Parse(strings.NewReader(c.Text))
		for _, b := range res.Blocks {
			if b.Program != want {
				t.Errorf("%s: %s: taken for %q (%q)", c.File, c.Name, b.Program, b.Title)
			}
			if !hasMetric(b, p.Metric) {
				t.Errorf("%s: %s: no %s among %v", c.File, c.Name, p.Metric, b.Columns)
			}
		}
	}
}

func hasMetric(b *Block, metric string) bool {
	for _, c := range b.Columns {
		if c.Metric == metric || b.Section != "" && c.Head {
			return true
		}
	}
	return false
}

func TestGolden(t *testing.T) {
	byFile := map[string]*strings.Builder{}
	for _, c := range append(good(t), captures(t, "failed.txtar")...) {
		if byFile[c.File] == nil {
			byFile[c.File] = &strings.Builder{}
		}
		summarise(byFile[c.File], c)
	}
	for file, got := range byFile {
		path := filepath.Join("testdata", "golden", strings.TrimSuffix(file, ".txtar")+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s differs; look at git diff after go test -update", path)
		}
	}
}

func summarise(w *strings.Builder, c capture) {
	res, err := Parse(strings.NewReader(c.Text))
	fmt.Fprintf(w, "%s\n", c.Name)
	for _, b := range res.Blocks {
		fmt.Fprintf(w, "  %s %s", b.Benchmark(), b.Version)
		for _, extra := range []string{b.Label, b.Datatype, b.Window, b.Synchronization, b.Section, strings.Join(b.Notes, "; ")} {
			if extra != "" {
				fmt.Fprintf(w, " | %s", extra)
			}
		}
		fmt.Fprintln(w)
		for _, col := range b.Columns {
			fmt.Fprintf(w, "    %s → %s %s\n", col.Text, col.Metric, col.Unit)
		}
		for _, r := range b.Rows {
			fmt.Fprintf(w, "    %d: %v %s\n", r.Size, r.Values, r.Check)
		}
	}
	for _, warning := range res.Warnings {
		fmt.Fprintf(w, "  line %d: %s\n", warning.Line, warning.Text)
	}
	if err != nil {
		fmt.Fprintf(w, "  error: %v\n", err)
	}
}
