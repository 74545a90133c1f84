//go:build lab

package labtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// look writes down what a program sees of the world, as the kernel tells it;
// $0 is the folder.
const look = `p=/proc/$$; r=$SLURM_PROCID
cat $p/environ > "$0/env.$r"; cat $p/mountinfo > "$0/mounts.$r"
{ grep -E '^(Umask|Uid|Gid|Groups|SigBlk|SigIgn|Cap|NoNewPrivs|Seccomp|Cpus_allowed|Mems_allowed)' $p/status
  cat $p/limits $p/uid_map $p/gid_map $p/setgroups
  echo "cwd $(readlink $p/cwd)"; echo "root $(readlink $p/root)"; echo "oom $(cat $p/oom_score_adj)"
  for n in pid ipc net uts cgroup mnt user; do echo "ns $n $(readlink $p/ns/$n)"; done; } > "$0/facts.$r"
sleep 0.5` // --sharens fails when the first rank ends before another has come (apptainer issue 1906)

// seen is one rank's view.
type seen struct {
	env    map[string]string
	facts  []string
	mounts []string
}

// theirOwn differ from one container to the next by nature.
var theirOwn = regexp.MustCompile(`^ns (mnt|user) `)

// varies by nature: times and numbers of the job, how deep in shells the launch
// is, the job's default name (that of the line's first program), and what
// Apptainer sets for --sharens alone.
var varies = regexp.MustCompile(`^(SLURM_JOB_(START|END)_TIME|SLURM_STEP_?ID|SHLVL|SLURM_JOB_NAME|(APPTAINER|SINGULARITY)_(SHARENS_MASTER|INSTANCE))$`)

// mountLine of /proc/PID/mountinfo without identifiers (proc_pid_mountinfo(5)).
var mountLine = regexp.MustCompile(`^\d+ \d+ \d+:\d+ (.*?)(?: (?:shared|master|propagate_from):\d+)* - (.*)$`)

func (c cluster) seen(t *testing.T, dir string, rank int) seen {
	t.Helper()
	get := func(name string) string {
		b, err := os.ReadFile(filepath.Join(c.host(dir), fmt.Sprintf("%s.%d", name, rank)))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	s := seen{env: map[string]string{}}
	for _, v := range strings.Split(strings.TrimSuffix(get("env"), "\x00"), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		s.env[name] = value
	}
	for _, f := range strings.Split(strings.TrimSpace(get("facts")), "\n") {
		if !theirOwn.MatchString(f) {
			s.facts = append(s.facts, f)
		}
	}
	for _, m := range strings.Split(strings.TrimSpace(get("mounts")), "\n") {
		s.mounts = append(s.mounts, mountLine.ReplaceAllString(m, "$1 - $2"))
	}
	return s
}

// settings are what users and sites put into the environment of a job.
var settings = []string{
	"PLAIN=x", "EMPTY=", "LINES=a\nb\n", "QUOTES='\"`$HOME", "APPTAINERENV_FROM_USER=in the box", "SINGULARITYENV_OLD=1", "APPTAINERENV_PREPEND_PATH=/opt/x/bin",
	"LD_LIBRARY_PATH=/host/lib", "PS1=host> ", "OMP_NUM_THREADS=3", "TMPDIR=/tmp", "BASH_FUNC_module%%=() { :; }", "dotted.name=1", "HOSTILE=$(touch /tmp/owned)",
	"XDG_RUNTIME_DIR=/run/user/1000", "LANG=C.UTF-8",
}

// views runs look on two ranks and gives both views; wrap is a line around the
// launch, in which "$@" is the launch.
func (c cluster) views(t *testing.T, wrap string, flags ...string) []seen {
	t.Helper()
	dir := c.folder(t)
	launch := append([]string{nearmetal, "run", "-N1", "-n2", "--image", c.image, "--bind", "/shared", "--env", "ASKED=$(touch /tmp/owned)\n'\"\\"}, flags...)
	launch = append(launch, "--", "sh", "-c", look, dir)
	script := `umask 027; ulimit -c 0; ulimit -n 3000; cd /shared/runs; ` + wrap
	argv := append(append(append([]string{"env"}, settings...), "bash", "-c", script, "x"), launch...)
	if d := c.alice(t, argv...); d.code != 0 || strings.Contains(d.err, "nearmetal-enter:") {
		t.Fatalf("%q: exit code %d: %s%s", flags, d.code, d.out, d.err)
	}
	return []seen{c.seen(t, dir, 0), c.seen(t, dir, 1)}
}

// The launch by itself, inside an allocation, and there beside a container that
// is held in a step of its own, as bench holds it.
const (
	alone  = `"$@"`
	inside = `salloc -Q -N1 --ntasks-per-node=2 bash -c '"$@"' x "$@"`
	held   = `salloc -Q -N1 --ntasks-per-node=2 bash -c '
line=$("${@:1:2}" --dry-run "${@:3}" | sed "s|--mpi=pmix -N 1 -n 2|--mpi=none --overlap -N 1 -n 1|; s|nearmetal-enter |nearmetal-enter --hold |")
eval "$line" 2>/dev/null & h=$!
until srun -Q --overlap -N1 -n1 grep -q "nearmetal/[0-9]*/$SLURM_JOB_ID/" /proc/net/unix; do sleep 0.1; done
"$@"; c=$?; kill $h; wait $h; exit $c' x "$@"`
)

// TestWhatTheProgramSees: environment, ids, limits, capabilities, mounts … are
// the same in every start mode as in a container of its own, field by field.
func TestWhatTheProgramSees(t *testing.T) {
	c := open(t)
	for _, around := range []struct {
		wrap  string
		modes map[string]string // name → wrap
	}{
		{alone, map[string]string{"joined": alone, "auto": alone, "sharens": alone}},
		{inside, map[string]string{"auto": held}},
	} {
		plain := c.views(t, around.wrap, "--start", "exec")
		again := c.views(t, around.wrap, "--start", "exec")
		for mode, wrap := range around.modes {
			for rank, got := range c.views(t, wrap, "--start", mode) {
				sameView(t, fmt.Sprintf("%s (%.6s…), rank %d", mode, wrap, rank), plain[rank], again[rank], got)
			}
		}
	}
	c.nothingRan(t)
}

// sameView compares; what differs between two launches of the same mode may
// differ here too, but must be there.
func sameView(t *testing.T, what string, plain, again, got seen) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(plain.env)) {
		v, ok := got.env[name]
		switch {
		case varies.MatchString(name):
		case !ok:
			t.Errorf("%s: variable %s is missing", what, name)
		case v != plain.env[name] && plain.env[name] == again.env[name]:
			t.Errorf("%s: %s=%q, in a container of its own %q", what, name, v, plain.env[name])
		}
	}
	for name := range got.env {
		if _, ok := plain.env[name]; !ok && !varies.MatchString(name) {
			t.Errorf("%s: variable %s=%q is new", what, name, got.env[name])
		}
	}
	sameLines(t, what, plain.facts, again.facts, got.facts)
	sameLines(t, what+", mounts", plain.mounts, again.mounts, got.mounts)
}

