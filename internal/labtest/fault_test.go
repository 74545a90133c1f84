//go:build lab

package labtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/internal/check"
)

const probe = "/shared/bin/nearmetal-probe"

// planted is a fault of nearmetal-lab and how it is to be found.
type planted struct {
	fault string
	nodes []string // "" all
	// live is the cause that doctor -N2 must put first, with evidence that holds
	// seen.
	live, seen string
	// early is what it may say first while slurmctld does not know yet.
	early  string
	image  string   // for doctor --image
	during []string // job that runs while doctor looks
	// job is run with the fault in place; from its output alone doctor must put
	// log first. Without a job the fault leaves nothing in a log that a reader
	// could know it by.
	job []string
	log string
	// again plants anew before the job: the first look has made Slurm avoid the node.
	again bool
	// before runs the job before the look.
	before bool
}

// faults and what becomes of a job under them was seen on Slurm 24.11, PMIx
// 5.0.7, Open MPI 5.0.7 and Apptainer 1.4.5.
func (c cluster) faults() []planted {
	on2 := []string{"n2"}
	mpi := []string{"srun", "-N2", "-n2", "--mpi=pmix", probe, "-b", "init"}
	local := func(more ...string) []string { return append([]string{"srun", "-N1", "-w", "n2", "-n2"}, more...) }
	ucx := []string{"env", "OMPI_MCA_pml=ucx", "OMPI_MCA_pml_ucx_tls=any", "OMPI_MCA_pml_ucx_devices=any", "UCX_TLS=posix,self"}
	return []planted{
		{fault: "memlock", nodes: on2, live: "memlock-limit", seen: "n2:/proc/self/limits", job: local("sh", "-c", "ulimit -a"), log: "memlock-limit"},
		{fault: "no-pmix", nodes: on2, live: "slurm-no-pmix-plugin", seen: "n2:srun --mpi=list", job: mpi, log: "slurm-no-pmix-plugin"},
		{fault: "wrong-gds", nodes: on2, live: "pmix-gds-forced", seen: "PMIX_MCA_gds=ds21", job: local("--mpi=pmix", probe, "-b", "init"), log: "pmix-gds-forced"},
		{fault: "shm-small", nodes: on2, live: "dev-shm-too-small", seen: "1 MiB", job: slices.Concat(ucx, local("--mpi=pmix", probe, "-b", "init")), log: "dev-shm-too-small"},
		{fault: "tmp-full", nodes: on2, live: "tmp-full", seen: "n2:/tmp", job: local("sh", "-c", "cp /usr/bin/gcc /tmp/x.$SLURM_PROCID"), log: "tmp-full"},
		{fault: "tmp-noexec", nodes: on2, live: "tmp-noexec", seen: "n2:/tmp", job: local("sh", "-c", "t=$(mktemp) && cp /bin/true $t && chmod +x $t && $t; rc=$?; rm -f $t; exit $rc"), log: "tmp-noexec"},
		{fault: "tmp-read-only", nodes: on2, live: "tmp-read-only", seen: "n2:/tmp", job: local("--mpi=pmix", probe, "-b", "init"), log: "tmp-read-only"},
		{fault: "sharens-race", nodes: on2, live: "sharens-race", seen: "APPTAINER_SHARENS=1",
			job: []string{"srun", "-N1", "-w", "n2", "-n8", "--overcommit", "apptainer", "exec", c.image, "true"}, log: "sharens-race"},
		{fault: "wrong-arch", live: "image-wrong-architecture", seen: "aarch64", image: "/shared/faults/wrong-arch",
			job: []string{"srun", "-n1", "apptainer", "exec", "/shared/faults/wrong-arch", "true"}, log: "image-wrong-architecture"},
		{fault: "dead-interface", live: "ompi-tcp-wrong-interface", seen: "172.17.0.1",
			job: []string{"env", "OMPI_MCA_btl_base_verbose=40", "timeout", "6", "srun", "-N2", "-n2", "--mpi=pmix", probe, "-b", "latency", "-m", "8:8"}, log: "ompi-tcp-wrong-interface"},
		{fault: "slow-node", nodes: on2, live: "node-slow", seen: "n2:"},
		{fault: "clock-skew", nodes: on2, live: "munge-clock-skew", seen: "n2:munge"},
		{fault: "one-core", nodes: on2, live: "ranks-on-one-core", seen: "on core 0", during: local("sleep", "4"),
			job: local("--cpu-bind=verbose,map_cpu:0", "true"), log: "ranks-on-one-core"},
		{fault: "nested-mpirun", live: "nested-mpirun-under-srun", seen: "prterun", during: []string{"/shared/faults/nested-mpirun.sh", "sleep", "4"},
			job: []string{"/shared/faults/nested-mpirun.sh", probe, "-b", "init"}, log: "nested-mpirun-under-srun"},
		{fault: "permissions", nodes: on2, live: "fuse-mount-denied", seen: "n2:/dev/fuse", job: local("apptainer", "exec", c.image, "true"), log: "fuse-mount-denied"},
		{fault: "munge-key", nodes: on2, live: "munge-key-mismatch", seen: "Zero Bytes", job: mpi, log: "munge-key-mismatch", again: true},
		{fault: "killed-node", nodes: on2, live: "slurm-node-down", early: "nodes-silent", seen: "n2", job: mpi, log: "slurm-node-down", before: true},
	}
}

