package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// call runs a command line and gives exit code and both outputs.
func call(t *testing.T, env map[string]string, args ...string) (code int, out, errs string) {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	s := streams{file("in"), file("out"), file("err"), func(k string) string { return env[k] }}
	code = run(context.Background(), args, s)
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return code, read("out"), read("err")
}

func TestWrongUsage(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"up", "--nodes", "0", "--dir", dir},
		{"up", "--nodes", "17", "--dir", dir},
		{"up", "--nodes", "two", "--dir", dir},
		{"up", "extra", "--dir", dir},
		{"up", "--dir", ""},
		{"exec", "--dir", dir, "head"},
		{"exec", "--dir", dir, "head", "--"},
		{"exec", "--dir", dir, "--net", "moon", "head", "--", "true"},
		{"exec", "--dir", dir, "--env", "novalue", "head", "--", "true"},
		{"base", "--dir", dir},
		{"base", "--dir", dir, "../x"},
		{"rootfs", "--dir", dir, "--mirror", "http://x/$(id)"},
		{"fault", "--dir", dir, "memlock"},
		{"fault", "--dir", dir, "memlock", "perhaps"},
		{"fault", "--dir", dir, "no-such", "on"},
		{"down", "--no-such-flag"},
	} {
		code, out, errs := call(t, nil, args...)
		if code != fail.Usage || out != "" || !strings.HasPrefix(errs, "error: ") || !strings.Contains(errs, "\nhint: ") {
			t.Errorf("%q: exit code %d, %q, %q", args, code, out, errs)
		}
	}
}

func TestStatusOfNoLab(t *testing.T) {
	dir := t.TempDir()
	code, out, _ := call(t, map[string]string{"NEARMETAL_LAB_DIR": dir}, "status", "--json")
	if code != fail.Failed || !strings.Contains(out, `"schema": "nearmetal/lab/v1"`) || !strings.Contains(out, `"up": false`) || !strings.Contains(out, dir) {
		t.Errorf("exit code %d: %s", code, out)
	}
	code, _, errs := call(t, nil, "exec", "--dir", dir, "head", "--", "true")
	if code != fail.Missing || !strings.Contains(errs, "hint: nearmetal-lab up") && os.Geteuid() == 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestHelpNamesEveryVerb(t *testing.T) {
	code, out, _ := call(t, nil, "--help")
	for _, verb := range []string{"up", "down", "status", "exec", "fault", "rootfs", "base"} {
		if !strings.Contains(out, "\n  "+verb+" ") {
			t.Errorf("no %s in the help", verb)
		}
	}
	if code != fail.OK {
		t.Errorf("exit code %d", code)
	}
}
