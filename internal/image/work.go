package image

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// work is the private folder of one build, beside the image: on the same
// filesystem, so that the last rename is atomic. A lock tells the folder of a
// running build from one that a killed build left.
type work struct {
	dir  string
	tmp  string // Apptainer's; "" when it chooses itself
	lock *os.File
}

const lockName = "lock"

func pattern(dest string) string { return "." + filepath.Base(dest) + ".build-" }

func workDir(s Spec) (*work, error) {
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
		w.tmp, err = os.MkdirTemp(s.TmpDir, "nearmetal-build-")
	}
	if err != nil {
		w.remove()
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

// remove takes the folder away. What a fakeroot build of a killed Apptainer
// left may belong to a subordinate user id and stay: it is in a folder whose
// name says so.
func (w *work) remove() {
	if w.tmp != "" {
		forceRemove(w.tmp)
	}
	forceRemove(w.dir)
	if w.lock != nil {
		w.lock.Close()
	}
}

// forceRemove opens folders that the image's own modes close.
func forceRemove(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// sweep removes what killed builds of the same image left.
func sweep(dest string) error {
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
			forceRemove(dir)
			lock.Close()
		}
	}
	if info, err := os.Stat(dest); err == nil && info.IsDir() {
		return fail.Usagef("nearmetal build RECIPE -o "+dest+".sif", "%s is a folder", dest)
	}
	return nil
}
