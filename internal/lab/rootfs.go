package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"golang.org/x/sys/unix"
)

// Roots are the cached root filesystems that a lab needs.
type Roots struct {
	Node  string `json:"node"`
	Bases string `json:"bases"` // directory of base directories
}

// Prepare makes what is missing of the nodes' root and the base of a suite. An
// empty mirror is the machine's own.
func (l *Lab) Prepare(ctx context.Context, suite, mirror string) (Roots, error) {
	if err := checkSuite(suite); err != nil {
		return Roots{}, err
	}
	m, proxy, err := l.mirror(ctx, mirror)
	if err != nil {
		return Roots{}, err
	}
	node, err := l.ensureRoot(ctx, nodeSpec(suite, m, proxy), "roots")
	if err != nil {
		return Roots{}, err
	}
	if err := l.base(ctx, suite, m, proxy); err != nil {
		return Roots{}, err
	}
	return Roots{node, filepath.Join(l.Cache, "bases")}, nil
}

// Base makes the base directory of a suite; a running lab sees it at once as
// /shared/bases/SUITE.
func (l *Lab) Base(ctx context.Context, suite, mirror string) error {
	if err := checkSuite(suite); err != nil {
		return err
	}
	m, proxy, err := l.mirror(ctx, mirror)
	if err != nil {
		return err
	}
	return l.base(ctx, suite, m, proxy)
}

func (l *Lab) mirror(ctx context.Context, asked string) (Mirror, []string, error) {
	dump, err := runner.Output(ctx, l.Run, "apt-config", "dump")
	if err != nil {
		dump = nil // no apt: a mirror was given, or hostMirror says so
	}
	if asked == "" {
		m, err := hostMirror("/")
		return m, proxyOpts(string(dump)), err
	}
	if err := validMirror(asked); err != nil {
		return Mirror{}, nil, fail.Usagef("nearmetal-lab up --mirror https://HOST/debian", "mirror: %w", err)
	}
	return Mirror{asked, debianKeyring}, proxyOpts(string(dump)), nil
}

// base makes the directory and points bases/SUITE at it.
func (l *Lab) base(ctx context.Context, suite string, m Mirror, proxy []string) error {
	spec := baseSpec(suite, m, proxy)
	if _, err := l.ensureRoot(ctx, spec, "bases"); err != nil {
		return err
	}
	link := filepath.Join(l.Cache, "bases", suite)
	if old, err := os.Readlink(link); err == nil && old == spec.dirName() {
		return nil
	}
	tmp := link + ".new"
	_ = os.Remove(tmp)
	return errors.Join(os.Symlink(spec.dirName(), tmp), os.Rename(tmp, link))
}

// ensureRoot gives the cached directory of a spec, made now if it must be. It
// appears under its name only when it is whole; one builder works at a time.
func (l *Lab) ensureRoot(ctx context.Context, spec RootSpec, under string) (string, error) {
	dir := filepath.Join(l.Cache, under)
	final := filepath.Join(dir, spec.dirName())
	if isDir(final) {
		return final, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	release, err := l.lock(ctx, filepath.Join(l.Cache, "roots.lock"))
	if err != nil {
		return "", err
	}
	defer release()
	if isDir(final) {
		return final, nil
	}
	if err := removeStale(dir); err != nil {
		return "", err
	}
	if err := l.canBuild(spec); err != nil {
		return "", err
	}
	tmp := filepath.Join(dir, tmpPrefix+spec.dirName())
	if err := l.buildRoot(ctx, spec, tmp); err != nil {
		return "", errors.Join(err, removeStale(dir))
	}
	return final, os.Rename(tmp, final)
}

const tmpPrefix = ".building-"

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// removeStale removes what a killed build left. The builder's mounts went with
// its namespaces, so that nothing but its files is below.
func removeStale(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, tmpPrefix+"*"))
	if err != nil {
		return err
	}
	for _, d := range old {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
	}
	return nil
}

