package campaign

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/attrib"
	"github.com/nearmetal/nearmetal/internal/store"
	"github.com/nearmetal/nearmetal/slurm"
)

// Results is what a run directory holds, read again from its raw output.
type Results struct {
	Manifest    store.Manifest
	Runs        []bench.Run                        // complete launches, warm-ups and failed ones too
	Samples     []bench.Sample                     // of the runs that count, warm-ups included (Block is bench.WarmUp)
	Environment map[string]map[string]string       // by arm, keys as compare.Options.BaseEnv has them
	Notes       []string                           // launches that failed, for people
	Facts       map[string]map[string]attrib.Facts // by arm and placement: what the libraries said
	Stopped     *store.Stopped                     // why it ended before its last block; nil when it did not
}

// Complete says whether every launch of the schedule is there, or enough of them.
func (r Results) Complete() bool {
	return r.Stopped != nil || len(r.Runs) == len(r.Manifest.Schedule)
}

// Load reads a run directory. It needs no lock: launches under way do not show.
func Load(path string) (Results, error) {
	dir, err := store.Open(path)
	if err != nil {
		return Results{}, err
	}
	runs, err := dir.Runs()
	if err != nil {
		return Results{}, err
	}
	res := Results{Manifest: dir.Manifest, Runs: runs}
	if res.Samples, res.Environment, err = samplesOf(dir, runs); err != nil {
		return res, err
	}
	if s, ok, err := dir.Stopped(); err != nil {
		return res, err
	} else if ok {
		res.Stopped = &s
	}
	res.Facts = map[string]map[string]attrib.Facts{}
	for _, a := range dir.Manifest.Arms {
		res.Facts[a.Name] = factsOf(dir, a.Name)
	}
	for _, r := range runs {
		if len(r.Failed) > 0 && r.OK() {
			res.Notes = append(res.Notes, retryNote(r))
		}
		if !r.OK() {
			res.Notes = append(res.Notes, fmt.Sprintf("launch %d (%s, %s) failed: exit code %d %s", r.ID, r.Arm, r.Case, r.Exit, r.Error))
		}
	}
	return res, nil
}

// samplesOf parses the raw output of every run that counts. What a launch says
// of its environment is taken from the arm's first launch of each case.
func samplesOf(dir *store.Dir, runs []bench.Run) ([]bench.Sample, map[string]map[string]string, error) {
	env := map[string]map[string]string{}
	for _, a := range dir.Manifest.Arms {
		env[a.Name] = capturedEnv(dir, a.Name)
	}
	var samples []bench.Sample
	seen := map[string]bool{}
	for _, r := range runs {
		if !r.OK() {
			continue
		}
		out, err := readAgain(dir, r)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: launch %d was good when it was run: %w", dir.Path(), r.ID, err)
		}
		samples = append(samples, out.Samples...)
		if key := r.Arm + "\x00" + r.Case; !seen[key] {
			seen[key] = true
			maps.Copy(env[r.Arm], out.Env)
		}
	}
	return samples, env, nil
}

func readAgain(dir *store.Dir, r bench.Run) (Output, error) {
	c, _ := dir.Manifest.Case(r.Case)
	f, err := dir.Output(r.Stdout)
	if err != nil {
		return Output{}, err
	}
	defer f.Close()
	return readOutput(f, c, r.Launch, r.End.Sub(r.Start))
}

// LastLines gives the last lines that matter of a launch's output.
func LastLines(dir *store.Dir, rel string, n int) []string {
	f, err := dir.Output(rel)
	if err != nil {
		return nil
	}
	defer f.Close()
	return lastLines(f, n)
}

const tailBytes = 64 << 10

func lastLines(f io.ReadSeeker, n int) []string {
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-tailBytes), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, tailBytes))
	lines := slurm.ReadFailure(bytes.NewReader(text)).Lines
	if len(lines) == 0 {
		for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			if l != "" {
				lines = append(lines, l)
			}
		}
	}
	return lines[max(0, len(lines)-n):]
}
