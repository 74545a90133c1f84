package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type fixture struct{ key, context, yes, no string }

func fixtures(t *testing.T) []fixture {
	t.Helper()
	b, err := os.ReadFile("testdata/fixtures/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []fixture
	for i, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if strings.HasPrefix(l, "#") {
			continue
		}
		f := strings.Split(l, " | ")
		if len(f) < 3 {
			f = strings.Split(strings.Replace(l, " | | ", " |  | ", 1), " | ")
		}
		if len(f) != 4 {
			t.Fatalf("line %d has %d fields", i+1, len(f))
		}
		out = append(out, fixture{f[0], f[1], strings.ReplaceAll(f[2], "⏎", "\n"), strings.ReplaceAll(f[3], "⏎", "\n")})
	}
	return out
}

func keysOf(t *testing.T, text, context string) []string {
	t.Helper()
	s, err := doctor(t).Scan(strings.NewReader(text+"\n"), "fixture")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, f := range doctor(t).Run(Input{Signals: s, Context: context}) {
		keys = append(keys, f.Key)
	}
	return keys
}

// TestFixtures holds that each text means its cause and the near miss does not.
func TestFixtures(t *testing.T) {
	for _, f := range fixtures(t) {
		if keys := keysOf(t, f.yes, f.context); !slices.Contains(keys, f.key) {
			t.Errorf("%s: %q gives %v", f.key, f.yes, keys)
		}
		if keys := keysOf(t, f.no, f.context); slices.Contains(keys, f.key) {
			t.Errorf("%s: the near miss %q is taken for it", f.key, f.no)
		}
	}
}

// TestEveryCheckHasAFixture walks the catalogue: each cause that logs show has a
// text that means it. What must not mean it are the near misses here and the
// healthy logs. Causes seen in facts alone have fixtures of their own.
func TestEveryCheckHasAFixture(t *testing.T) {
	have := map[string]bool{}
	for _, f := range fixtures(t) {
		have[f.key] = true
	}
	for _, root := range []string{"cases", "heldback", "fresh"} {
		dirs, err := filepath.Glob("testdata/" + root + "/*/expect.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dirs {
			have[readCase(t, filepath.Dir(d)).Key] = true
		}
	}
	for _, c := range All() {
		if len(c.Rules) > 0 && !have[c.Key] && !strings.HasPrefix(c.Code, "LIV") {
			t.Errorf("%s %s has no fixture", c.Code, c.Key)
		}
	}
}
