package campaign

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/bench/scan"
	"github.com/nearmetal/nearmetal/internal/runner"
)

// TestScan: rank 0 is put where the link begins, a failed pair says why.
func TestScan(t *testing.T) {
	f := runner.NewFake(t,
		runner.Stub{Match: "--nodelist=a,b .*--distribution=arbitrary .*probe --bench latency,bw", Stdout: lines(t)},
		runner.Stub{Match: "--nodelist=b,a ", Stderr: "slurmstepd: error: no route to host\n", Exit: 1})
	p := ScanPlan{Nodes: []string{"a", "b"}, Rounds: [][]scan.Link{{{From: 0, To: 1}}, {{From: 1, To: 0}}}, Program: "probe", AtOnce: 4, Timeout: time.Minute}
	done := 0
	got, err := Scan(t.Context(), world(f), p, func(n, total int) { done = n })
	if err != nil || len(got) != 2 || done != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !(got[0].Latency > 0) || !(got[0].Bandwidth > 0) || got[0].Why != "" {
		t.Errorf("%+v", got[0])
	}
	if !math.IsNaN(got[1].Latency) || !strings.Contains(got[1].Why, "exit code 1") || !strings.Contains(got[1].Why, "no route") {
		t.Errorf("%+v", got[1])
	}
}
