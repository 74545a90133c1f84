//go:build lab

package labtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// short is a probe that measures little, so that kills and resumes take
// seconds: the same program with fewer and smaller messages.
const short = "#!/bin/sh\nexec /shared/bin/nearmetal-probe \"$@\" -m 16 --budget-ms 1 -i 10 -x 1\n"

type status struct {
	State string `json:"state"`
	Job   string `json:"job"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

func (c cluster) status(t *testing.T, name string) status {
	t.Helper()
	var s status
	out := c.must(t, nearmetal, "status", name, "--json")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return s
}

// shortProbe puts the short probe into a folder of its own.
func (c cluster) shortProbe(t *testing.T, folder string) string {
	t.Helper()
	bin := folder + "/bin"
	if err := os.MkdirAll(c.host(bin), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.host(bin)+"/nearmetal-probe", []byte(short), 0o755); err != nil {
		t.Fatal(err)
	}
	return bin
}

// TestKilledBenchIsFinished kills a bench 20 times at random moments: by turns
// the one that makes the launches, and the one that waits for the allocation.
func TestKilledBenchIsFinished(t *testing.T) {
	c := open(t)
	folder := c.folder(t)
	run := folder + "/run"
	bin := c.shortProbe(t, folder)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	first := fmt.Sprintf("%s bench mpi -N1 --arms native,native-again --blocks 60 --warmups 0 --native-bin %s -o %s", nearmetal, bin, run)
	resume := fmt.Sprintf("%s bench --no-compare --resume %s", nearmetal, run)
	seen := map[string]time.Time{}
	for i := range 20 {
		line := resume
		if i == 0 {
			line = first
		}
		killed := fmt.Sprintf("%s & p=$!; sleep %.3f; kill -9 $p; wait $p; exit 0", line, 0.1+rng.Float64()*0.9)
		argv := []string{"sh", "-c", killed}
		if i%2 == 0 {
			argv = append([]string{"salloc", "-Q", "-N1", "--ntasks-per-node=2"}, argv...)
		}
		c.alice(t, argv...)
		c.onlyWhole(t, run, seen)
	}
	before := c.status(t, run)
	if before.Done == 0 || before.Done == before.Total {
		t.Errorf("after 20 kills %d of %d launches: the kills did not come in between", before.Done, before.Total)
	}
	c.must(t, "sh", "-c", resume)
	c.onlyWhole(t, run, seen)
	if s := c.status(t, run); s.State != "finished" || s.Done != 120 {
		t.Errorf("after --resume: %+v", s)
	}
	if d := c.alice(t, nearmetal, "compare", run, "--json"); d.code != 0 && d.code != 3 {
		t.Errorf("compare: exit code %d: %s", d.code, d.err)
	}
}

// onlyWhole reads the run directory as others would, and sees that no complete
// launch was made again.
func (c cluster) onlyWhole(t *testing.T, run string, seen map[string]time.Time) {
	t.Helper()
	c.status(t, run)
	files, err := filepath.Glob(c.host(run) + "/raw/[0-9]*/run.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if was, ok := seen[f]; ok && !was.Equal(info.ModTime()) {
			t.Errorf("%s was made twice", f)
		}
		seen[f] = info.ModTime()
	}
}

func TestSubmitOutlivesItsShell(t *testing.T) {
	c := open(t)
	folder := c.folder(t)
	run := folder + "/a run"
	bin := c.shortProbe(t, folder)
	line := fmt.Sprintf("%s bench mpi -N2 --image %s --blocks 2 --native-bin %s --image-bin %s -o '%s' --submit; kill -9 $$", nearmetal, c.image, bin, bin, run)
	d := c.alice(t, "sh", "-c", line)
	job := strings.TrimSpace(d.out)
	if job == "" || strings.Trim(job, "0123456789") != "" {
		t.Fatalf("no job id: %q %q", d.out, d.err)
	}
	text := c.must(t, nearmetal, "fetch", job, "--wait", "--json")
	var doc struct{ Schema string }
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Schema != "nearmetal/comparison/v1" {
		t.Errorf("fetch: %v, schema %q", err, doc.Schema)
	}
	if s := c.status(t, job); s.State != "finished" || s.Done != s.Total || s.Total != 18 {
		t.Errorf("status %+v", s)
	}
}

func TestTwoBenchesInOneDirectory(t *testing.T) {
	c := open(t)
	folder := c.folder(t)
	bin := c.shortProbe(t, folder)
	line := fmt.Sprintf(`%s bench mpi -N1 --arms native,native-again --blocks 5 --native-bin %s -o %s/run --no-compare & p=$!
until [ -e %s/run/lock ]; do sleep 0.05; done
%s bench --resume %s/run; code=$?; wait $p; exit $code`, nearmetal, bin, folder, folder, nearmetal, folder)
	d := c.alice(t, "sh", "-c", line)
	if d.code != 1 || !strings.Contains(d.err, "another bench runs in it") {
		t.Errorf("exit code %d: %s", d.code, d.err)
	}
	if s := c.status(t, folder+"/run"); s.State != "finished" {
		t.Errorf("the first one did not finish: %+v", s)
	}
}
