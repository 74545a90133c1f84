package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"al.essio.dev/pkg/shellescape"

	"github.com/google/renameio/v2"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Names inside a run directory.
const (
	manifestName = "manifest.json"
	jobName      = "job.json"
	rawName      = "raw"
	samplesName  = "samples.jsonl"
	stopName     = "stopped.json"
	lockName     = "lock"
	partPrefix   = ".part-" // launches that are under way
)

// Dir is a run directory.
type Dir struct {
	path     string
	Manifest Manifest
	lock     *os.File
}

// Path is where the directory lies, absolute.
func (d *Dir) Path() string { return d.path }

// Create makes a run directory. One that is there already, and is not empty, is
// refused.
func Create(path string, m Manifest) (*Dir, error) {
	m.Schema = Schema
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := refuseFull(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(path, rawName), 0o777); err != nil {
		return nil, err
	}
	d := &Dir{path: path, Manifest: m}
	// The manifest comes last: a directory without one is not a run yet.
	if err := d.writeJSON(manifestName, m); err != nil {
		return nil, err
	}
	return d, syncDir(filepath.Dir(path))
}

// refuseFull allows a missing directory, an empty one, and what a Create that
// was killed before its manifest has left.
func refuseFull(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(path, manifestName)); err == nil {
		return fail.Usagef("nearmetal bench --resume "+shellescape.Quote(path), "%s: holds a run already", path)
	}
	for _, e := range entries {
		if e.Name() != rawName && !strings.HasPrefix(e.Name(), ".") {
			return fail.Usagef("choose another directory with -o", "%s: not empty (%s), and not a run directory", path, e.Name())
		}
	}
	return nil
}

// Open reads a run directory's manifest, or says what is wrong with it.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(path, manifestName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notARun(path)
	case err != nil:
		return nil, err
	}
	d := &Dir{path: path}
	if err := decode(text, &d.Manifest); err != nil {
		return nil, corrupt(path, manifestName, err)
	}
	if err := d.Manifest.validate(); err != nil {
		return nil, corrupt(path, manifestName, err)
	}
	if info, err := os.Stat(filepath.Join(path, rawName)); err != nil || !info.IsDir() {
		return nil, corrupt(path, rawName, errors.New("no such directory"))
	}
	return d, nil
}

func notARun(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fail.Usagef("nearmetal status lists the runs that were submitted", "run directory: %w", err)
	}
	return fail.Usagef("nearmetal bench mpi --image IMG -o "+shellescape.Quote(path), "%s: not a run directory (no %s)", path, manifestName)
}

func corrupt(path, name string, err error) error {
	return fail.New(fail.Failed, "restore the file or run the benchmark again", "%s: %w", filepath.Join(path, name), err)
}

// decode reads one JSON document and nothing after it.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(v); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n")), err)
		}
		return fmt.Errorf("not a JSON document: %w", err)
	}
	if d.More() {
		return errors.New("text after the JSON document")
	}
	return nil
}

func (m Manifest) validate() error {
	if m.Schema != Schema {
		return fmt.Errorf("schema %q, this version reads %q", m.Schema, Schema)
	}
	if len(m.Schedule) == 0 || len(m.Arms) == 0 || len(m.Cases) == 0 {
		return errors.New("no schedule, arms or cases")
	}
	for i, l := range m.Schedule {
		_, arm := m.Arm(l.Arm)
		_, c := m.Case(l.Case)
		if !arm || !c || l.ID != i {
			return fmt.Errorf("launch %d of the schedule has no arm %q, no case %q or another number %d", i, l.Arm, l.Case, l.ID)
		}
	}
	for _, a := range m.Arms {
		if a.Name == "" || a.Name != filepath.Base(a.Name) || a.Name[0] == '.' {
			return fmt.Errorf("arm %q: not a name", a.Name)
		}
	}
	return nil
}

// SetJob records the Slurm job.
func (d *Dir) SetJob(j Job) error { return d.writeJSON(jobName, j) }

// Job gives the Slurm job, or false when there is none.
func (d *Dir) Job() (Job, bool, error) {
	var j Job
	text, err := os.ReadFile(filepath.Join(d.path, jobName))
	if errors.Is(err, fs.ErrNotExist) {
		return j, false, nil
	}
	if err == nil {
		err = decode(text, &j)
	}
	if err != nil {
		return j, false, corrupt(d.path, jobName, err)
	}
	return j, true, nil
}

// SetStopped records that the run ended before its last block.
func (d *Dir) SetStopped(s Stopped) error { return d.writeJSON(stopName, s) }

// Stopped gives the record of an early end, or false when there is none.
func (d *Dir) Stopped() (Stopped, bool, error) {
	var s Stopped
	text, err := os.ReadFile(filepath.Join(d.path, stopName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err == nil {
		err = decode(text, &s)
	}
	if err != nil {
		return s, false, corrupt(d.path, stopName, err)
	}
	return s, true, nil
}

// writeJSON replaces a file of the directory: temporary file, fsync, rename.
func (d *Dir) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(d.path, name), append(text, '\n'), 0o644); err != nil {
		return full(d.path, err)
	}
	return syncDir(d.path)
}

// syncDir makes renames in a directory last (fsync(2)).
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// Discard removes a run directory in which nothing was started, and nothing
// else: what is not ours in it stays.
func (d *Dir) Discard() error {
	for _, name := range []string{rawName, lockName, manifestName} {
		if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // raw/ holds something: keep it all
		}
	}
	if err := os.Remove(d.path); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}
