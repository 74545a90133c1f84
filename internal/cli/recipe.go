package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nearmetal/nearmetal/defs"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// source is a recipe as a verb was told to take it.
type source struct {
	recipe defs.Recipe
	def    defs.Definition
	dir    string // where the recipe's files lie
}

// loadRecipe reads a file, or an example by its name where no file is called
// so, puts another base under it and renders it. A locked recipe is taken as it
// was rendered then, unless another base or the site's own Spack is asked for.
func loadRecipe(arg, base string, site defs.Site) (source, error) {
	r, dir, err := readRecipe(arg)
	if err != nil {
		return source{}, recipeError(arg, err)
	}
	lock, locked, err := readLockfile(arg, dir, r)
	if err != nil {
		return source{}, err
	}
	if lock != nil {
		if base == "" && site == (defs.Site{}) {
			return source{r, defs.Definition{Text: locked, Digest: r.Digest()}, dir}, lock.sameBase(r.Base, dir)
		}
		r.Lock = lock.forRecipe(lockName(arg), strings.TrimPrefix(lock.Files[spackLock], "sha256:"))
	}
	if base != "" {
		if r.Lock != nil {
			r.Lock.Base = ""
		}
		if r.Base, err = defs.ParseBase(base, r.Base); err != nil {
			return source{}, fail.Usagef("--base docker:debian:trixie-slim, or --base localimage:/path/of/a/root", "--base: %w", err)
		}
	}
	d, err := defs.RenderAt(r, site)
	if err != nil {
		return source{}, recipeError(arg, err)
	}
	return source{r, d, dir}, nil
}

func readRecipe(arg string) (defs.Recipe, string, error) {
	info, err := os.Stat(arg)
	if err == nil && info.IsDir() {
		return defs.Recipe{}, "", fail.Usagef("nearmetal init "+arg, "%s is a folder, not a recipe", arg)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if e, ok := defs.FindExample(strings.TrimSuffix(arg, ".yaml")); ok {
			r, err := defs.Decode(strings.NewReader(e.Text))
			return r, ".", err
		}
		return defs.Recipe{}, "", fail.Missingf("nearmetal init --list shows the recipes that come with nearmetal", "%s: no such recipe", arg)
	}
	dir := filepath.Dir(arg)
	r, err := defs.Load(os.DirFS(dir), filepath.Base(arg))
	return r, dir, err
}

// recipeError puts the file's name before each fault, so that editors find it.
func recipeError(name string, err error) error {
	var faults defs.Faults
	if !errors.As(err, &faults) {
		return err
	}
	text := fmt.Sprintf("%s: %s", name, faults.Error())
	if len(faults) > 1 {
		text = fmt.Sprintf("%s has %d faults\n  %s", name, len(faults), strings.ReplaceAll(faults.Error(), "\n", "\n  "))
	}
	return &fail.Error{Code: fail.Usage, Msg: text, Hint: "nearmetal init example writes a recipe with every key explained, example/openmpi-debian.yaml", Err: err}
}
