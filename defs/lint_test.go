package defs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func lintText(t *testing.T, text string) []string {
	t.Helper()
	stages, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, o := range Lint(stages) {
		if o.Line < 1 || o.Reason == "" || o.Change == "" || strings.ContainsAny(o.Text, "\n\x1b") {
			t.Errorf("unclear objection %+v", o)
		}
		codes = append(codes, o.Code)
	}
	slices.Sort(codes)
	return codes
}

// publicCase is a definition of somebody else: its address and what an expert
// objects to; found is what the linter said, and is written by -update.
type publicCase struct {
	Name     string   `json:"name"`
	Source   string   `json:"source"`
	Expected []string `json:"expected"`
}

type publicFound struct {
	Name  string   `json:"name"`
	Found []string `json:"found"`
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPublicDefinitions runs the linter on other people's definitions, which
// are not ours to give away: NEARMETAL_LINT_DEFS is a folder with NAME.def for
// the names and sources of testdata/lint/public/expected.json. Without it the
// recorded run is scored.
func TestPublicDefinitions(t *testing.T) {
	var want struct{ Cases []publicCase }
	readJSON(t, "testdata/lint/public/expected.json", &want)
	found := map[string][]string{}
	if dir := os.Getenv("NEARMETAL_LINT_DEFS"); dir != "" {
		for _, c := range want.Cases {
			found[c.Name] = lintText(t, read(t, filepath.Join(dir, c.Name+".def")))
		}
		record(t, want.Cases, found)
	} else {
		var list []publicFound
		readJSON(t, "testdata/lint/public/found.json", &list)
		for _, f := range list {
			found[f.Name] = f.Found
		}
	}
	if len(want.Cases) < 20 {
		t.Fatalf("%d definitions", len(want.Cases))
	}
	var hits, more, missed int
	for _, c := range want.Cases {
		for _, code := range c.Expected {
			if slices.Contains(found[c.Name], code) {
				hits++
			} else {
				missed++
				t.Logf("%s: missed %s", c.Name, code)
			}
		}
		for _, code := range found[c.Name] {
			if !slices.Contains(c.Expected, code) {
				more++
				t.Logf("%s: not expected: %s", c.Name, code)
			}
		}
	}
	precision, recall := float64(hits)/float64(hits+more), float64(hits)/float64(hits+missed)
	t.Logf("%d definitions, %d expected: precision %.3f, recall %.3f", len(want.Cases), hits+missed, precision, recall)
	if precision < 0.9 || recall < 0.9 {
		t.Error("below 0.9")
	}
}

func record(t *testing.T, cases []publicCase, found map[string][]string) {
	t.Helper()
	var list []publicFound
	for _, c := range cases {
		list = append(list, publicFound{c.Name, found[c.Name]})
	}
	b, err := json.MarshalIndent(list, "", " ")
	if err == nil && os.Getenv("NEARMETAL_LINT_RECORD") != "" {
		err = os.WriteFile("testdata/lint/public/found.json", append(b, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLintReduced: every definition made for the purpose gets the objections
// that its first line names, no other; together they name every code.
func TestLintReduced(t *testing.T) {
	files, err := filepath.Glob("testdata/lint/*.def")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		head, text, _ := strings.Cut(read(t, file), "\n")
		want := strings.Fields(strings.TrimPrefix(head, "# expect:"))
		slices.Sort(want)
		if got := lintText(t, text); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
		for _, code := range want {
			seen[code] = true
		}
	}
	for _, code := range LintCodes() {
		if !seen[code] {
			t.Errorf("no definition has %s", code)
		}
	}
}

// TestLintOurOwn: what nearmetal renders gives no reason but the base's tag and,
// for one stage, nothing else.
func TestLintOurOwn(t *testing.T) {
	for _, e := range Examples() {
		text, err := renderYAML(e.Text)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range lintText(t, text) {
			if code != "base-unpinned" && code != "mpi-ucx-off" {
				t.Errorf("%s: %s", e.Name, code)
			}
		}
	}
}

// TestProposedRecipesRender: what --fix proposes is a recipe that renders.
func TestProposedRecipesRender(t *testing.T) {
	files, _ := filepath.Glob("testdata/lint/*.def")
	if dir := os.Getenv("NEARMETAL_LINT_DEFS"); dir != "" {
		more, _ := filepath.Glob(filepath.Join(dir, "*.def"))
		files = append(files, more...)
	}
	for _, file := range files {
		stages, err := Parse(strings.NewReader(read(t, file)))
		if err != nil {
			t.Fatal(file, err)
		}
		if text, err := renderYAML(Propose(stages)); err != nil {
			t.Errorf("%s: %v\n%s", file, err, Propose(stages))
		} else if codes := lintText(t, text); slices.Contains(codes, "compilers-left") || slices.Contains(codes, "caches-left") {
			t.Errorf("%s: the proposal itself: %v", file, codes)
		}
	}
}

func FuzzLint(f *testing.F) {
	files, _ := filepath.Glob("testdata/lint/*.def")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		stages, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		_ = Propose(stages)
		for _, o := range Lint(stages) {
			if o.Line < 1 || o.Code == "" || len(o.Text) > 500 {
				t.Errorf("%+v", o)
			}
		}
	})
}
