package image

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
)

// work is the private folder of one build, beside the image: on the same
// filesystem, so that the last rename is atomic. A lock tells the folder of a
// running build from one that a killed build left.
type work struct {
	dir  string
	tmp  string // Apptainer's; "" when it chooses itself
	lock *os.File
}

// What lies in the folder beside the definition and the image.
const (
	lockName  = "lock"
	tmpName   = "tmp" // holds the path of Apptainer's temporary folder
	tmpPrefix = "nearmetal-build-"
)

func pattern(dest string) string { return "." + filepath.Base(dest) + ".build-" }

func workDir(ctx context.Context, r runner.Runner, s Spec) (*work, error) {
	dir, err := os.MkdirTemp(filepath.Dir(s.Dest), pattern(s.Dest))
	if err != nil {
		return nil, writeError(err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, writeError(err)
	}
	w := &work{dir: dir}
	if w.lock, err = take(dir); err == nil {
		err = os.WriteFile(filepath.Join(dir, "definition.def"), []byte(s.Definition), 0o600)
	}
	if err == nil && s.TmpDir != "" {
		w.tmp, err = os.MkdirTemp(s.TmpDir, tmpPrefix)
	}
	if err == nil { // for sweep
		err = os.WriteFile(filepath.Join(dir, tmpName), []byte(w.tmp), 0o600)
	}
	if err != nil {
		w.remove(ctx, r)
		return nil, writeError(err)
	}
	return w, nil
}

// take locks a build's folder; the error is unix.EWOULDBLOCK where another
// process holds it.
func take(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// remove takes both folders away, also after ctx has ended.
func (w *work) remove(ctx context.Context, r runner.Runner) {
	ctx = context.WithoutCancel(ctx)
	if w.tmp != "" {
		forceRemove(ctx, r, w.tmp)
	}
	forceRemove(ctx, r, w.dir)
	if w.lock != nil {
		w.lock.Close()
	}
}

// forceRemove removes what a killed fakeroot build left as well: files of
// subordinate user ids, which only their user namespace may remove.
func forceRemove(ctx context.Context, r runner.Runner, dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	if _, err := r.Look("unshare"); err == nil {
		_, _ = r.Run(ctx, runner.Cmd{Argv: []string{"unshare", "--user", "--map-root-user", "--map-auto", "rm", "-rf", "--", dir}})
	}
}

// sweep removes what killed builds of the same image left.
func sweep(ctx context.Context, r runner.Runner, dest string) error {
	entries, err := os.ReadDir(filepath.Dir(dest))
	if err != nil {
		return writeError(err)
	}
	for _, e := range entries {
		if !e.IsDir() || len(e.Name()) <= len(pattern(dest)) || e.Name()[:len(pattern(dest))] != pattern(dest) {
			continue
		}
		dir := filepath.Join(filepath.Dir(dest), e.Name())
		if lock, err := take(dir); err == nil {
			dead := &work{dir: dir, lock: lock}
			if b, err := os.ReadFile(filepath.Join(dir, tmpName)); err == nil && strings.HasPrefix(filepath.Base(string(b)), tmpPrefix) {
				dead.tmp = string(b)
			}
			dead.remove(ctx, r)
		}
	}
	if info, err := os.Stat(dest); err == nil && info.IsDir() {
		return fail.Usagef("nearmetal build RECIPE -o "+dest+".sif", "%s is a folder", dest)
	}
	return nil
}
