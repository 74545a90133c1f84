package image

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
)

func log(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/logs/" + name + ".log")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// makes writes an image where Apptainer was told to.
func makes(content string) func(runner.Cmd) {
	return func(c runner.Cmd) { _ = os.WriteFile(c.Argv[len(c.Argv)-2], []byte(content), 0o755) }
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestBuildPublishesAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	s := Spec{Definition: "Bootstrap: x\n", Dir: dir, Dest: filepath.Join(dir, "a.sif"), Program: "apptainer", Flags: []string{"--fakeroot"}, TmpDir: t.TempDir()}
	var tmp string
	r := runner.NewFake(t, runner.Stub{Match: `^apptainer build --fakeroot /.*/image.sif /.*/definition.def$`, Stdout: log(t, "good"), Do: func(c runner.Cmd) {
		def, _ := os.ReadFile(c.Argv[len(c.Argv)-1])
		if string(def) != s.Definition || c.Dir != dir || !c.Own || !c.Tied {
			t.Errorf("definition %q, folder %q", def, c.Dir)
		}
		if path := c.Env[len(c.Env)-1]; !strings.HasPrefix(path, "PATH=") || !strings.HasSuffix(path, ":/usr/sbin:/sbin") {
			t.Errorf("debootstrap needs chroot(8): %q", path)
		}
		tmp = strings.TrimPrefix(c.Env[0], "APPTAINER_TMPDIR=")
		if _, err := os.Stat(tmp); err != nil || filepath.Dir(tmp) != s.TmpDir {
			t.Errorf("temporary folder %q: %v", tmp, err)
		}
		makes("image")(c)
	}})
	var seen []string
	p := &Progress{Staged: true, Change: func(phase string) { seen = append(seen, phase) }}
	if err := Build(t.Context(), r, s, p); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); !slices.Equal(got, []string{"a.sif", "a.sif.log"}) {
		t.Errorf("left: %v", got)
	}
	if len(files(t, s.TmpDir)) > 0 {
		t.Error("the temporary folder stayed")
	}
	if want := []string{PhaseBase, PhaseBuild, PhaseFinal, PhaseTest, PhaseSquash}; !slices.Equal(seen, want) {
		t.Errorf("phases %v", seen)
	}
	if text, _ := os.ReadFile(s.LogPath()); !strings.Contains(string(text), "Build complete") {
		t.Error("the log is not whole")
	}
}

func TestFailedBuildLeavesTheOldImage(t *testing.T) {
	for name, want := range map[string][2]string{
		"nopkg":   {"Unable to locate package no-such-package", "packages:"},
		"oldpmix": {"pmix: the recipe wants 4.2, the distribution has 5.0.7", "stack:"},
		"badtest": {"its %test failed", "--no-test"},
	} {
		dir := t.TempDir()
		s := Spec{Dest: filepath.Join(dir, "a.sif"), Program: "apptainer"}
		if err := os.WriteFile(s.Dest, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := runner.NewFake(t, runner.Stub{Match: "build", Stdout: log(t, name), Exit: 255, Do: makes("half")})
		err := Build(t.Context(), r, s, &Progress{})
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(fail.Hint(err), want[1]) || !strings.Contains(err.Error(), s.LogPath()) {
			t.Errorf("%s: %v, hint %q", name, err, fail.Hint(err))
		}
		if n := strings.Count(err.Error(), "\n"); n > 15 {
			t.Errorf("%s: %d lines are no summary", name, n)
		}
		if b, _ := os.ReadFile(s.Dest); string(b) != "old" || len(files(t, dir)) != 2 {
			t.Errorf("%s: left %v", name, files(t, dir))
		}
	}
}

func TestFullDisk(t *testing.T) {
	for _, name := range []string{"full-apt", "full-sif"} {
		s := Spec{Dest: filepath.Join(t.TempDir(), "a.sif"), Program: "apptainer"}
		r := runner.NewFake(t, runner.Stub{Match: "build", Stdout: log(t, name), Exit: 255})
		err := Build(t.Context(), r, s, &Progress{})
		if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(fail.Hint(err), "--tmpdir") {
			t.Errorf("%s: %v, hint %q", name, err, fail.Hint(err))
		}
	}
	if err := writeError(&os.PathError{Op: "write", Path: "a.sif", Err: syscall.ENOSPC}); !strings.Contains(fail.Hint(err), "--tmpdir") {
		t.Errorf("%v, hint %q", err, fail.Hint(err))
	}
}

// TestStoppedBuild runs a real program in Apptainer's place and stops it.
func TestStoppedBuild(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "apptainer")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nfor a; do case $a in */image.sif) echo half >\"$a\";; esac; done\necho 'INFO:    Starting build...'\nsleep 60 & wait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := t.TempDir()
	s := Spec{Dest: filepath.Join(out, "a.sif"), Program: script}
	start := time.Now()
	err := Build(ctx, runner.Real{}, s, &Progress{Change: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) || time.Since(start) > 15*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if got := files(t, out); !slices.Equal(got, []string{"a.sif.log"}) {
		t.Errorf("left: %v", got)
	}
}

