package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/nearmetal/nearmetal/bench"
)

// Runs gives the complete launches in the order of their numbers. A record
// that cannot be read, or that belongs to another schedule, is an error that
// names it.
func (d *Dir) Runs() ([]bench.Run, error) {
	entries, err := os.ReadDir(d.raw(""))
	if err != nil {
		return nil, err
	}
	var runs []bench.Run
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // under way, or left by a crash
		}
		if strings.HasPrefix(e.Name(), envPrefix) || strings.HasPrefix(e.Name(), failedPrefix) {
			continue
		}
		r, err := d.readRun(e.Name())
		if err != nil {
			return nil, corrupt(d.path, filepath.Join(rawName, e.Name()), err)
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b bench.Run) int { return a.ID - b.ID })
	for i := 1; i < len(runs); i++ {
		if runs[i].ID == runs[i-1].ID {
			return nil, corrupt(d.path, rawName, fmt.Errorf("launch %d is there twice", runs[i].ID))
		}
	}
	return runs, nil
}

func (d *Dir) readRun(name string) (bench.Run, error) {
	var r bench.Run
	text, err := os.ReadFile(filepath.Join(d.raw(name), "run.json"))
	if err != nil {
		return r, err
	}
	if err := decode(text, &r); err != nil {
		return r, fmt.Errorf("run.json: %w", err)
	}
	if r.ID < 0 || r.ID >= len(d.Manifest.Schedule) || d.Manifest.Schedule[r.ID] != r.Launch {
		return r, errors.New("not a launch of this run's schedule")
	}
	for _, out := range []string{r.Stdout, r.Stderr} {
		if filepath.Dir(out) != filepath.Join(rawName, name) {
			return r, fmt.Errorf("output %q lies elsewhere", out)
		}
	}
	return r, nil
}

// Output opens a launch's raw standard output or error (Run.Stdout, Run.Stderr).
func (d *Dir) Output(rel string) (*os.File, error) {
	if !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%q: not inside the run directory", rel)
	}
	return os.Open(filepath.Join(d.path, rel))
}

// Tidy removes what a crash has left under way. The lock must be held.
func (d *Dir) Tidy() error {
	left, err := filepath.Glob(filepath.Join(globEscape(d.raw("")), partPrefix+"*"))
	if err != nil {
		return err
	}
	for _, p := range left {
		if err := os.RemoveAll(p); err != nil {
			return err
		}
	}
	return nil
}

func globEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// WriteSamples replaces samples.jsonl.
func (d *Dir) WriteSamples(samples []bench.Sample) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, s := range samples {
		if err := e.Encode(s); err != nil {
			return err
		}
	}
	return full(d.path, renameio.WriteFile(filepath.Join(d.path, samplesName), b.Bytes(), 0o644))
}

// AppendSamples adds a complete launch's samples. A crash can tear the last
// line: WriteSamples from raw/ repairs it.
func (d *Dir) AppendSamples(samples []bench.Sample) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, s := range samples {
		if err := e.Encode(s); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(filepath.Join(d.path, samplesName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return full(d.path, err)
	}
	_, err = f.Write(b.Bytes())
	return full(d.path, errors.Join(err, f.Close()))
}

// Samples reads samples.jsonl. A torn or foreign line is an error with its
// number; a missing file holds none.
func (d *Dir) Samples() ([]bench.Sample, error) {
	text, err := os.ReadFile(filepath.Join(d.path, samplesName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []bench.Sample
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		var s bench.Sample
		if err := json.Unmarshal(line, &s); err != nil || !whole {
			return nil, fmt.Errorf("%s:%d: torn or not a sample", filepath.Join(d.path, samplesName), n)
		}
		out, text = append(out, s), rest
	}
	return out, nil
}
