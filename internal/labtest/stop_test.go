//go:build lab

package labtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoppedBenchKeepsOnlyWholeLaunches: Ctrl-C and scancel end the
// allocation under a bench. What was running then is no result of the arm.
func TestStoppedBenchKeepsOnlyWholeLaunches(t *testing.T) {
	c, outer := open(t), t
	stops := map[string]string{
		"interrupt": "kill -INT -- -$p", // as the terminal does: the whole group
		"scancel":   "scancel --me",
	}
	// With job control (set -m) the bench has a group of its own and minds SIGINT.
	const line = "set -m; %s & p=$!; until [ $(ls %s/raw 2>/dev/null | grep -c '^[0-9]') -ge 5 ]; do sleep 0.1; done; %s; wait $p"
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			folder := c.folder(outer)
			run := folder + "/run"
			bench := fmt.Sprintf("%s bench mpi -N1 --arms native,native-again --blocks 40 --warmups 0 --native-bin %s -o %s", nearmetal, c.shortProbe(t, folder), run)
			d := c.alice(t, "bash", "-c", fmt.Sprintf(line, bench, run, stop))
			if d.code == 0 || !strings.Contains(d.err, "complete launches are kept") {
				t.Errorf("exit code %d: %s", d.code, d.err)
			}
			if s := c.status(t, run); s.Done == 0 || s.Done == s.Total {
				t.Errorf("%d of %d launches: the stop did not come in between", s.Done, s.Total)
			}
			c.noneFailed(t, run)
			c.must(t, nearmetal, "bench", "--no-compare", "--resume", run)
			c.noneFailed(t, run)
		})
	}
}

func (c cluster) noneFailed(t *testing.T, run string) {
	t.Helper()
	files, err := filepath.Glob(c.host(run) + "/raw/[0-9]*/run.json")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		var r struct {
			Exit  int
			Error string
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &r); err != nil || r.Exit != 0 || r.Error != "" {
			t.Errorf("%s: exit %d, %s, %v", f, r.Exit, r.Error, err)
		}
	}
}