// TestSweep: what a killed build left goes with the next one, what a running
// one uses stays.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	dest := filepath.Join(dir, "a.sif")
	dead, other := filepath.Join(dir, ".a.sif.build-1"), filepath.Join(dir, ".b.sif.build-1")
	for _, d := range []string{dead, other} {
		if err := os.MkdirAll(filepath.Join(d, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tmp := filepath.Join(t.TempDir(), tmpPrefix+"1")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dead, tmpName), []byte(tmp), 0o600); err != nil {
		t.Fatal(err)
	}
	running, err := workDir(t.Context(), runner.Real{}, Spec{Dest: dest})
	if err != nil {
		t.Fatal(err)
	}
	defer running.remove(t.Context(), runner.Real{})
	if err := sweep(t.Context(), runner.Real{}, dest); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tmp); err == nil {
		t.Error("the killed build's temporary folder stayed")
	}
	if got := files(t, dir); !slices.Equal(got, []string{filepath.Base(running.dir), ".b.sif.build-1"}) {
		t.Errorf("left: %v", got)
	}
}

func TestChoose(t *testing.T) {
	root := func(subuid, caps string) fstest.MapFS {
		return fstest.MapFS{"etc/subuid": {Data: []byte(subuid)}, "proc/self/status": {Data: []byte("Name:\tx\nCapBnd:\t" + caps + "\n")}}
	}
	const all, withheld = "000001ffffffffff", "000001fffeffffff"
	for name, c := range map[string]struct {
		host Host
		want bool
		why  string
	}{
		"user":            {Host{root("bob:1:9\nalice:100000:65536\n", all), 1000, "alice"}, true, "alice has 65536"},
		"user by id":      {Host{root("1000:100000:65536\n", all), 1000, ""}, true, "user 1000 has 65536"},
		"user, no ids":    {Host{root("bob:100000:65536\n", all), 1000, "alice"}, false, "alice has no line"},
		"user, no file":   {Host{fstest.MapFS{}, 1000, "alice"}, false, "alice has no line"},
		"root":            {Host{root("", all), 0, "root"}, false, "as root, without"},
		"root, withheld":  {Host{root("root:1:65536\n", withheld), 0, "root"}, true, "withholds"},
		"root, no way":    {Host{root("", withheld), 0, "root"}, false, "may refuse"},
		"no name, no ids": {Host{root("::65536\n", all), 1000, ""}, false, "no line"},
	} {
		m := Choose(c.host)
		if slices.Equal(m.Flags, []string{"--fakeroot"}) != c.want || !strings.Contains(m.Reason, c.why) {
			t.Errorf("%s: %v", name, m)
		}
	}
}

// TestProgressInPieces: output comes in any pieces, also of one byte.
func TestProgressInPieces(t *testing.T) {
	var whole, pieces Progress
	text := []byte(log(t, "good"))
	_, _ = whole.Write(text)
	for piece := range slices.Chunk(text, 7) {
		_, _ = pieces.Write(bytes.Clone(piece))
	}
	p1, l1 := whole.Now()
	if p2, l2 := pieces.Now(); p1 != p2 || l1 != l2 || p1 != PhaseSquash || !strings.Contains(l1, "Build complete") {
		t.Errorf("%s %q, %s %q", p1, l1, p2, l2)
	}
}
