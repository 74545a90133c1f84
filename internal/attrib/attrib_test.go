package attrib

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/compare"
)

var update = flag.Bool("update", false, "write the golden files anew")

var cases = []string{"native", "exec", "tcp", "one-core", "small-shm", "debug", "native-2", "wrong-nic", "ucx-native", "ucx-exec", "nccl"}

func load(t *testing.T, name string) Facts {
	t.Helper()
	facts := Facts{}
	for _, file := range []string{name + ".stdout", name + ".stderr"} {
		f, err := os.Open(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		more, err := Extract(f, file)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		facts.Merge(more)
	}
	return facts
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s: %v\ngot\n%s", name, err, got)
	}
}

func TestFacts(t *testing.T) {
	var b strings.Builder
	for _, name := range cases {
		facts := load(t, name)
		fmt.Fprintf(&b, "== %s\n", name)
		for _, k := range facts.Keys() {
			fmt.Fprintf(&b, "%s: %s (%s:%d)\n", k, facts[k].Value, facts[k].File, facts[k].Line)
		}
	}
	golden(t, "facts.golden", b.String())
}

// TestPlantedFaultsAreNamed: for each fault, the first reason is the planted one.
func TestPlantedFaultsAreNamed(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		base, other, code, says string
		env                     map[string]string
	}{
		{"native", "exec", "single-copy", "user namespace", nil},
		{"native", "tcp", "tcp-same-node", "OMPI_MCA_btl=self,tcp is set", map[string]string{"env.OMPI_MCA_btl": "self,tcp"}},
		{"native", "one-core", "binding", "1 CPU for 2 ranks", nil},
		{"native", "small-shm", "small-shm", "1 MiB", nil},
		{"native", "debug", "debug-build", "-O0", nil},
		{"native-2", "wrong-nic", "network-interface", "slow0", nil},
		{"ucx-native", "ucx-exec", "single-copy", "user namespace", nil},
	} {
		comp := compare.Comparison{Base: "native", Other: "container"}
		Explain(&comp, []Place{{"here", load(t, c.base), load(t, c.other)}}, map[string]string{}, c.env)
		if len(comp.Reasons) == 0 || comp.Reasons[0].Code != c.code || !strings.Contains(comp.Reasons[0].Text, c.says) {
			t.Errorf("%s: %+v", c.other, comp.Reasons)
		}
		fmt.Fprintf(&b, "== %s against %s\n", c.other, c.base)
		for _, r := range comp.Reasons {
			fmt.Fprintf(&b, "%s: %s\n  fix: %s\n", r.Code, r.Text, r.Fix)
			for _, e := range r.Evidence {
				fmt.Fprintf(&b, "  %s %s:%d %s\n", e.Arm, e.File, e.Line, e.Text)
			}
		}
	}
	golden(t, "reasons.golden", b.String())
}

func TestAlikeArmsHaveNoReason(t *testing.T) {
	for _, name := range cases {
		comp := compare.Comparison{}
		Explain(&comp, []Place{{"here", load(t, name), load(t, name)}}, nil, nil)
		if len(comp.Reasons) != 0 {
			t.Errorf("%s against itself: %+v", name, comp.Reasons)
		}
	}
}

// TestNotObservedIsNoReason: an arm whose launch said nothing.
func TestNotObservedIsNoReason(t *testing.T) {
	for _, name := range cases {
		for _, p := range []Place{{"here", load(t, name), Facts{}}, {"here", Facts{}, load(t, name)}} {
			comp := compare.Comparison{}
			Explain(&comp, []Place{p}, nil, nil)
			if len(comp.Reasons) != 0 || len(comp.Facts) == 0 {
				t.Errorf("%s: %d facts, reasons %+v", name, len(comp.Facts), comp.Reasons)
			}
		}
	}
}

// TestReasonsBearOnWhatTheyCan: start-up is explained by the container's start,
// traffic by the transport, and what explains nothing comes last.
func TestReasonsBearOnWhatTheyCan(t *testing.T) {
	fam := func(bench, place string) compare.Family {
		return compare.Family{Benchmark: bench, Placement: place, Metric: "m", DifferentSomewhere: true}
	}
	comp := compare.Comparison{Families: []compare.Family{fam("init", "here"), fam("latency", "elsewhere")}}
	Explain(&comp, []Place{{"here", load(t, "native"), load(t, "exec")}}, nil, nil)
	if len(comp.Reasons) != 2 || comp.Reasons[0].Code != "start-each" || len(comp.Reasons[0].Explains) != 1 || len(comp.Reasons[1].Explains) != 0 {
		t.Errorf("%+v", comp.Reasons)
	}
}

func TestEveryRuleHasAFactAndAFix(t *testing.T) {
	seen := map[string]bool{}
	known := strings.Join(order, "\n") + "\n"
	for _, r := range rules {
		if seen[r.code] || !strings.Contains(known, r.fact+"\n") {
			t.Errorf("%s: twice, or of no fact", r.code)
		}
		seen[r.code] = true
		f := Facts{r.fact: {Value: "1"}}
		if _, fix, ok := r.find(pair{base: f, other: f}); ok || fix == "" && r.code != "single-copy" {
			t.Errorf("%s: found between equal arms, or without a fix", r.code)
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, name := range cases {
		for _, end := range []string{".stdout", ".stderr"} {
			text, err := os.ReadFile(filepath.Join("testdata", name+end))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text[max(0, len(text)-6<<10):]))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		facts, err := Extract(strings.NewReader(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		comp := compare.Comparison{}
		Explain(&comp, []Place{{"here", facts, facts}}, nil, nil)
		if len(comp.Reasons) != 0 {
			t.Errorf("%+v", comp.Reasons)
		}
	})
}
