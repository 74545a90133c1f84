package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nearmetal/nearmetal/bench"
)

// Record is a launch under way. Its output goes to Stdout and Stderr; it counts
// once Commit has returned.
type Record struct {
	Stdout, Stderr *os.File
	dir            *Dir
	part, final    string // directories below raw/
}

// Begin makes room for a launch. What an earlier attempt has left is removed.
func (d *Dir) Begin(l bench.Launch) (*Record, error) {
	return d.begin(fmt.Sprintf("%04d-%s", l.ID, l.Arm))
}

// envPrefix begins the names of environment captures below raw/.
const envPrefix = "env-"

// BeginEnvironment makes room for the capture of an arm's environment.
func (d *Dir) BeginEnvironment(arm string) (*Record, error) { return d.begin(envPrefix + arm) }

// HasEnvironment says whether the arm's environment has been captured.
func (d *Dir) HasEnvironment(arm string) bool {
	_, err := os.Stat(d.raw(envPrefix + arm))
	return err == nil
}

// EnvironmentPaths are the capture's standard output and error, below the run
// directory.
func EnvironmentPaths(name string) (stdout, stderr string) {
	dir := filepath.Join(rawName, envPrefix+name)
	return filepath.Join(dir, "stdout"), filepath.Join(dir, "stderr")
}

// OpenEnvironment opens the capture's standard output.
func (d *Dir) OpenEnvironment(arm string) (*os.File, error) {
	return os.Open(filepath.Join(d.raw(envPrefix+arm), "stdout"))
}

func (d *Dir) begin(name string) (*Record, error) {
	r := &Record{dir: d, part: d.raw(partPrefix + name), final: d.raw(name)}
	if err := os.RemoveAll(r.part); err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.part, 0o777); err != nil {
		return nil, full(d.path, err)
	}
	var err error
	if r.Stdout, err = os.Create(filepath.Join(r.part, "stdout")); err != nil {
		return nil, full(d.path, err)
	}
	if r.Stderr, err = os.Create(filepath.Join(r.part, "stderr")); err != nil {
		r.Stdout.Close()
		return nil, full(d.path, err)
	}
	return r, nil
}

func (d *Dir) raw(name string) string { return filepath.Join(d.path, rawName, name) }

// Commit makes the launch complete: everything is on disk before the rename
// shows it.
func (r *Record) Commit(run bench.Run) (bench.Run, error) {
	rel := filepath.Join(rawName, filepath.Base(r.final))
	run.Stdout, run.Stderr = filepath.Join(rel, "stdout"), filepath.Join(rel, "stderr")
	if err := r.commit(run); err != nil {
		r.Abort()
		return run, full(r.dir.path, err)
	}
	return run, nil
}

func (r *Record) commit(run bench.Run) error {
	text, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return err
	}
	meta, err := os.Create(filepath.Join(r.part, "run.json"))
	if err != nil {
		return err
	}
	if _, err := meta.Write(append(text, '\n')); err != nil {
		meta.Close()
		return err
	}
	for _, f := range []*os.File{r.Stdout, r.Stderr, meta} {
		if err := f.Sync(); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	if err := syncDir(r.part); err != nil {
		return err
	}
	if err := os.Rename(r.part, r.final); err != nil {
		return err
	}
	return syncDir(filepath.Dir(r.final))
}

// CommitFailed keeps a launch that shall be started again, beside the launches
// of the schedule: raw/failed-NUMBER-ARM-ATTEMPT.
func (r *Record) CommitFailed(run bench.Run, attempt int) (bench.Run, error) {
	r.final = r.dir.raw(fmt.Sprintf("%s%s-%d", failedPrefix, filepath.Base(r.final), attempt))
	if err := os.RemoveAll(r.final); err != nil { // of an earlier process
		return run, err
	}
	return r.Commit(run)
}

// failedPrefix begins the names of launches that were started again.
const failedPrefix = "failed-"

// Abort forgets the launch.
func (r *Record) Abort() {
	r.Stdout.Close()
	r.Stderr.Close()
	os.RemoveAll(r.part)
}
