//go:build lab

package labtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// left looks for what a launch may leave on a node: processes of the user or of
// the container's file system, sockets by which ranks find each other, mounts, directories.
const left = `ps -u alice -o pid=,args= | grep -vE ' (ps|grep|sh|bash) ' | grep -E 'nearmetal|squashfuse|apptainer|starter|Apptainer|sleep|/proc/self/fd'
grep nearmetal/ /proc/net/unix
grep -E 'squashfuse|fuse\.' /proc/self/mountinfo
find /tmp /dev/shm -maxdepth 1 -name '*nearmetal*'
true`

// nothingLeft gives Slurm a moment to clear away.
func (c cluster) nothingLeft(t *testing.T) {
	t.Helper()
	for _, node := range []string{"n1", "n2", "head"} {
		var out string
		for range 100 {
			if out = strings.TrimSpace(c.on(t, node, "sh", "-c", left).out); out == "" {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if out != "" {
			t.Errorf("left on %s:\n%s", node, out)
		}
	}
}

// TestNothingIsLeft ends launches at random moments, by every way there is.
func TestNothingIsLeft(t *testing.T) {
	c := open(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	ways := []string{
		"kill -INT $p; sleep 0.1; kill -INT $p", "kill -TERM $p", "kill -9 $p", "scancel -u alice",
		"pkill -9 -P $p srun", "srun -w n1 --overlap --jobid=$(squeue -h -u alice -o %i | head -1) pkill -9 -u alice squashfuse_ll",
		"scancel -s KILL -u alice", "scancel --signal=TERM -u alice; sleep 0.2; scancel -u alice",
	}
	for i := range 20 {
		way := ways[i%len(ways)]
		line := fmt.Sprintf(`"$@" & p=$!; sleep %.3f; %s; sleep 0.3; scancel -u alice; wait $p`, rng.Float64()*0.9, way)
		argv := []string{"bash", "-c", line, "x", nearmetal, "run", "-N2", "-n4", "--image", c.image, "--", "sleep", "30"}
		start := time.Now()
		d := c.alice(t, argv...)
		if took := time.Since(start); took > 25*time.Second {
			t.Errorf("%s: ended after %v: %s", way, took, d.err)
		}
		c.nothingLeft(t)
		if t.Failed() {
			t.Fatalf("round %d: %s", i, way)
		}
	}
}

// TestHeldContainersEnd: with their bench, however that ends.
func TestHeldContainersEnd(t *testing.T) {
	c := open(t)
	folder := c.folder(t)
	bin := c.shortProbe(t, folder)
	bench := fmt.Sprintf("%s bench mpi -N2 --image %s --blocks 3 --warmups 0 --native-bin %s --image-bin %s -o %s/run --no-compare", nearmetal, c.image, bin, bin, folder)
	c.must(t, "sh", "-c", bench)
	c.nothingLeft(t)
	killed := fmt.Sprintf("%s bench --resume %s/run2", nearmetal, folder)
	first := strings.Replace(bench, "/run ", "/run2 ", 1)
	c.alice(t, "salloc", "-Q", "-N2", "--ntasks-per-node=2", "bash", "-c", first+" & p=$!; sleep 1.5; kill -9 $p; sleep 0.5")
	c.nothingLeft(t)
	c.must(t, "sh", "-c", killed+" --no-compare")
	c.nothingLeft(t)
}
