package lab

import (
	"os"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// TestFaultsAreWhole: the script plants and takes away each fault that it is
// asked for, and the page describes it.
func TestFaultsAreWhole(t *testing.T) {
	page, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Faults() {
		s := string(faultScript)
		both := strings.Contains(s, "\n"+f.Name+":*)")
		if f.own == nil && !both && !(strings.Contains(s, "\n"+f.Name+":on)") && strings.Contains(s, "\n"+f.Name+":off)")) {
			t.Errorf("fault.sh lacks %s on or off", f.Name)
		}
		if f.Prolog != both {
			t.Errorf("%s: a fault through TaskProlog is one line of fault.sh for on and off", f.Name)
		}
		if !strings.Contains(string(page), "| `"+f.Name+"` |") {
			t.Errorf("docs/faults.md lacks %s", f.Name)
		}
		if got, err := FindFault(f.Name); err != nil || got.What != f.What {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if _, err := FindFault("no-such"); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "memlock") {
		t.Errorf("%v", err)
	}
}

func TestFaultWithoutALab(t *testing.T) {
	l := &Lab{Dir: t.TempDir(), Talk: os.Stderr, Now: nil}
	if _, err := l.targets(Fault{Name: "memlock"}, nil); fail.Code(err) != fail.Missing {
		t.Errorf("%v", err)
	}
	if err := l.save(&Settings{Schema: Schema, Nodes: 2}); err != nil {
		t.Fatal(err)
	}
	if got, err := l.targets(Fault{Name: "memlock"}, nil); err != nil || strings.Join(got, " ") != "n1 n2" {
		t.Errorf("all: %q, %v", got, err)
	}
	if got, err := l.targets(Fault{Shared: true}, []string{"n1"}); err != nil || strings.Join(got, " ") != Head {
		t.Errorf("shared: %q, %v", got, err)
	}
	if _, err := l.targets(Fault{Name: "memlock"}, []string{"n3"}); fail.Code(err) != fail.Missing {
		t.Errorf("a node that is not there: %v", err)
	}
}

func TestFaultsAreNoted(t *testing.T) {
	l := &Lab{Dir: t.TempDir()}
	if l.planted("memlock", "n1") {
		t.Error("planted from the start")
	}
	if err := l.note("memlock", "n1", true); err != nil || !l.planted("memlock", "n1") {
		t.Errorf("%v", err)
	}
	if got, err := l.Planted(); err != nil || len(got) != 1 || got[0] != "memlock.n1" {
		t.Errorf("%q, %v", got, err)
	}
	if err := l.note("memlock", "n1", false); err != nil || l.planted("memlock", "n1") {
		t.Errorf("%v", err)
	}
}
