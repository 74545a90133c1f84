package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/slurm"
)

func manifest(launches int) Manifest {
	m := Manifest{
		Version: "test", Created: time.Unix(0, 0).UTC(), Blocks: launches, Timeout: time.Minute,
		Cases: []bench.Case{{Suite: "mpi", Name: "c", Nodes: 1, Ranks: 2, Program: "p"}},
		Arms:  []Arm{{Name: "native", Plan: slurm.Plan{Target: slurm.Target{Kind: slurm.Native}}}},
	}
	for i := range launches {
		m.Schedule = append(m.Schedule, bench.Launch{ID: i, Block: i, Arm: "native", Case: "c"})
	}
	return m
}

func create(t *testing.T, launches int) *Dir {
	t.Helper()
	d, err := Create(filepath.Join(t.TempDir(), "run [1] *"), manifest(launches))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func record(t *testing.T, d *Dir, id int, text string) error {
	t.Helper()
	rec, err := d.Begin(d.Manifest.Schedule[id])
	if err != nil {
		return err
	}
	if _, err := rec.Stdout.WriteString(text); err != nil {
		rec.Abort()
		return err
	}
	_, err = rec.Commit(bench.Run{Launch: d.Manifest.Schedule[id], Argv: []string{"srun"}})
	return err
}

func TestRoundTrip(t *testing.T) {
	d := create(t, 3)
	for _, id := range []int{2, 0} {
		if err := record(t, d, id, "out"); err != nil {
			t.Fatal(err)
		}
	}
	again, err := Open(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	runs, err := again.Runs()
	if err != nil || len(runs) != 2 || runs[0].ID != 0 || runs[1].ID != 2 {
		t.Fatalf("runs %+v, %v", runs, err)
	}
	f, err := again.Output(runs[1].Stdout)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
}

// TestCrashAtEachStep leaves a launch as a kill after each write would, and
// sees that it does not count and is in nobody's way.
func TestCrashAtEachStep(t *testing.T) {
	steps := []func(d *Dir, rec *Record) error{
		func(*Dir, *Record) error { return nil },
		func(_ *Dir, r *Record) error { _, err := r.Stdout.WriteString("half a li"); return err },
		func(_ *Dir, r *Record) error { return os.WriteFile(filepath.Join(r.part, "run.json"), nil, 0o644) },
		func(_ *Dir, r *Record) error {
			return os.WriteFile(filepath.Join(r.part, "run.json"), []byte(`{"id": 1`), 0o644)
		},
	}
	for i, step := range steps {
		d := create(t, 2)
		if err := record(t, d, 0, "whole"); err != nil {
			t.Fatal(err)
		}
		rec, err := d.Begin(d.Manifest.Schedule[1])
		if err != nil {
			t.Fatal(err)
		}
		if err := step(d, rec); err != nil { // and then nothing more: killed
			t.Fatal(err)
		}
		again, err := Open(d.Path())
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if runs, err := again.Runs(); err != nil || len(runs) != 1 {
			t.Errorf("step %d: %d runs, %v", i, len(runs), err)
		}
		if err := again.Tidy(); err != nil {
			t.Error(err)
		}
		if err := record(t, again, 1, "again"); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		if runs, err := again.Runs(); err != nil || len(runs) != 2 {
			t.Errorf("step %d: after resume %d runs, %v", i, len(runs), err)
		}
		if left, _ := filepath.Glob(globEscape(d.raw("")) + "/.*"); len(left) > 0 {
			t.Errorf("step %d: left behind %q", i, left)
		}
	}
}

// TestKilledCreate finds what a Create killed before its manifest has left.
func TestKilledCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	if err := os.MkdirAll(filepath.Join(path, rawName), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, ".manifest.json123"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || fail.Code(err) != fail.Usage {
		t.Errorf("open: %v", err)
	}
	if _, err := Create(path, manifest(1)); err != nil {
		t.Errorf("create: %v", err)
	}
}

// TestFullDisk fills a small file system at every size that it can have left.
func TestFullDisk(t *testing.T) {
	mount := t.TempDir()
	err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=256k")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("mounting a small tmpfs needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Unmount(mount, syscall.MNT_DETACH)
	d, err := Create(filepath.Join(mount, "run"), manifest(30))
	if err != nil {
		t.Fatal(err)
	}
	good, failures := 0, 0
	for id := range 30 {
		switch err := record(t, d, id, strings.Repeat("x", 1000*id)); {
		case err == nil:
			good++
		case errors.Is(err, syscall.ENOSPC):
			failures++
		default:
			t.Fatalf("launch %d: %v", id, err)
		}
		again, err := Open(d.Path())
		if err != nil {
			t.Fatal(err)
		}
		if runs, err := again.Runs(); err != nil || len(runs) != good {
			t.Fatalf("launch %d: %d of %d runs, %v", id, len(runs), good, err)
		}
	}
	if failures == 0 || good == 0 {
		t.Errorf("%d good, %d refused: the disk was not filled half-way", good, failures)
	}
	err = d.WriteSamples(make([]bench.Sample, 5000))
	if !errors.Is(err, syscall.ENOSPC) || fail.Hint(err) == "" {
		t.Errorf("samples on a full disk: %v", err)
	}
}

func TestTornSamples(t *testing.T) {
	d := create(t, 1)
	s := []bench.Sample{{Suite: "mpi", Value: 1}, {Suite: "mpi", Value: 2}}
	for range 2 {
		if err := d.AppendSamples(s); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := d.Samples(); err != nil || len(got) != 4 {
		t.Fatalf("%d samples, %v", len(got), err)
	}
	path := filepath.Join(d.Path(), samplesName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < 20; cut++ {
		if err := os.WriteFile(path, text[:len(text)-cut], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Samples(); err == nil || !strings.Contains(err.Error(), ":4: torn") {
			t.Fatalf("cut by %d: %v", cut, err)
		}
	}
}

func TestForeignAndCorrupt(t *testing.T) {
	breakings := map[string]func(path string) error{
		"not a run directory": func(p string) error { return os.Remove(filepath.Join(p, manifestName)) },
		"manifest.json: line 2": func(p string) error {
			return os.WriteFile(filepath.Join(p, manifestName), []byte("{\n\"schema\": }"), 0o644)
		},
		"schema": func(p string) error {
			return os.WriteFile(filepath.Join(p, manifestName), []byte(`{"schema":"other/v9"}`), 0o644)
		},
		"raw: no such directory": func(p string) error { return os.RemoveAll(filepath.Join(p, rawName)) },
		"raw/0000-native: run.json": func(p string) error {
			return os.WriteFile(filepath.Join(p, rawName, "0000-native", "run.json"), []byte("{"), 0o644)
		},
		"raw/stranger": func(p string) error { return os.Mkdir(filepath.Join(p, rawName, "stranger"), 0o755) },
		"not a launch of this run": func(p string) error {
			return os.WriteFile(filepath.Join(p, rawName, "0000-native", "run.json"), []byte(`{"id":7,"arm":"native"}`), 0o644)
		},
	}
	for want, breakIt := range breakings {
		d := create(t, 1)
		if err := record(t, d, 0, "x"); err != nil {
			t.Fatal(err)
		}
		if err := breakIt(d.Path()); err != nil {
			t.Fatal(err)
		}
		again, err := Open(d.Path())
		if err == nil {
			_, err = again.Runs()
		}
		if err == nil || !strings.Contains(err.Error(), want) || fail.Hint(err) == "" {
			t.Errorf("want %q: %v (hint %q)", want, err, fail.Hint(err))
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	d := create(t, 1)
	if _, err := Create(d.Path(), manifest(1)); err == nil || !strings.Contains(fail.Hint(err), "--resume") {
		t.Errorf("a second run in the same directory: %v", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(other, manifest(1)); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("a directory with other things: %v", err)
	}
}

func TestLockIsExclusive(t *testing.T) {
	d := create(t, 1)
	if d.Locked() {
		t.Error("locked before")
	}
	if err := d.Lock("first"); err != nil {
		t.Fatal(err)
	}
	again, err := Open(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Lock("second"); err == nil || !strings.Contains(err.Error(), "first") {
		t.Errorf("second lock: %v", err)
	}
	if !again.Locked() {
		t.Error("not seen as locked")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := again.Lock("second"); err != nil {
		t.Errorf("after the first let go: %v", err)
	}
}

func TestOutputStaysInside(t *testing.T) {
	d := create(t, 1)
	for _, p := range []string{"../x", "/etc/passwd", "raw/../../x"} {
		if _, err := d.Output(p); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema":"nearmetal/run/v1","schedule":[{"id":0,"arm":"a","case":"c"}],"arms":[{"name":"a"}],"cases":[{"name":"c"}]}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m Manifest
		if decode(text, &m) == nil {
			_ = m.validate()
		}
	})
}

func TestDiscardRemovesOnlyWhatIsOurs(t *testing.T) {
	d := create(t, 1)
	if err := d.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	kept := create(t, 1)
	rec, err := kept.Begin(kept.Manifest.Schedule[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rec.Commit(bench.Run{Launch: kept.Manifest.Schedule[0]}); err != nil {
		t.Fatal(err)
	}
	if err := kept.Discard(); err == nil {
		t.Error("a run with a launch was discarded")
	}
	if _, err := Open(kept.Path()); err != nil {
		t.Errorf("the kept run: %v", err)
	}
}
