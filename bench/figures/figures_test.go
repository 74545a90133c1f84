package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/runner"
)

func TestNamesAreInTheCatalogue(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	use := regexp.MustCompile(`figure\("([^"]+)"\)`)
	seen := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range use.FindAllSubmatch(b, -1) {
			seen++
			if rank(string(m[1])) < 0 {
				t.Errorf("%s: figure %q is not in the catalogue", f, m[1])
			}
		}
	}
	if seen < 2 {
		t.Errorf("only %d uses found", seen)
	}
}

func TestLaunchNamesAreInTheCatalogue(t *testing.T) {
	var names []string
	for _, c := range append(launchCases, cgroupCases...) {
		names = append(names, c.init, c.step)
		if c.plain {
			names = append(names, c.plainInit)
		}
	}
	for _, n := range names {
		if rank(n) < 0 {
			t.Errorf("figure %q is not in the catalogue", n)
		}
	}
	for _, e := range catalogue {
		if strings.HasPrefix(e.group, "launch") && !slices.Contains(names, e.name) {
			t.Errorf("nothing measures %q", e.name)
		}
	}
}

func TestMedianIntervalCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{6, 10, 20, 21} {
		hit := 0
		const trials = 4000
		for range trials {
			v := make([]float64, n)
			for i := range v {
				v[i] = math.Exp(rng.NormFloat64()) // skewed, true median 1
			}
			if _, lo, hi := medianCI(v); lo <= 1 && 1 <= hi {
				hit++
			}
		}
		if share := float64(hit) / trials; share < 0.945 {
			t.Errorf("n=%d: %.3f of the intervals cover the median, want at least 0.95", n, share)
		}
	}
}

func TestOverheadIsThePairedDifference(t *testing.T) {
	f := runner.NewFake(t,
		runner.Stub{Match: "--dry-run", Stdout: "srun -N2 true\n"},
		runner.Stub{Match: "^b/nearmetal run -N", Times: 4},
		runner.Stub{Match: "^sh -c srun -N2 true$", Times: 4})
	figures, err := measureRun(t.Context(), setup{runner: f, bin: "b", n: 3})
	if err != nil || len(figures) != 1 || *figures[0].Value != 0 || figures[0].N != 3 {
		t.Errorf("%+v %v", figures, err)
	}
}

func TestAFailedGroupIsWrittenDown(t *testing.T) {
	out := filepath.Join(t.TempDir(), "figures.json")
	f := runner.NewFake(t, runner.Stub{Match: "run --dry-run", Exit: 1, Stderr: "no srun"})
	if err := run(t.Context(), "run", out, setup{runner: f, n: 3}); err == nil {
		t.Error("no error")
	}
	figures, err := load(out)
	if err != nil || len(figures) != 1 || figures[0].Value != nil || !strings.Contains(figures[0].Note, "no srun") {
		t.Errorf("%+v %v", figures, err)
	}
}

func TestGroupsAddToTheSameFile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "figures.json")
	a, b := figure("cli.help_ms"), figure("run.overhead_ms")
	a.Value, b.Value = ptr(1), ptr(2)
	if err := save(out, nil, []Figure{a}); err != nil {
		t.Fatal(err)
	}
	old, err := load(out)
	if err != nil {
		t.Fatal(err)
	}
	a.Value = ptr(3)
	if err := save(out, old, []Figure{b}); err != nil {
		t.Fatal(err)
	}
	got, err := load(out)
	if err != nil || len(got) != 2 || got[0].Name != "run.overhead_ms" || *got[1].Value != 1 {
		t.Errorf("%+v %v", got, err)
	}
	var text bytes.Buffer
	if err := table(&text, got); err != nil || !strings.Contains(text.String(), "cli.help_ms") {
		t.Error(text.String(), err)
	}
}
