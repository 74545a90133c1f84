package app

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// mostOutput is how much of a program's output is searched: the last of it,
// where results stand.
const mostOutput = 16 << 20

// Parse reads what a launch of an app's case gave; wall is its time from start
// to end. A metric that is not there, or an output that the check does not
// match, is an error (exit code 1).
func Parse(r io.Reader, c bench.Case, l bench.Launch, wall time.Duration) ([]bench.Sample, error) {
	if c.App == nil {
		return nil, fail.New(fail.Failed, "", "case %q does not say what its output means", c.Name)
	}
	text, err := tail(r)
	if err != nil {
		return nil, err
	}
	if err := check(text, c.App.Check); err != nil {
		return nil, err
	}
	var out []bench.Sample
	for _, m := range c.App.Metrics {
		v, err := value(text, m, wall)
		if err != nil {
			return nil, err
		}
		out = append(out, bench.Sample{
			Suite: Suite, Benchmark: c.App.Name, Placement: Shape(c.Nodes, c.Ranks), Metric: m.Name, Unit: m.Unit, Size: bench.NoSize,
			Arm: l.Arm, Block: l.Block, Launch: l.ID, Value: v,
		})
	}
	return out, nil
}

func tail(r io.Reader) ([]byte, error) {
	var keep []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		keep = append(keep, buf[:n]...)
		if len(keep) > 2*mostOutput {
			keep = append(keep[:0], keep[len(keep)-mostOutput:]...)
		}
		if err == io.EOF {
			return keep[max(0, len(keep)-mostOutput):], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func check(text []byte, pattern string) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return fail.Usagef("", "check: %w", err)
	}
	if pattern != "" && !re.Match(text) {
		return fail.New(fail.Failed, "do not trust these numbers: look at the launch's output", "the output does not match the check %q", pattern)
	}
	return nil
}

func value(text []byte, m bench.Metric, wall time.Duration) (float64, error) {
	v, found := wall.Seconds(), true
	where := "wall time"
	switch {
	case m.Regexp != "":
		where = "regexp " + strconv.Quote(m.Regexp)
		v, found = lastMatch(text, m.Regexp)
	case m.JSON != "":
		where = "json " + strconv.Quote(m.JSON)
		v, found = lastJSON(text, m.JSON)
	}
	if !found || math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
		return 0, fail.New(fail.Failed, "look at the launch's output", "metric %s: no positive number (%s)", m.Name, where)
	}
	return v, nil
}

func lastMatch(text []byte, pattern string) (float64, bool) {
	re, err := regexp.Compile(pattern)
	if err != nil || re.NumSubexp() < 1 {
		return 0, false
	}
	all := re.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(string(all[len(all)-1][1])), 64)
	return v, err == nil
}

// lastJSON takes the number from the last line that holds an object with the
// path; a prefix before the object (srun --label) is passed over.
func lastJSON(text []byte, path string) (float64, bool) {
	lines := bytes.Split(text, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		at := bytes.IndexByte(lines[i], '{')
		if at < 0 {
			continue
		}
		var doc any
		if err := json.NewDecoder(bytes.NewReader(lines[i][at:])).Decode(&doc); err != nil {
			continue
		}
		if v, ok := follow(doc, strings.Split(path, ".")); ok {
			return v, true
		}
	}
	return 0, false
}

func follow(doc any, path []string) (float64, bool) {
	for _, key := range path {
		switch d := doc.(type) {
		case map[string]any:
			doc = d[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(d) {
				return 0, false
			}
			doc = d[i]
		default:
			return 0, false
		}
	}
	v, ok := doc.(float64)
	return v, ok
}
