package campaign

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Index remembers where runs were made, one small file a run, so that any
// shell of the user finds them again. Home directories are usually shared, so
// all login nodes see the same index.
type Index struct {
	Dir string // $XDG_STATE_HOME/nearmetal/runs
}

// Entry is a run in the index.
type Entry struct {
	Dir     string    `json:"dir"` // of the run, absolute
	Job     string    `json:"job,omitempty"`
	Created time.Time `json:"created"`
}

// Add remembers a run.
func (x Index) Add(e Entry) error {
	if err := os.MkdirAll(x.Dir, 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	name := e.Created.UTC().Format("20060102T150405.000000000") + ".json"
	return renameio.WriteFile(filepath.Join(x.Dir, name), append(text, '\n'), 0o644)
}

// List gives the runs, newest first. Files that cannot be read are passed
// over: the index is a convenience, the run directories are the truth.
func (x Index) List() ([]Entry, error) {
	files, err := os.ReadDir(x.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") || !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		var e Entry
		text, err := os.ReadFile(filepath.Join(x.Dir, f.Name()))
		if err == nil && json.Unmarshal(text, &e) == nil && e.Dir != "" {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// Find turns a run directory, a job id or nothing (the newest run) into a path.
func (x Index) Find(name string) (string, error) {
	if name != "" {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return name, nil
		}
	}
	entries, err := x.List()
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if name == "" || e.Job == name || filepath.Base(e.Dir) == name {
			return e.Dir, nil
		}
	}
	if name == "" {
		return "", fail.Usagef("nearmetal bench mpi --image IMG --submit", "no runs are known")
	}
	return "", fail.Usagef("nearmetal status lists the runs that are known", "%s: neither a run directory nor a job of ours", name)
}
