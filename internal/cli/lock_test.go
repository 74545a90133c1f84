package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
)

const spackRecipe = `name: ompi
base: {from: docker, ref: "debian:bookworm-slim"}
provider: spack
spack: {version: 0.23, target: x86_64_v3, compiler: gcc@12.2.0}
stack: {mpi: openmpi@5.0, pmix: 5.0, ucx: 1.16, libfabric: 1.21}
`

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// project writes the recipe and a folder that looks like Spack's tree.
func project(t *testing.T, recipe string) (file, root string) {
	t.Helper()
	dir := t.TempDir()
	file, root = filepath.Join(dir, "ompi.yaml"), filepath.Join(dir, "spack")
	err1 := os.WriteFile(file, []byte(recipe), 0o600)
	err2 := os.MkdirAll(filepath.Join(root, "bin"), 0o700)
	err3 := os.WriteFile(filepath.Join(root, "bin", "spack"), nil, 0o700)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	return file, root
}

// spackFake answers as Spack did on Debian 12: see spack/testdata/README.md.
func spackFake(t *testing.T) runner.Runner {
	lock, err := os.ReadFile(filepath.Join("..", "..", "spack", "testdata", "openmpi5.spack.lock"))
	if err != nil {
		t.Fatal(err)
	}
	return runner.NewFake(t, runner.Stub{Match: "bin/spack -e .* concretize --force$", Do: func(c runner.Cmd) {
		text, err := os.ReadFile(filepath.Join(c.Argv[2], "spack.yaml"))
		if err != nil || !strings.Contains(string(text), "openmpi@5.0") {
			t.Errorf("spack.yaml: %v %s", err, text)
		}
		if err := os.WriteFile(filepath.Join(c.Argv[2], "spack.lock"), lock, 0o600); err != nil {
			t.Error(err)
		}
	}})
}

func lockIt(t *testing.T) (file, root string) {
	t.Helper()
	file, root = project(t, spackRecipe)
	code, _, errs := call(t, spackFake(t), "lock", file, "--spack-root", root, "--base-digest", digest)
	if code != fail.OK || !strings.Contains(errs, "packages by Spack 0.23.0.dev0") {
		t.Fatal(code, errs)
	}
	return file, root
}

func TestLockedRecipeRendersTheSameForEver(t *testing.T) {
	file, root := lockIt(t)
	code, out, errs := call(t, nil, "def", file)
	if code != fail.OK || !strings.Contains(out, "From: debian@"+digest+"\n") || !strings.Contains(out, `"./ompi.lock/spack.lock" "/opt/nearmetal/env/spack.lock"`) || strings.Contains(out, "env concretize") {
		t.Fatal(code, errs, out)
	}
	locked, err := os.ReadFile(filepath.Join(filepath.Dir(file), "ompi.lock", "image.def"))
	if err != nil || string(locked) != out {
		t.Error("def does not give the locked bytes", err)
	}
	// With the site's own Spack it is rendered from the same lock.
	code, site, errs := call(t, nil, "def", file, "--spack-root", root, "--mirror", root)
	if code != fail.OK || strings.Contains(site, "git -c") || !strings.Contains(site, `"`+root+`" "/opt/nearmetal/spack"`) || !strings.Contains(site, "file:///opt/nearmetal/mirror") || strings.Contains(site, "env concretize") {
		t.Error(code, errs, site)
	}
}

func TestLockGuards(t *testing.T) {
	file, _ := lockIt(t)
	at := filepath.Join(filepath.Dir(file), "ompi.lock")
	spoil := func(name, text string) string {
		t.Helper()
		old, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, errs := call(t, nil, "def", file)
		if code != fail.Usage || !strings.Contains(errs, "hint: nearmetal lock ") {
			t.Error(name, code, errs)
		}
		if err := os.WriteFile(name, old, 0o600); err != nil {
			t.Fatal(err)
		}
		return errs
	}
	for _, name := range []string{"spack.lock", "image.def", "spack.yaml", "lock.json"} {
		spoil(filepath.Join(at, name), "{}")
	}
	if errs := spoil(file, strings.Replace(spackRecipe, "1.16", "1.15", 1)); !strings.Contains(errs, "changed after it was locked") {
		t.Error(errs)
	}
	if code, _, errs := call(t, nil, "def", file); code != fail.OK {
		t.Error(code, errs)
	}
}

func TestLockRefusals(t *testing.T) {
	file, root := project(t, spackRecipe)
	for _, args := range [][]string{{file, "--base-digest", digest}, {file, "--spack-root", root, "--base-digest", "sha256:0"}, {"no-such.yaml"}} {
		if code, _, errs := call(t, runner.NewFake(t), append([]string{"lock"}, args...)...); code == fail.OK || !strings.Contains(errs, "error: ") {
			t.Error(args, code, errs)
		}
	}
	fails := runner.NewFake(t, runner.Stub{Match: "concretize", Stdout: "==> Error: cannot bootstrap clingo\n", Exit: 1})
	if code, _, errs := call(t, fails, "lock", file, "--spack-root", root, "--base-digest", digest); code != fail.Failed || !strings.Contains(errs, "pip install clingo") {
		t.Error(code, errs)
	}
	trixie, root := project(t, strings.Replace(spackRecipe, "bookworm", "trixie", 1))
	if code, _, errs := call(t, spackFake(t), "lock", trixie, "--spack-root", root, "--base-digest", digest); code != fail.Failed || !strings.Contains(errs, "concretized for debian12, and the base is debian13") {
		t.Error(code, errs)
	}
}

// TestLockAsksTheRegistry: the digest of a base without one.
func TestLockAsksTheRegistry(t *testing.T) {
	file, _ := project(t, "name: d\nbase: {from: docker, ref: \"debian:trixie-slim\"}\nstack: {mpi: openmpi}\n")
	r := runner.NewFake(t, runner.Stub{Match: "^skopeo inspect --format {{.Digest}} docker://debian:trixie-slim$", Stdout: digest + "\n"})
	if code, _, errs := call(t, r, "lock", file); code != fail.OK {
		t.Fatal(code, errs)
	}
	if code, out, errs := call(t, nil, "def", file); code != fail.OK || !strings.Contains(out, "From: debian@"+digest) {
		t.Error(code, errs)
	}
}
