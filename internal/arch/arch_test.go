// Package arch holds the rules of docs/adr/0001-layers.md as a test: which
// package may import which, and which packages may touch the world.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/nearmetal/nearmetal/"

// layer gives each package its height; imports only go down (or stay within a
// package's own tree). A package that is not listed here fails the test.
var layers = [][]string{
	{"internal/fail"},
	{"defs", "spack", "slurm", "bench", "internal/site"},
	{"internal/compare", "internal/check", "internal/logscan"},
	{"internal/attrib"},
	{"internal/report"},
	{"internal/runner"},
	{"internal/collect", "internal/gpu", "internal/image", "internal/store", "internal/lab"},
	{"internal/campaign"},
	{"internal/cli"},
	{"cmd"},
}

// pure packages do no effects: they start nothing, open no connection and
// write no file. Clocks and randomness are handed in.
var pure = []string{"defs", "spack", "slurm", "bench", "internal/site", "internal/compare", "internal/check", "internal/logscan", "internal/attrib", "internal/report"}

var effects = []string{"os/exec", "net", "net/http", "C", "syscall", "os/signal", "golang.org/x/sys/unix"}

// exempt are trees of their own: measuring programs and the transfer engine's
// Go face, which is cgo by nature and imported by cmd/nearmetal-xfer alone.
var exempt = []string{"bench/xfer/fabric", "bench/figures"}

func TestImportsPointOneWay(t *testing.T) {
	for file, imports := range sources(t) {
		from := height(filepath.Dir(file))
		if from < 0 {
			t.Errorf("%s: package is in no layer; add it to internal/arch", file)
		}
		for _, imp := range imports {
			dir, own := strings.CutPrefix(imp, module)
			if !own || tree(dir) == tree(filepath.Dir(file)) {
				continue
			}
			if dir == "bench/xfer/fabric" && under(file, []string{"cmd/nearmetal-xfer"}) {
				continue // its one importer
			}
			if height(dir) > from {
				t.Errorf("%s imports %s, which lies above it", file, dir)
			}
		}
	}
}

func TestPurePackagesHaveNoEffects(t *testing.T) {
	for file, imports := range sources(t) {
		if !under(file, pure) || under(file, exempt) {
			continue
		}
		for _, imp := range imports {
			if slices.Contains(effects, imp) {
				t.Errorf("%s imports %s: a pure package has no effects", file, imp)
			}
		}
	}
}

func TestOnlyRunnerStartsPrograms(t *testing.T) {
	for file, imports := range sources(t) {
		if slices.Contains(imports, "os/exec") && !under(file, []string{"internal/runner"}) && !under(file, exempt) {
			t.Errorf("%s imports os/exec: only internal/runner starts programs", file)
		}
	}
}

func TestBenchAndSlurmDoNotKnowEachOther(t *testing.T) {
	for file, imports := range sources(t) {
		if under(file, exempt) {
			continue
		}
		for _, imp := range imports {
			if under(file, []string{"bench"}) && imp == module+"slurm" || under(file, []string{"slurm"}) && strings.HasPrefix(imp, module+"bench") {
				t.Errorf("%s imports %s", file, imp)
			}
		}
	}
}

// sources maps each non-test Go file of the project to what it imports.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipDir(path, root, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		out[rel], err = imports(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 5 {
		t.Fatalf("only %d source files found", len(out))
	}
	return out
}

func skipDir(path, root, name string) bool {
	return path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bench-out")
}

func imports(path string) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func height(dir string) int {
	if under(dir, exempt) || under(dir, []string{"internal/arch", "internal/labtest"}) {
		return len(layers)
	}
	return slices.IndexFunc(layers, func(names []string) bool { return under(dir, names) })
}

func under(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return path == d || strings.HasPrefix(path, d+"/") })
}

// tree is the part of a path that belongs together: internal/x, or the top folder.
func tree(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