func sameLines(t *testing.T, what string, plain, again, got []string) {
	t.Helper()
	if len(plain) != len(got) {
		t.Errorf("%s: %d lines, %d in a container of its own\n%s\n--\n%s", what, len(got), len(plain), strings.Join(got, "\n"), strings.Join(plain, "\n"))
		return
	}
	for i := range plain {
		if got[i] != plain[i] && i < len(again) && plain[i] == again[i] {
			t.Errorf("%s: %q, in a container of its own %q", what, got[i], plain[i])
		}
	}
}

// TestRanksCopyAsNatively: single copy between ranks needs one user namespace.
// In containers of their own it fails, which shows that the test can.
func TestRanksCopyAsNatively(t *testing.T) {
	c := open(t)
	c.build(t, "./vmread", "vmread")
	for mode, want := range map[string]bool{"native": true, "joined": true, "exec": false} {
		flags := []string{"-N1", "-n2"}
		if mode != "native" {
			flags = append(flags, "--image", c.image, "--bind", "/shared", "--start", mode)
		}
		d := c.run(t, flags, "/shared/bin/vmread", c.folder(t))
		spaces := map[string]bool{}
		for _, m := range regexp.MustCompile(`userns (\S+)`).FindAllStringSubmatch(d.out, -1) {
			spaces[m[1]] = true
		}
		if ok := strings.Contains(d.out, "read ok"); d.code != 0 || ok != want || (len(spaces) == 1) != want {
			t.Errorf("%s: exit code %d, user namespaces %v, %q %s", mode, d.code, spaces, d.out, d.err)
		}
	}
}