// canBuild refuses before anything is begun.
func (l *Lab) canBuild(spec RootSpec) error {
	if _, err := l.Run.Look("mmdebstrap"); err != nil {
		return fail.Missingf("apt-get install -y mmdebstrap debian-archive-keyring", "mmdebstrap is not installed; it makes the nodes' root filesystem")
	}
	if _, err := os.Stat(spec.Keyring); err != nil {
		return fail.Missingf("apt-get install -y debian-archive-keyring", "the archive's keys are missing: %w", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(l.Cache, &st); err != nil {
		return err
	}
	if free := st.Bavail * uint64(st.Bsize); free < 3<<30 {
		return fail.Missingf("df -h "+l.Cache, "only %d MiB are free in %s; a root filesystem takes 3 GiB while it is made", free>>20, l.Cache)
	}
	return nil
}

type buildConfig struct{ Argv []string }

// buildRoot runs mmdebstrap as the only thing in mount and process namespaces
// of its own: when we or it are killed, nothing of it stays mounted or running.
func (l *Lab) buildRoot(ctx context.Context, spec RootSpec, tmp string) error {
	start := l.Now()
	l.say("making the %s root of %s (once; a minute or two)", spec.Kind, spec.Suite)
	logs := filepath.Join(l.Cache, "log")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(logs, spec.Kind+"-"+spec.Suite+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	if err := l.inBuilder(ctx, spec.argv(tmp), log); err != nil {
		return fail.New(fail.Failed, "less "+log.Name(), "making the %s root of %s: %w", spec.Kind, spec.Suite, err)
	}
	if err := finishRoot(spec, tmp); err != nil {
		return err
	}
	l.say("made the %s root of %s in %s", spec.Kind, spec.Suite, l.Now().Sub(start).Round(time.Second))
	return nil
}

func (l *Lab) inBuilder(ctx context.Context, argv []string, log io.Writer) error {
	defer lockThread()()
	env := append(os.Environ(), "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")
	c, err := l.spawn(argBuild, unix.CLONE_NEWNS|unix.CLONE_NEWPID, env, syscall.SIGKILL)
	if err != nil {
		return err
	}
	defer c.report.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.proc.Kill() })
	defer stop()
	if err := c.configure(buildConfig{argv}); err != nil {
		return err
	}
	last := &tail{max: 8}
	_, copyErr := io.Copy(io.MultiWriter(log, last), c.report)
	state, err := c.proc.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil || copyErr != nil:
		return errors.Join(err, copyErr)
	case !state.Success():
		return fmt.Errorf("mmdebstrap: %s:\n%s", state, last)
	}
	return nil
}

// buildInit is the builder's first process.
func buildInit(ctx context.Context) error {
	var cfg buildConfig
	if err := readConfig(&cfg); err != nil {
		return err
	}
	err := errors.Join(
		mount("", "/", "none", unix.MS_REC|unix.MS_PRIVATE, ""),
		mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""),
	)
	if err != nil {
		return err
	}
	res, err := runner.Real{}.Run(ctx, runner.Cmd{Argv: cfg.Argv, Stdout: os.Stdout, Stderr: os.Stderr})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("exit status %d", res.ExitCode)
	}
	return err
}

// finishRoot does what is easier outside mmdebstrap, which keeps its own
// device nodes until its end.
func finishRoot(spec RootSpec, root string) error {
	if err := os.Chmod(root, 0o755); err != nil {
		return err
	}
	if spec.Kind != "base" {
		return nil
	}
	dev, err := os.ReadDir(filepath.Join(root, "dev"))
	if err != nil {
		return err
	}
	for _, d := range dev {
		if err := os.RemoveAll(filepath.Join(root, "dev", d.Name())); err != nil {
			return err
		}
	}
	return filepath.WalkDir(root, readable)
}

// readable lets everybody read a file or enter a directory. No secret is in a
// base: its accounts have no passwords.
func readable(path string, d fs.DirEntry, err error) error {
	if err != nil || d.Type()&fs.ModeSymlink != 0 {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	more := fs.FileMode(0o444)
	if d.IsDir() {
		more = 0o555
	}
	bits := info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	if bits&more == more {
		return nil
	}
	return os.Chmod(path, bits|more)
}

// tail keeps the last lines written to it.
type tail struct {
	max  int
	rest []byte
	kept []string
}

func (t *tail) Write(b []byte) (int, error) {
	t.rest = append(t.rest, b...)
	for {
		line, after, ok := bytes.Cut(t.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		t.rest = after
		if t.kept = append(t.kept, string(line)); len(t.kept) > t.max {
			t.kept = t.kept[1:]
		}
	}
}

func (t *tail) String() string {
	return strings.TrimSpace(strings.Join(t.kept, "\n") + "\n" + string(t.rest))
}
