package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// full adds what to do when the disk is full.
func full(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fail.New(fail.Failed, "make room, then nearmetal bench --resume "+shellescape.Quote(path), "%w", err)
	}
	return err
}

// Lock makes us the only one that runs launches in the directory, until Close.
// The kernel lets go of it when we die, SIGKILL included. who is written into
// the file for the one that comes second.
func (d *Dir) Lock(who string) error {
	path := filepath.Join(d.path, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return full(d.path, err)
	}
	err = flockPatiently(f)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		text, _ := os.ReadFile(path)
		return fail.New(fail.Failed, "nearmetal status "+shellescape.Quote(d.path),
			"%s: another bench runs in it (%s)", d.path, strings.TrimSpace(string(text)))
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("lock %s: %w", path, err)
	}
	d.lock = f
	// Only a note for people: a full disk does not matter here.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(who+"\n"), 0)
	}
	return nil
}

// flockPatiently tries for a moment: Locked of another process holds the lock
// for an instant.
func flockPatiently(f *os.File) error {
	for try := 0; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == 10 {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Locked says whether somebody on this machine or, where the file system
// carries flock(2), on another runs launches in the directory.
func (d *Dir) Locked() bool {
	f, err := os.Open(filepath.Join(d.path, lockName))
	if err != nil {
		return false
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK)
}

// Close lets go of the lock.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}
