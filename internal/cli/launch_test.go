package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sebdah/goldie/v2"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/slurm"
)

// shell is a command line with stubs behind it.
type shell struct {
	out, err bytes.Buffer
	env      map[string]string
	r        runner.Runner
}

func newShell(t *testing.T, stubs ...runner.Stub) *shell {
	t.Helper()
	home := t.TempDir()
	return &shell{env: map[string]string{"HOME": home, "PATH": "/usr/bin"}, r: runner.NewFake(t, stubs...)}
}

func (s *shell) run(args ...string) int {
	s.out.Reset()
	s.err.Reset()
	return Main(context.Background(), args, Deps{
		In: strings.NewReader(""), Out: &s.out, Err: &s.err, Width: 80, Runner: s.r,
		Getenv: func(k string) string { return s.env[k] },
		Now:    func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) },
	})
}

// plans are launches as people type them; the goldens hold what they become.
var plans = map[string][]string{
	"native":        {"-N", "2", "-n", "2", "--", "./app", "in put"},
	"container":     {"--image", "/images/app.sif", "-N", "2", "-n", "8", "--ntasks-per-node", "4", "-c", "2", "--", "./app"},
	"site-flags":    {"--image", "/images/app.sif", "-n", "4", "-p", "gpu", "-A", "proj", "-t", "90", "--gpus-per-node", "4", "--nv", "--cpu-bind", "cores", "--label", "--", "./app"},
	"environment":   {"--image", "/images/app.sif", "-n", "2", "--env", "OMP_NUM_THREADS=2", "--env", "LD_LIBRARY_PATH=/opt/lib", "--env", "MSG=it's $HOME\nand \"more\"", "--", "./app"},
	"binds":         {"--image", "/images/app.sif", "-n", "2", "--bind", "/scratch", "--bind", "/data:/mnt:ro", "--bind", `/odd\:name,x:/odd`, "--chdir", "/work dir", "--", "./app"},
	"modules":       {"-n", "2", "--module", "gcc/14", "--module", "openmpi", "--", "./app"},
	"joined":        {"--image", "/images/app.sif", "-N", "2", "-n", "8", "--nv", "--bind", "/scratch", "--", "./app", ":"},
	"start-joined":  {"--image", "/images/app.sif", "-n", "2", "--start", "joined", "--", "./app"},
	"contained":     {"--image", "/images/app.sif", "-n", "2", "--option", "--contain", "--", "./app"},
	"sharens":       {"--image", "/images/app.sif", "-n", "2", "--start", "sharens", "--", "./app"},
	"colon":         {"-n", "2", "--", "./app", "a", ":", "$(b)"},
	"image-options": {"--image", "/images/app.sif", "-n", "2", "--option", "--sharens", "--mpi", "pmix_v5", "--srun", "--mem=0", "--", "-odd-name", "x"},
}

func TestPlanGoldens(t *testing.T) {
	g := goldie.New(t, goldie.WithFixtureDir("testdata/run"))
	for name, args := range plans {
		s := newShell(t)
		if slices.Contains([]string{"joined", "start-joined", "contained", "sharens"}, name) {
			s.env["NEARMETAL_ENTER"] = "/opt/nearmetal/nearmetal-enter"
		}
		var all bytes.Buffer
		for _, mode := range [][]string{{"--dry-run", "--explain"}, {"--sbatch"}} {
			if code := s.run(append(append([]string{"run"}, mode...), args...)...); code != 0 {
				t.Fatalf("%s: exit code %d: %s", name, code, s.err.String())
			}
			all.WriteString("# " + strings.Join(mode, " ") + "\n" + s.out.String() + s.err.String())
		}
		g.Assert(t, name, all.Bytes())
	}
}

func TestDryRunJSON(t *testing.T) {
	s := newShell(t)
	if code := s.run("run", "--dry-run", "--json", "-n2", "--", "./app", "<&>"); code != 0 {
		t.Fatal(s.err.String())
	}
	var doc planDocument
	if err := json.Unmarshal(s.out.Bytes(), &doc); err != nil || doc.Schema != "nearmetal/plan/v1" || doc.Argv[len(doc.Argv)-1] != "<&>" {
		t.Errorf("%v in %s", err, s.out.String())
	}
}

