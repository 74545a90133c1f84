//go:build lab

package labtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root runs a command on a node as root.
func (c cluster) root(t *testing.T, node string, argv ...string) {
	t.Helper()
	args := append([]string{"exec", "--dir", c.dir, node, "--"}, argv...)
	if out, err := exec.CommandContext(t.Context(), filepath.Join(c.bin, "nearmetal-lab"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}

// fault is something put into the container's arm alone.
type fault struct {
	name  string
	nodes int
	env   string // of the bench
	flags string
	probe string // of the container; the short one when ""
	code  string // first reason in the fault's placement
	says  string
}

var faults = []fault{
	{"exec", 1, "", "", "", "single-copy", "user namespace"},
	{"tcp", 1, "APPTAINERENV_OMPI_MCA_btl=self,tcp", "", "", "tcp-same-node", "OMPI_MCA_btl=self,tcp is set"},
	{"one-core", 1, "APPTAINERENV_OMPI_MCA_mpi_yield_when_idle=1", "", "exec taskset -c 0 /shared/bin/nearmetal-probe \"$@\" -m 64 --budget-ms 1 -i 3 -x 1", "binding", "1 CPU for 2 ranks"},
	{"small-shm", 1, "", "--bind /run/small:/dev/shm", "", "small-shm", "1 MiB"},
	{"debug", 1, "", "", "exec /shared/bin/probe-O0 \"$@\" -m 16 --budget-ms 1 -i 3 -x 1", "debug-build", "-O0"},
	{"wrong-nic", 2, "APPTAINERENV_OMPI_MCA_btl_tcp_if_include=other0", "", "", "network-interface", "other0"},
}

// TestReasonsAreNamed plants a fault of each kind and reads what compare says.
func TestReasonsAreNamed(t *testing.T) {
	c := open(t)
	folder := c.folder(t)
	bin := c.shortProbe(t, folder)
	c.root(t, "head", "sh", "-c", "cd /shared/src/probe && mpicc -O0 -o /shared/bin/probe-O0 ./*.c -ldl")
	for i, n := range []string{"n1", "n2"} {
		c.root(t, n, "sh", "-c", fmt.Sprintf("mkdir -p /run/small; mountpoint -q /run/small || mount -t tmpfs -o size=1m,mode=1777 tmpfs /run/small; "+
			"ip link show other0 >/dev/null 2>&1 || { ip link add link eth0 name other0 type macvlan mode bridge && ip addr add 10.79.0.%d/24 dev other0 && ip link set other0 up; }", i+1))
		defer c.root(t, n, "sh", "-c", "umount /run/small; ip link del other0")
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { c.plant(t, f, folder, bin) })
	}
}

func (c cluster) plant(t *testing.T, f fault, folder, bin string) {
	inside := bin
	if f.probe != "" {
		inside = folder + "/" + f.name
		if err := os.MkdirAll(c.host(inside), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.host(inside)+"/nearmetal-probe", []byte("#!/bin/sh\n"+f.probe+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := folder + "/run-" + f.name
	c.must(t, "sh", "-c", fmt.Sprintf("%s %s bench mpi --image %s --start exec -N%d --arms native,container --blocks 1 --warmups 0 --native-bin %s --image-bin %s --no-compare %s -o %s",
		env(f.env), nearmetal, c.image, f.nodes, bin, inside, f.flags, run))
	d := c.alice(t, nearmetal, "compare", run, "--json")
	var doc struct {
		Reasons []struct{ Code, Placement, Text, Fix string }
	}
	if err := json.Unmarshal([]byte(d.out), &doc); err != nil {
		t.Fatalf("%v in %s%s", err, d.out, d.err)
	}
	for _, r := range doc.Reasons {
		if !strings.HasPrefix(r.Placement, fmt.Sprint(f.nodes)) {
			continue
		}
		if r.Code != f.code || !strings.Contains(r.Text, f.says) || r.Fix == "" {
			t.Errorf("first reason: %+v", r)
		}
		return
	}
	t.Errorf("no reason with %d nodes: %+v", f.nodes, doc.Reasons)
}

// env puts variables before a command.
func env(vars string) string {
	if vars == "" {
		return ""
	}
	return "env " + vars
}
