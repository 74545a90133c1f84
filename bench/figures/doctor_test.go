package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nearmetal/nearmetal/internal/runner"
)

func TestDoctorFigures(t *testing.T) {
	f := runner.NewFake(t,
		runner.Stub{Match: "taskset -c 0 b/nearmetal doctor --log", Times: 8},
		runner.Stub{Match: "taskset -c 0 grep -cF -f", Times: 7})
	figures, err := measureDoctorOn(t.Context(), setup{runner: f, bin: "b", n: 3}, 1<<16)
	if err != nil || len(figures) != 3 || figures[0].N != 6 || figures[0].Value == nil {
		t.Errorf("%+v %v", figures, err)
	}
	out := doctorFigures([]pair{{2, 4}, {2, 4}, {2, 4}, {2, 4}, {2, 4}, {2, 4}}, 1000, 20, 10)
	if *out[0].Value != 500 || *out[1].Value != 2 || *out[0].Peer != 250 || *out[2].Value != 20 {
		t.Errorf("%+v", out)
	}
}

// The generated log is all fine lines: what doctor is timed on must not end in findings.
func TestDebugLogIsHealthy(t *testing.T) {
	dir := t.TempDir()
	n, err := prepareDoctor(filepath.Join(dir, "log"), filepath.Join(dir, "lits"), 1<<20)
	if err != nil || n < 120 {
		t.Fatal(n, err)
	}
	st, err := os.Stat(filepath.Join(dir, "log"))
	if err != nil || st.Size() < 1<<20 {
		t.Fatal(st, err)
	}
}
