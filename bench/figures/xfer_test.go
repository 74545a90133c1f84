package main

import (
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/runner"
)

func TestRailsInGroups(t *testing.T) {
	if got := rails(addrA, 4, 2); got != "10.78.0.1,10.78.1.1;10.78.2.1,10.78.3.1" {
		t.Error(got)
	}
	if got := strings.Count(rails(addrB, 32, 8), ";"); got != 7 {
		t.Error(got)
	}
}

func TestParseRmaBW(t *testing.T) {
	out := "bytes   #sent   total       time     MB/sec    usec/xfer   Mxfers/sec\n64k     80k     4.8g       24.99s    209.78     312.40       0.00\n"
	if got, err := parseRmaBW(out); err != nil || got != 0.20978 {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "fi_getinfo: -61\n", "bytes #sent total time\n"} {
		if got, err := parseRmaBW(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestParseCopy(t *testing.T) {
	if name, got, err := parseCopy("process_vm_writev 7.25\ntwo_step 6.5\n"); err != nil || got != 7.25 || name != "process_vm_writev" {
		t.Error(name, got, err)
	}
	for _, bad := range []string{"", "two_step\n", "two_step fast\n", "two_step 0\n"} {
		if _, got, err := parseCopy(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// A failed link ends the group, takes the namespaces away, and is told.
func TestTheModelIsTakenDownWhenItFails(t *testing.T) {
	f := runner.NewFake(t,
		runner.Stub{Match: "^ip netns del nmxfer-", Times: 4},
		runner.Stub{Match: "^ip netns add", Times: 2},
		runner.Stub{Match: "link set lo up$", Times: 2},
		runner.Stub{Match: "^ip link add v0 ", Exit: 2, Stderr: "no veth"})
	if _, err := measureXfer(t.Context(), setup{runner: f, n: 3}); err == nil || !strings.Contains(err.Error(), "no veth") {
		t.Error(err)
	}
}

func TestBlocksAreKeptWhole(t *testing.T) {
	var all []pair
	p := pair{ours: 1}
	if all = keep(all, &p); len(all) != 0 {
		t.Error("half a block was kept")
	}
	p.peer = 2
	if all = keep(all, &p); len(all) != 1 || p != (pair{}) {
		t.Error(all, p)
	}
}
