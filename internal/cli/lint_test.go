package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/fail"
)

const badDef = "Bootstrap: docker\nFrom: ubuntu:24.04\n%post\n    apt-get install -y libopenmpi-dev\n%runscript\n    mpirun -np 4 \x1b[31mapp\n"

func TestLint(t *testing.T) {
	def := filepath.Join(t.TempDir(), "app.def")
	if err := os.WriteFile(def, []byte(badDef), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := call(t, nil, "lint", def)
	if code != fail.Findings || !strings.Contains(out, def+":6: mpirun-in-runscript: ") || strings.Contains(out, "\x1b") || !strings.Contains(errs, "--fix") {
		t.Error(code, out, errs)
	}
	code, out, errs = call(t, nil, "lint", def, "--json")
	var r lintReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != fail.Findings || errs != "" || r.Schema != lintSchema || len(r.Objections) < 4 {
		t.Error(code, err, out, errs)
	}
	recipe := filepath.Join(t.TempDir(), "app.yaml")
	code, out, errs = call(t, nil, "lint", def, "--fix")
	if err := os.WriteFile(recipe, []byte(out), 0o600); err != nil || code != fail.OK || errs != "" {
		t.Fatal(code, err, errs)
	}
	if code, _, errs := call(t, nil, "def", recipe); code != fail.OK {
		t.Error(code, errs)
	}
}

func TestLintImagesAndOthers(t *testing.T) {
	code, out, errs := call(t, nil, "lint", filepath.Join("..", "image", "testdata", "tiny.sif"))
	if code != fail.OK && code != fail.Findings || strings.Contains(errs, "error") {
		t.Error(code, out, errs)
	}
	if code, _, errs := call(t, nil, "lint", "no-such.def"); code != fail.Missing {
		t.Error(code, errs)
	}
	text := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(text, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, nil, "lint", text); code != fail.Usage || !strings.Contains(errs, "line 1") {
		t.Error(code, errs)
	}
}