func TestRunPassesExitCodesAndShowsWhatMatters(t *testing.T) {
	noise := strings.Repeat("0: step 1 of the solver\n", 1) + strings.Repeat("x\n", 30)
	s := newShell(t, runner.Stub{Match: "^srun", Stdout: "data\n", Exit: 9,
		Stderr: "1: cannot open mesh.h5\n" + noise + "srun: error: n2: task 1: Exited with exit code 9\n"})
	if code := s.run("run", "-n2", "--", "./app"); code != 9 {
		t.Errorf("exit code %d", code)
	}
	if s.out.String() != "data\n" {
		t.Errorf("stdout %q", s.out.String())
	}
	if !strings.HasSuffix(s.err.String(), "nearmetal: task 1 on n2: Exited with exit code 9; exit code 9\n") || strings.Count(s.err.String(), "cannot open mesh.h5") != 2 {
		t.Errorf("stderr %q", s.err.String())
	}
}

func TestRunsOwnFailures(t *testing.T) {
	refused := runner.Stub{Match: "^srun", Exit: 1, Stderr: "srun: error: Unable to allocate resources: Invalid partition name specified\n"}
	for _, c := range []struct {
		args []string
		stub []runner.Stub
		want string
	}{
		{[]string{"-n2", "-p", "nope", "--", "x"}, []runner.Stub{refused}, "Invalid partition"},
		{[]string{"--image", "/no/such.sif", "--", "x"}, nil, "no such file"},
		{[]string{"-n2"}, nil, "no program"},
		{[]string{"-N4", "-n2", "--", "x"}, nil, "cannot be spread"},
		{[]string{"--no-such-flag", "--", "x"}, nil, "unknown flag"},
		{[]string{"-t", "soon", "--", "x"}, nil, "not a time"},
		{[]string{"--image", "/x.sif", "--start", "fast", "--", "x"}, nil, "no way to start"},
		{[]string{"--image", "/x.sif", "--start", "joined", "--", "x"}, nil, "not beside nearmetal"},
		{[]string{"--site", "/no/such.yaml", "--", "x"}, nil, "no such file"},
	} {
		s := newShell(t, c.stub...)
		if code := s.run(append([]string{"run"}, c.args...)...); code != fail.Launch {
			t.Errorf("%q: exit code %d", c.args, code)
		}
		if e := s.err.String(); !strings.Contains(e, c.want) || !strings.HasPrefix(lastError(e), "error: ") {
			t.Errorf("%q: %q", c.args, e)
		}
	}
}

func lastError(s string) string { return s[max(0, strings.LastIndex(s, "error: ")):] }

