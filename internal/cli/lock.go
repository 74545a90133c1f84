package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/defs"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/spack"
)

// LockOptions is what `nearmetal lock` was asked.
type LockOptions struct {
	Recipe     string
	SpackRoot  string
	Python     string
	BaseDigest string
}

const lockLong = `Pin what a recipe leaves open, into the folder NAME.lock beside it: the digest
of the base, with provider: spack the versions, variants and sources of every
package (spack.lock), and the definition itself. From then on nearmetal def and
nearmetal build take what is locked: the same bytes, and nothing is concretized
again. A recipe that was changed since is refused until it is locked again.

Spack concretizes here, with this machine's compiler: the machine has to have
the distribution of the base. Inside the base it always has:
apptainer exec BASE nearmetal lock RECIPE --spack-root DIR`

func newLock(d Deps, runF func(context.Context, Deps, LockOptions) error) *cobra.Command {
	var o LockOptions
	c := &cobra.Command{
		Use:   "lock RECIPE",
		Short: "pin the base, the packages and the definition of a recipe",
		Long:  lockLong,
		Example: `  nearmetal lock my.yaml --spack-root ~/spack
  nearmetal lock my.yaml --spack-root ~/spack --python ~/clingo/bin/python3
  nearmetal lock my.yaml --base-digest sha256:0123…`,
		Args: exactly(1, "RECIPE"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Recipe = args[0]
			return runF(c.Context(), d, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.SpackRoot, "spack-root", "", "concretize with the Spack in `DIR`")
	f.StringVar(&o.Python, "python", "", "run Spack with this Python `FILE`; one that can import clingo needs no download")
	f.StringVar(&o.BaseDigest, "base-digest", "", "`DIGEST` of a docker base (without it, skopeo is asked)")
	return c
}

func runLock(ctx context.Context, d Deps, o LockOptions) error {
	if info, err := os.Stat(o.Recipe); err != nil || info.IsDir() {
		return fail.Missingf("nearmetal init writes one of nearmetal's recipes", "%s: no such recipe file", o.Recipe)
	}
	r, dir, err := readRecipe(o.Recipe)
	if err != nil {
		return recipeError(o.Recipe, err)
	}
	k := newLockfile(r)
	if k.Base, err = baseDigest(ctx, d, r.Base, dir, o.BaseDigest); err != nil {
		return err
	}
	files := map[string]string{}
	if r.Provider == defs.ProviderSpack {
		if err := lockSpack(ctx, d, o, r, dir, &k, files); err != nil {
			return err
		}
	}
	r.Lock = k.forRecipe(lockName(o.Recipe), sumText(files[spackLock]))
	def, err := defs.Render(r)
	if err != nil {
		return recipeError(o.Recipe, err)
	}
	files[lockedDef] = def.Text
	at := filepath.Join(dir, lockName(o.Recipe))
	if err := k.write(at, files); err != nil {
		return err
	}
	fmt.Fprintf(d.Err, "locked in %s: %s\nnext: nearmetal build %s -o %s.sif\n", at, k.summary(), shellescape.Quote(o.Recipe), r.Name)
	return nil
}

// lockSpack concretizes the recipe's environment in a private folder.
func lockSpack(ctx context.Context, d Deps, o LockOptions, r defs.Recipe, dir string, k *lockfile, files map[string]string) error {
	if o.SpackRoot == "" {
		return fail.Usagef("nearmetal lock "+shellescape.Quote(o.Recipe)+" --spack-root DIR", "a recipe with provider: spack is locked by Spack; say where it is")
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	text, err := r.SpackYAML(defs.Site{}, root)
	if err != nil {
		return recipeError(o.Recipe, err)
	}
	lock, err := concretize(ctx, d, o, text)
	if err != nil {
		return err
	}
	l, err := spack.ReadLock(bytes.NewReader(lock))
	if err != nil {
		return fail.New(fail.Failed, "", "what Spack wrote cannot be read: %w", err)
	}
	if err := sameSystem(l, r.Base, dir); err != nil {
		return err
	}
	if files[spackYAML], err = r.SpackYAML(defs.Site{}, ""); err != nil {
		return err
	}
	files[spackLock] = string(lock)
	k.Spack = l.Spack
	for _, n := range l.Closure() {
		k.Packages = append(k.Packages, n.Name+" "+n.Version)
	}
	return nil
}

// concretize runs Spack on the environment and gives its spack.lock.
func concretize(ctx context.Context, d Deps, o LockOptions, text string) ([]byte, error) {
	program := filepath.Join(o.SpackRoot, "bin", "spack")
	if _, err := os.Stat(program); err != nil {
		return nil, fail.Missingf("git clone --depth 1 --branch v0.23.1 https://github.com/spack/spack.git", "no Spack in %s: %w", o.SpackRoot, err)
	}
	env, err := os.MkdirTemp("", "nearmetal-lock-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(env)
	if err := os.WriteFile(filepath.Join(env, spackYAML), []byte(text), 0o600); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	c := runner.Cmd{Argv: []string{program, "-e", env, "concretize", "--force"}, Stdout: &out, Stderr: &out, Own: true, Tied: true,
		Env: []string{"SPACK_DISABLE_LOCAL_CONFIG=1", "SPACK_USER_CACHE_PATH=" + spackCache(env)}}
	if o.Python != "" {
		c.Env = append(c.Env, "SPACK_PYTHON="+o.Python)
	}
	fmt.Fprintln(d.Err, "concretizing with", program)
	res, err := d.Runner.Run(ctx, c)
	if err != nil {
		return nil, fail.New(fail.Failed, program+" --version", "spack does not run: %w", err)
	}
	if res.ExitCode != 0 {
		return nil, fail.New(fail.Failed, concretizeHint(out.String()), "spack concretize ended with %d:\n%s", res.ExitCode, lastLines(out.String(), 15))
	}
	return os.ReadFile(filepath.Join(env, spackLock))
}

// spackCache keeps Spack's index of its packages from one lock to the next: to
// make it anew takes minutes.
func spackCache(env string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(env, "cache")
	}
	return filepath.Join(dir, "nearmetal", "spack")
}

func concretizeHint(out string) string {
	if strings.Contains(out, "clingo") || strings.Contains(out, "bootstrap") {
		return "python3 -m venv ~/clingo && ~/clingo/bin/pip install clingo, then --python ~/clingo/bin/python3"
	}
	return "nearmetal def RECIPE shows the spack.yaml"
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return printableLines(strings.Join(lines[max(0, len(lines)-n):], "\n"))
}

func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = "  " + printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// baseDigest is what pins the base: the recipe's own digest, the flag's, the
// registry's by skopeo, or the sum of an image file. A folder has none.
func baseDigest(ctx context.Context, d Deps, b defs.Base, dir, flag string) (string, error) {
	switch {
	case b.From == "docker" && b.Digest != "":
		return b.Digest, nil
	case b.From == "docker" && flag != "":
		b.Digest = flag
		_, err := defs.ParseBase(b.From+":"+b.Ref+"@"+flag, b)
		if err != nil {
			return "", fail.Usagef("", "--base-digest: %w", err)
		}
		return flag, nil
	case b.From == "docker":
		return askRegistry(ctx, d, b.Ref)
	case b.From == "localimage":
		return sumBase(d, b, dir)
	}
	fmt.Fprintln(d.Err, "note: a debootstrap base cannot be pinned but by its mirror (a snapshot)")
	return "", nil
}

func askRegistry(ctx context.Context, d Deps, ref string) (string, error) {
	hint := "nearmetal lock RECIPE --base-digest sha256:…, as docker or skopeo inspect " + ref + " shows it"
	if _, err := d.Runner.Look("skopeo"); err != nil {
		return "", fail.Missingf(hint, "the base %s has no digest, and skopeo is not in PATH to ask for it", ref)
	}
	var out, errs bytes.Buffer
	res, err := d.Runner.Run(ctx, runner.Cmd{Argv: []string{"skopeo", "inspect", "--format", "{{.Digest}}", "docker://" + ref}, Stdout: &out, Stderr: &errs})
	if err != nil || res.ExitCode != 0 {
		return "", fail.New(fail.Missing, hint, "skopeo cannot tell the digest of %s: %s", ref, lastLines(errs.String(), 3))
	}
	digest := strings.TrimSpace(out.String())
	if _, err := defs.ParseBase("docker:"+ref+"@"+digest, defs.Base{Distro: "debian"}); err != nil {
		return "", fail.New(fail.Failed, hint, "skopeo says %q", printable(digest))
	}
	return digest, nil
}

func sumBase(d Deps, b defs.Base, dir string) (string, error) {
	sum, err := localBaseSum(b, dir)
	if errors.Is(err, errFolder) {
		fmt.Fprintf(d.Err, "note: %s is a folder: its content is not pinned\n", b.Path)
		return "", nil
	}
	if err != nil {
		return "", fail.Missingf("nearmetal lock on the machine that has it", "the base cannot be read: %w", err)
	}
	return sum, nil
}

// sameSystem refuses a lock for another distribution than the base's, where
// the base's can be told: its compiler and C library would not be found.
func sameSystem(l spack.Lock, b defs.Base, dir string) error {
	want := baseSystem(b, dir)
	for _, n := range l.Nodes {
		if want != "" && n.OS != "" && n.OS != want {
			return fail.New(fail.Failed, "apptainer exec BASE nearmetal lock RECIPE --spack-root DIR", "Spack concretized for %s, and the base is %s", n.OS, want)
		}
	}
	return nil
}

// baseSystem names a base's distribution as Spack does; "" when it is not known.
func baseSystem(b defs.Base, dir string) string {
	if b.From == "localimage" {
		p := b.Path
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		return osRelease(os.DirFS(p))
	}
	for _, s := range []struct{ word, name string }{
		{"bullseye", "debian11"}, {"bookworm", "debian12"}, {"trixie", "debian13"},
		{"ubuntu:20.04", "ubuntu20.04"}, {"focal", "ubuntu20.04"}, {"ubuntu:22.04", "ubuntu22.04"}, {"jammy", "ubuntu22.04"},
		{"ubuntu:24.04", "ubuntu24.04"}, {"noble", "ubuntu24.04"}, {"rockylinux:8", "rocky8"}, {"rockylinux:9", "rocky9"},
		{"almalinux:8", "almalinux8"}, {"almalinux:9", "almalinux9"},
	} {
		if strings.Contains(b.Ref+b.Suite, s.word) {
			return s.name
		}
	}
	return ""
}

func osRelease(fsys fs.FS) string {
	text, err := fs.ReadFile(fsys, "etc/os-release")
	if err != nil {
		return ""
	}
	var id, version string
	for _, line := range strings.Split(string(text), "\n") {
		k, v, _ := strings.Cut(line, "=")
		switch v = strings.Trim(v, `"`); k {
		case "ID":
			id = v
		case "VERSION_ID":
			version = v
		}
	}
	if id != "ubuntu" { // Spack keeps the minor version of Ubuntu only
		version, _, _ = strings.Cut(version, ".")
	}
	return id + version
}