// TestFailuresLookTheSame: what cannot be started fails as it does in a
// container of its own.
func TestFailuresLookTheSame(t *testing.T) {
	c := open(t)
	dir := c.folder(t)
	script := dir + "/no-shebang"
	if err := os.WriteFile(c.host(script), []byte("echo \"$0 $1\"\nexit 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range [][]string{{"/no/such"}, {"no-such-program"}, {"/etc/passwd"}, {"/etc"}, {"/etc/passwd/x"}, {script, "a b"}, {"sh", "-c", "exit 3"}, {"sh", "-c", "kill -SEGV $$"}} {
		var got []done
		for _, mode := range []string{"exec", "joined"} {
			got = append(got, c.run(t, []string{"--image", c.image, "--bind", "/shared", "--start", mode}, program...))
		}
		first := func(s string) string { return strings.TrimSuffix(strings.SplitN(s, "\n", 2)[0], " (core dumped)") }
		if got[0].code != got[1].code || got[0].out != got[1].out || first(got[0].err) != first(got[1].err) {
			t.Errorf("%q: in a container of its own %d %q %q, joined %d %q %q", program, got[0].code, got[0].out, first(got[0].err), got[1].code, got[1].out, first(got[1].err))
		}
	}
}

// TestProgramsThatEndAtOnce: 40 launches, or as many as NEARMETAL_LAB_LAUNCHES
// says, none fails, and no rank is left without its node's container.
func TestProgramsThatEndAtOnce(t *testing.T) {
	c := open(t)
	n := 40
	if s := os.Getenv("NEARMETAL_LAB_LAUNCHES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	line := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do out=$("$@" 2>&1) || { echo "launch $i: exit code $?: $out"; exit 1; }
[ -z "$out" ] || { echo "launch $i: $out"; exit 1; }; i=$((i+1)); done; echo "$i launches"`, n)
	out := c.must(t, "bash", "-c", line, "x", nearmetal, "run", "-N2", "-n4", "--image", c.image, "--start", "joined", "--srun", "-Q", "--", "true")
	if out != fmt.Sprintf("%d launches\n", n) {
		t.Errorf("%s", out)
	}
	c.nothingLeft(t)
}

// TestLaunchesOfAnAllocationShareAContainer: the first leaves it behind, and it
// ends with the allocation, be that salloc's or a batch script's.
func TestLaunchesOfAnAllocationShareAContainer(t *testing.T) {
	c := open(t)
	launch := nearmetal + " run -N2 -n4 --image " + c.image + " -- readlink /proc/self/ns/user"
	line := "i=0; while [ $i -lt 4 ]; do echo launch; " + launch + "; sleep 0.4; i=$((i+1)); done"
	out := c.folder(t) + "/out"
	batch := "sbatch -Q --wait -N2 --ntasks-per-node=2 -o " + out + " --wrap '" + line + "'; cat " + out
	for what, argv := range map[string][]string{"salloc": {"salloc", "-Q", "-N2", "--ntasks-per-node=2", "sh", "-c", line}, "sbatch": {"sh", "-c", batch}} {
		text := c.must(t, argv...)
		launches := strings.Split(text, "launch\n")[1:]
		spaces := map[string]bool{}
		for _, l := range launches[min(1, len(launches)):] {
			for _, ns := range strings.Fields(l) {
				spaces[ns] = true
			}
		}
		if len(launches) != 4 || len(spaces) == 0 || len(spaces) > 2 { // one on each node
			t.Errorf("%s: launches 2 to 4 ran in %d user namespaces:\n%s", what, len(spaces), text)
		}
		c.nothingLeft(t)
	}
}

// TestPreflightSaysTheCause: before MPI_Init aborts, with a hint that helps.
func TestPreflightSaysTheCause(t *testing.T) {
	c := open(t)
	flags := []string{"-N1", "-n2", "--image", c.image}
	program := []string{"nearmetal-probe", "-b", "init", "--expect-ranks", "2"}
	d := c.run(t, append(flags, "--option", "--no-mount=tmp", "--env", "PMIX_MCA_gds=shmem2"), program...)
	if d.code == 0 || strings.Count(d.err, "the PMIx store of this step, is not in the container") != 1 || !strings.Contains(d.err, "hint: ") {
		t.Errorf("hidden /tmp: exit code %d: %s", d.code, d.err)
	}
	if d := c.run(t, flags, program...); d.code != 0 || strings.Contains(d.err, "warning: ") {
		t.Errorf("nothing wrong: exit code %d: %s", d.code, d.err)
	}
}

// TestImagesThatLookAtTheRank: where an image's environment scripts may make
// something of each rank's own environment, each rank gets its own container.
// (Apptainer 1.4.5 hides the host's variables from them; others may not.)
func TestImagesThatLookAtTheRank(t *testing.T) {
	c := open(t)
	for script, shared := range map[string]bool{
		"export WHO=$(cut -d' ' -f1 /proc/loadavg | wc -l)": false, // runs a command
		"export WHO=rank$SLURM_PROCID":                      false, // reads what differs
		"export WHO=rank${SLURM_NTASKS}":                    true,  // the same for all
	} {
		dir := c.folder(t)
		if err := os.WriteFile(c.host(dir)+"/x.sh", []byte(script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		who := map[string]map[string]string{} // mode, rank
		spaces := map[string]bool{}
		for _, mode := range []string{"exec", "auto"} {
			flags := []string{"-N1", "-n2", "--label", "--image", c.image, "--bind", dir + "/x.sh:/.singularity.d/env/91-x.sh", "--start", mode}
			d := c.run(t, flags, "sh", "-c", `echo "$WHO $(readlink /proc/self/ns/user)"; sleep 1`) // a number of a namespace that ended is given again
			who[mode] = map[string]string{}
			for _, m := range regexp.MustCompile(`(?m)^(\d): (\S*) (\S+)$`).FindAllStringSubmatch(d.out, -1) {
				who[mode][m[1]] = m[2]
				if mode == "auto" {
					spaces[m[3]] = true
				}
			}
			if d.code != 0 || len(who[mode]) != 2 {
				t.Errorf("%s, %s: exit code %d: %s%s", script, mode, d.code, d.out, d.err)
			}
		}
		if !maps.Equal(who["exec"], who["auto"]) || (len(spaces) == 1) != shared {
			t.Errorf("%s: %v in containers of their own, %v by default, in user namespaces %v", script, who["exec"], who["auto"], spaces)
		}
	}
}