func TestTailKeepsAndPassesOn(t *testing.T) {
	var w bytes.Buffer
	tl := newTail(&w)
	line := strings.Repeat("y", 999) + "\n"
	for range 500 {
		if _, err := tl.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if w.Len() != 500000 || len(tl.last) < tailBytes || len(tl.last) > 3*tailBytes || !tl.cut {
		t.Errorf("%d passed on, %d kept", w.Len(), len(tl.last))
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "90": 90 * time.Minute, "1:30": 90 * time.Second, "1:30:00": 90 * time.Minute, "2-12": 60 * time.Hour,
		"1-0:30": 24*time.Hour + 30*time.Minute, "90s": 90 * time.Second, "2h": 2 * time.Hour,
	} {
		if got, err := parseTime(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "x", "1:2:3:4", "1-", "99999999999", "1-x", "-5m"} {
		if got, err := parseTime(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestParseBinds(t *testing.T) {
	got, err := parseBinds([]string{"/a", "/a:/b", "/a:/b:ro", `/a\:b:/c`, `/a\\:/d`})
	want := []slurm.Bind{{Source: "/a"}, {Source: "/a", Dest: "/b"}, {Source: "/a", Dest: "/b", ReadOnly: true}, {Source: "/a:b", Dest: "/c"}, {Source: `/a\`, Dest: "/d"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "/a:/b:rx", "/a:/b:ro:x", ":/b"} {
		if _, err := parseBinds([]string{bad}); err == nil || fail.Code(err) != fail.Usage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSiteSettings(t *testing.T) {
	s := newShell(t)
	dir := filepath.Join(s.env["HOME"], ".config", "nearmetal")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "site.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("partition: compute\naccount: proj\nmpi: pmix_v5\nbinds: [/scratch]\nmodules: [openmpi]\n")
	if code := s.run("run", "--dry-run", "-n2", "-p", "gpu", "--image", "/a.sif", "--", "x"); code != 0 {
		t.Fatal(s.err.String())
	}
	if got, want := s.out.String(), "srun --export=ALL --mpi=pmix_v5 -n 2 --partition=gpu --account=proj apptainer -s exec --bind /scratch /a.sif x\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	write("partition: compute\nacount: x\n")
	if code := s.run("run", "--dry-run", "-n2", "--", "x"); code != fail.Usage || !strings.Contains(s.err.String(), "site.yaml:2: field acount not found") {
		t.Errorf("exit code %d: %s", code, s.err.String())
	}
}

func TestBenchUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no suite"},
		{[]string{"none", "--arms", "native", "--native-bin", "/x"}, "unknown suite"},
		{[]string{"mpi", "--native-bin", "/x"}, "no image"},
		{[]string{"mpi", "--arms", "metal", "--native-bin", "/x"}, "unknown arm"},
		{[]string{"mpi", "--arms", "native,native", "--native-bin", "/x"}, "twice"},
		{[]string{"mpi", "--arms", "native", "--native-bin", "/x", "--blocks", "0"}, "0 blocks"},
		{[]string{"mpi", "--resume", "/x"}, "--resume takes everything"},
		{[]string{"--resume", "/no/such"}, "no such file"},
		{[]string{"mpi", "--arms", "unpacked"}, "no --root"},
		{[]string{"mpi", "--timeout", "x"}, "not a time"},
	} {
		s := newShell(t)
		if code := s.run(append([]string{"bench"}, c.args...)...); code != fail.Usage || !strings.Contains(s.err.String(), c.want) || !strings.Contains(s.err.String(), "hint: ") {
			t.Errorf("%q: exit code %d: %s", c.args, code, s.err.String())
		}
	}
}

// TestSubmitStatusFetch follows a submitted run from another shell.
func TestSubmitStatusFetch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	s := newShell(t, runner.Stub{Match: "^sbatch", Stdout: "4711\n"},
		runner.Stub{Match: "^scontrol show job -o 4711", Stdout: "JobId=4711 JobState=PENDING Reason=Priority StartTime=2026-12-01T10:00:00\n", Times: 3})
	args := []string{"bench", "mpi", "--arms", "native,native-again", "--native-bin", "/opt/bin", "-N2", "--blocks", "3", "-o", dir, "--submit"}
	if code := s.run(args...); code != 0 || s.out.String() != "4711\n" {
		t.Fatalf("exit code %d: %s%s", code, s.out.String(), s.err.String())
	}
	if code := s.run("status"); code != 0 || !strings.Contains(s.out.String(), "4711  pending  0/16      0       "+dir) {
		t.Errorf("status: %d %s%s", code, s.out.String(), s.err.String())
	}
	if code := s.run("status", "4711"); code != 0 || !strings.Contains(s.out.String(), "waits for: Priority") {
		t.Errorf("status 4711: %d %s%s", code, s.out.String(), s.err.String())
	}
	if code := s.run("fetch", "4711"); code != fail.Failed || !strings.Contains(s.err.String(), "pending, 0 of 16 launches") {
		t.Errorf("fetch: %d %s", code, s.err.String())
	}
	if code := s.run(args...); code != fail.Usage || !strings.Contains(s.err.String(), "holds a run already") {
		t.Errorf("the same directory again: %d %s", code, s.err.String())
	}
}

// TestRunInAnAllocationLeavesAContainer: once, for the launches that follow; a
// failure of that step is none of the launch.
func TestRunInAnAllocationLeavesAContainer(t *testing.T) {
	image := filepath.Join(t.TempDir(), "a.sif")
	if err := os.WriteFile(image, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := newShell(t,
		runner.Stub{Match: "^/opt/nearmetal-enter --once srun .* -N 2 -n 2 .* /opt/nearmetal-enter --hold 4 apptainer -s exec .*/a.sif$", Exit: 1},
		runner.Stub{Match: "^srun .* /opt/nearmetal-enter 4 apptainer -s exec .*/a.sif x$", Times: 2})
	s.env["NEARMETAL_ENTER"] = "/opt/nearmetal-enter"
	s.env["SLURM_JOB_ID"], s.env["SLURM_JOB_NUM_NODES"] = "7", "2"
	if code := s.run("run", "--image", image, "-n2", "--", "x"); code != 0 {
		t.Errorf("exit code %d: %s", code, s.err.String())
	}
	s.env["SLURM_STEP_ID"] = "0" // inside a step: what is left behind would end with it
	if code := s.run("run", "--image", image, "-n2", "--", "x"); code != 0 {
		t.Errorf("in a step: exit code %d: %s", code, s.err.String())
	}
}
