package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apptainer/sif/v2/pkg/sif"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
)

// call runs one command line with a faked outside.
func call(t *testing.T, r runner.Runner, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(context.Background(), args, Deps{Out: &o, Err: &e, Width: 80, Runner: r, Getenv: func(string) string { return "" }, Now: time.Now})
	return code, o.String(), e.String()
}

func TestInitWritesARecipeThatRenders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if code, _, errs := call(t, nil, "init", dir); code != fail.OK || !strings.Contains(errs, "nearmetal build") {
		t.Fatal(code, errs)
	}
	recipe := filepath.Join(dir, "openmpi-debian.yaml")
	code, out, errs := call(t, nil, "def", recipe)
	if code != fail.OK || !strings.HasPrefix(out, "Bootstrap: docker\n") || errs != "" {
		t.Error(code, errs)
	}
	if _, named, _ := call(t, nil, "def", "openmpi-debian"); named != out {
		t.Error("the example by name renders otherwise than its file")
	}
	if err := os.WriteFile(recipe, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, nil, "init", dir); code != fail.Usage || !strings.Contains(errs, "--force") {
		t.Error(code, errs)
	}
	if b, _ := os.ReadFile(recipe); string(b) != "mine" {
		t.Error("init overwrote a recipe")
	}
	if code, out, _ := call(t, nil, "init", "--list"); code != fail.OK || !strings.Contains(out, "openmpi-debian") {
		t.Error(code, out)
	}
	if code, _, errs := call(t, nil, "init", "--from", "nothing"); code != fail.Usage || !strings.Contains(errs, "--list") {
		t.Error(code, errs)
	}
}

func TestDefReportsFaults(t *testing.T) {
	bad := filepath.Join("..", "..", "defs", "testdata", "bad", "many.yaml")
	code, out, errs := call(t, nil, "def", bad)
	if code != fail.Usage || out != "" || !strings.Contains(errs, " faults\n  line 1: ") || !strings.Contains(errs, "line 6: base.color: unknown key") || !strings.Contains(errs, "\nhint: ") {
		t.Error(code, out, errs)
	}
	if code, _, errs := call(t, nil, "def", "no-such-recipe.yaml"); code != fail.Missing || !strings.Contains(errs, "init --list") {
		t.Error(code, errs)
	}
	if code, _, errs := call(t, nil, "def"); code != fail.Usage || !strings.Contains(errs, "hint: nearmetal def --help") {
		t.Error(code, errs)
	}
	if code, _, errs := call(t, nil, "def", "openmpi-debian", "--base", "localimage:/a\n%post"); code != fail.Usage || !strings.Contains(errs, "--base") {
		t.Error(code, errs)
	}
}

func TestDefToFileAndBase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.def")
	if code, out, errs := call(t, nil, "def", "openmpi-debian", "--base", "localimage:/shared/bases/trixie", "-o", file); code != fail.OK || out+errs != "" {
		t.Fatal(code, out, errs)
	}
	b, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(b), "Bootstrap: localimage\nFrom: /shared/bases/trixie\n") {
		t.Errorf("%v %.80s", err, b)
	}
	if !strings.Contains(string(b), "org.nearmetal.base 'localimage:/shared/bases/trixie'") {
		t.Error("the other base is not in the labels")
	}
}

func TestBuildDryRunStartsNothing(t *testing.T) {
	code, out, errs := call(t, runner.NewFake(t), "build", "openmpi-debian", "-o", "x.sif", "--dry-run", "--compress", "gzip")
	if code != fail.OK || errs != "" || !strings.Contains(out, "Bootstrap: docker\n") || !strings.Contains(out, "--mksquashfs-args '-comp gzip' image.sif definition.def\n") {
		t.Error(code, errs, out[max(0, len(out)-300):])
	}
	for _, args := range [][]string{{"openmpi-debian"}, {"openmpi-debian", "-o", "x.sif", "--compress", "rar"}, {"openmpi-debian", "-o", "x.sif", "--tmpfs", "--tmpdir", "/tmp"}} {
		if code, _, errs := call(t, runner.NewFake(t), append([]string{"build"}, args...)...); code != fail.Usage {
			t.Error(args, code, errs)
		}
	}
}