// lab runs nearmetal-lab as root.
func (c cluster) lab(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{args[0], "--dir", c.dir}, args[1:]...)
	if out, err := exec.Command(filepath.Join(c.bin, "nearmetal-lab"), args...).CombinedOutput(); err != nil {
		t.Errorf("nearmetal-lab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// plantFault puts the fault in until the test ends.
func (c cluster) plantFault(t *testing.T, p planted) {
	t.Helper()
	t.Cleanup(func() {
		c.lab(t, append([]string{"fault", p.fault, "off"}, p.nodes...)...)
		c.settle(t)
	})
	c.lab(t, append([]string{"fault", p.fault, "on"}, p.nodes...)...)
	c.rejoin()
}

// rejoin gives a slurmd that was started again for a fault the time to tell
// slurmctld; some faults keep it from that, so the wait is bounded.
func (c cluster) rejoin() {
	for range 20 {
		out, _ := exec.Command(filepath.Join(c.bin, "nearmetal-lab"), "exec", "--dir", c.dir, "head", "--", "sinfo", "-N", "-h", "-o", "%T").CombinedOutput()
		if strings.Count(string(out), "idle") == 2 {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// settle waits until every node takes jobs again.
func (c cluster) settle(t *testing.T) {
	t.Helper()
	// Not through c.alice: a test's context has ended when it cleans up.
	root := func(argv ...string) string {
		out, _ := exec.Command(filepath.Join(c.bin, "nearmetal-lab"), append([]string{"exec", "--dir", c.dir, "head", "--"}, argv...)...).CombinedOutput()
		return string(out)
	}
	var out string
	for i := range 75 {
		out = root("sinfo", "-N", "-h", "-o", "%T")
		states := strings.Fields(out)
		if len(states) > 0 && !slices.ContainsFunc(states, func(s string) bool { return s != "idle" }) {
			return
		}
		if i == 10 {
			// What slurmctld waits for on a node that was cut off never comes.
			root("scontrol", "update", "nodename=n1,n2", "state=down", "reason=settle")
			root("scontrol", "update", "nodename=n1,n2", "state=resume")
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Errorf("the nodes do not come back: %s", out)
}

// findings parses what doctor --json said; its exit code must agree.
func findings(t *testing.T, d done) []check.Finding {
	t.Helper()
	var doc check.Document
	if err := json.Unmarshal([]byte(d.out), &doc); err != nil || doc.Schema != check.Schema {
		t.Fatalf("exit code %d: %v\n%.2000s%.2000s", d.code, err, d.out, d.err)
	}
	if want := map[bool]int{true: 3, false: 0}[check.Alarm(doc.Findings)]; d.code != want {
		t.Errorf("exit code %d, want %d", d.code, want)
	}
	return doc.Findings
}

func first(t *testing.T, what string, fs []check.Finding, key, seen string) {
	t.Helper()
	if len(fs) == 0 || fs[0].Key != key {
		var keys []string
		for _, f := range fs {
			keys = append(keys, f.Key)
		}
		t.Errorf("%s: found %q, want %s first", what, keys, key)
		return
	}
	for _, e := range fs[0].Evidence {
		if strings.Contains(e.File+" "+e.Text, seen) {
			return
		}
	}
	t.Errorf("%s: %s without evidence of %q: %v", what, key, seen, fs[0].Evidence)
}

func TestDoctorFindsNothingOnAHealthyCluster(t *testing.T) {
	c := open(t)
	fs := findings(t, c.alice(t, nearmetal, "doctor", "-N2", "--image", c.image, "--json"))
	if check.Alarm(fs) {
		t.Errorf("false alarm: %+v", fs)
	}
}

func TestDoctorFindsPlantedFaultsLive(t *testing.T) {
	c := open(t)
	for _, p := range c.faults() {
		t.Run(p.fault, func(t *testing.T) {
			c.plantFault(t, p)
			if p.during != nil {
				defer c.start(t, p.during...)()
			}
			if p.before {
				c.fromLog(t, p)
			}
			argv := []string{nearmetal, "doctor", "-N2", "--wait", "12s", "--json"}
			if p.image != "" {
				argv = append(argv, "--image", p.image)
			}
			if p.fault == "slow-node" {
				quiet(t)
			}
			found := findings(t, c.alice(t, argv...))
			if p.early != "" && len(found) > 0 && found[0].Key == p.early {
				p.live, p.seen = p.early, "" // Slurm has not named the node yet
			}
			first(t, "live", found, p.live, p.seen)
			if p.again {
				c.lab(t, append([]string{"fault", p.fault, "off"}, p.nodes...)...)
				c.settle(t)
				c.lab(t, append([]string{"fault", p.fault, "on"}, p.nodes...)...)
			}
			if p.job != nil && !p.before {
				c.fromLog(t, p)
			}
		})
	}
}

// quiet skips the test on a machine on which every node is slow.
func quiet(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	load, err := strconv.ParseFloat(strings.Fields(string(b))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	if most := float64(8 * runtime.NumCPU()); load > most {
		t.Skipf("a slow node is told from others on a machine with a load below %.0f; it is %.0f", most, load)
	}
}

// fromLog runs the job under the fault and has doctor read its output.
func (c cluster) fromLog(t *testing.T, p planted) {
	t.Helper()
	d := c.alice(t, append([]string{"timeout", "-k", "2", "15"}, p.job...)...)
	path := strings.TrimSpace(c.must(t, "mktemp", "/shared/runs/fault-XXXXXX"))
	t.Cleanup(func() { os.Remove(c.host(path)) })
	if err := os.WriteFile(c.host(path), []byte(d.out+d.err), 0o644); err != nil {
		t.Fatal(err)
	}
	first(t, "log", findings(t, c.alice(t, nearmetal, "doctor", "--log", path, "--json")), p.log, "")
	if t.Failed() {
		t.Logf("the job's log:\n%.3000s%.3000s", d.out, d.err)
	}
}

// start runs a job in the background; the result waits for its end.
func (c cluster) start(t *testing.T, argv ...string) (wait func()) {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, "nearmetal-lab"), append([]string{"exec", "--dir", c.dir, "--user", "alice", "head", "--"}, argv...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // until its ranks run
	return func() {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", argv[0], err, out.String())
		}
	}
}

// TestBundleSaysTheSame looks at a faulty cluster, saves it, and diagnoses the
// bundle as another user elsewhere would.
func TestBundleSaysTheSame(t *testing.T) {
	c := open(t)
	c.plantFault(t, planted{fault: "memlock", nodes: []string{"n2"}})
	path := c.folder(t) + "/bundle.tar.gz"
	live := findings(t, c.alice(t, nearmetal, "doctor", "-N2", "--save", path, "--json"))
	first(t, "live", live, "memlock-limit", "n2")
	cmd := exec.Command(filepath.Join(c.bin, "nearmetal"), "doctor", "--bundle", c.host(path), "--json")
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run() // 3: findings
	fs := findings(t, done{out: out.String(), code: cmd.ProcessState.ExitCode()})
	first(t, "bundle", fs, "memlock-limit", "64 KiB")
	for _, name := range []string{"n1", "n2", "alice", "10.77.0.12"} {
		if strings.Contains(out.String(), `"`+name) || strings.Contains(out.String(), name+":") {
			t.Errorf("the bundle still names %s:\n%s", name, out.String())
		}
	}
}
