package lab

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/google/renameio/v2"
	"github.com/nearmetal/nearmetal/internal/fail"
	"golang.org/x/sys/unix"
)

// Schema names the JSON documents of this package.
const Schema = "nearmetal/lab/v1"

// Settings is what a lab was started with, kept in DIR/lab.json while it is up.
type Settings struct {
	Schema  string    `json:"schema"`
	Nodes   int       `json:"nodes"`
	Slurm   Slurm     `json:"slurm"`
	Suite   string    `json:"suite"`
	Root    string    `json:"root"`
	Started time.Time `json:"started"`
}

// settings reads lab.json; nil without an error when there is none. A file
// that cannot be read as JSON counts as none: it says nothing about what runs.
func (l *Lab) settings() (*Settings, error) {
	b, err := os.ReadFile(l.path("lab.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseSettings(b), nil
}

func parseSettings(b []byte) *Settings {
	var s Settings
	if json.Unmarshal(b, &s) != nil || s.Schema != Schema || s.Nodes < 1 || s.Nodes > MaxNodes {
		return nil
	}
	return &s
}

func (l *Lab) save(s *Settings) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(l.path("lab.json"), append(b, '\n'), 0o644)
}

// lock takes the file's lock and waits for it while ctx lasts. It is let go
// when the process ends, however it ends.
func (l *Lab) lock(ctx context.Context, path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, err
		}
		if !told {
			l.say("waiting for another nearmetal-lab that holds %s", path)
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			f.Close()
			return nil, fail.New(fail.Failed, "nearmetal-lab status", "waiting for %s: %w", path, err)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