// TestBuildTwice: the second time there is nothing to do, until the recipe or
// the base changes.
func TestBuildTwice(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "a.sif")
	build := func(r runner.Runner, more ...string) string {
		t.Helper()
		code, _, errs := call(t, r, append([]string{"build", "openmpi-debian", "-o", dest}, more...)...)
		if code != fail.OK {
			t.Fatal(code, errs)
		}
		return errs
	}
	made := func() runner.Runner {
		return runner.NewFake(t, runner.Stub{Match: "^apptainer build ", Do: func(c runner.Cmd) { writeSIF(t, c.Argv[len(c.Argv)-2], c.Argv[len(c.Argv)-1]) }})
	}
	build(made())
	if errs := build(runner.NewFake(t)); !strings.Contains(errs, "up to date") {
		t.Error(errs)
	}
	build(made(), "--force")
	build(made(), "--base", "localimage:/shared/bases/trixie")
}

// writeSIF makes the image that Apptainer would: the definition and what
// `apptainer inspect` shows as objects of a SIF file.
func writeSIF(t *testing.T, path, definition string) {
	t.Helper()
	def, err := os.ReadFile(definition)
	if err != nil {
		t.Fatal(err)
	}
	a, err1 := sif.NewDescriptorInput(sif.DataDeffile, bytes.NewReader(def))
	b, err2 := sif.NewDescriptorInput(sif.DataGenericJSON, strings.NewReader(`{"data":{"attributes":{"labels":{"org.nearmetal.recipe.digest":"sha256:0"}}}}`), sif.OptObjectName("inspect-metadata.json"))
	f, err3 := sif.CreateContainerAtPath(path, sif.OptCreateWithDescriptors(a, b))
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if err := f.UnloadContainer(); err != nil {
		t.Fatal(err)
	}
}

func TestBuildKeepsWhatIsNotOurs(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "a.sif")
	tiny, err := os.ReadFile(filepath.Join("..", "image", "testdata", "tiny.sif"))
	if err != nil {
		t.Fatal(err)
	}
	made := func() runner.Runner {
		return runner.NewFake(t, runner.Stub{Match: "^apptainer build ", Stdout: "INFO:    Starting build...\n", Do: func(c runner.Cmd) {
			_ = os.WriteFile(c.Argv[len(c.Argv)-2], tiny, 0o755)
		}})
	}
	code, out, errs := call(t, made(), "build", "openmpi-debian", "-o", dest)
	if code != fail.OK || out != "" || !strings.Contains(errs, "log: "+dest+".log") || !strings.Contains(errs, "openmpi 5.0.7, pmix 5.0.7") || !strings.Contains(errs, "base\n") {
		t.Fatal(code, out, errs)
	}
	// The image there is nearmetal's, of another definition: built anew.
	if code, _, errs := call(t, made(), "build", "openmpi-debian", "-o", dest); code != fail.OK || !strings.Contains(errs, "built ") {
		t.Error(code, errs)
	}
	if err := os.WriteFile(dest, []byte("a file of mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := call(t, runner.NewFake(t), "build", "openmpi-debian", "-o", dest); code != fail.Usage || !strings.Contains(errs, "--force") {
		t.Error(code, errs)
	}
	if b, _ := os.ReadFile(dest); string(b) != "a file of mine" {
		t.Error("a file that is not ours was overwritten")
	}
}

func TestInspect(t *testing.T) {
	tiny := filepath.Join("..", "image", "testdata", "tiny.sif")
	code, out, errs := call(t, nil, "inspect", tiny)
	if code != fail.OK || errs != "" || !strings.Contains(out, "stack       openmpi 5.0.7\n") || !strings.Contains(out, "digest      sha256:") {
		t.Error(code, out, errs)
	}
	code, out, _ = call(t, nil, "inspect", tiny, "--json")
	if code != fail.OK || !strings.HasPrefix(out, "{\n  \"schema\": \"nearmetal/image/v1\",\n") {
		t.Error(code, out)
	}
	if code, out, _ = call(t, nil, "inspect", tiny, "--definition"); code != fail.OK || !strings.HasPrefix(out, "Bootstrap: localimage\n") {
		t.Error(code, out)
	}
	if code, _, errs = call(t, nil, "inspect", "recipe_test.go"); code != fail.Usage || !strings.Contains(errs, "not a SIF image") {
		t.Error(code, errs)
	}
}
