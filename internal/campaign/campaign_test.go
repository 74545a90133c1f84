package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/store"
	"github.com/nearmetal/nearmetal/slurm"
)

// lines is a captured probe output, from another package's fixtures.
func lines(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../bench/probe/testdata/openmpi-4.1.4-n2-all.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func noEnv(string) string { return "" }

func world(r runner.Runner) World {
	return World{Runner: r, Getenv: noEnv, Now: func() time.Time { return time.Unix(1e9, 0) }}
}

func design(arms ...string) Design {
	d := Design{Suites: []string{"mpi"}, Nodes: 2, Blocks: 2, Warmups: 1, Seed: 7, Timeout: time.Minute, Now: time.Unix(0, 0)}
	for _, a := range arms {
		arm := store.Arm{Name: a, Plan: slurm.Plan{Target: slurm.Target{Kind: slurm.Native}}, Dir: "/opt/bin"}
		if a == "container" {
			arm.Plan.Target, arm.Dir = slurm.Target{Kind: slurm.Container, Image: "/a.sif"}, ""
		}
		d.Arms = append(d.Arms, arm)
	}
	return d
}

func newRun(t *testing.T, d Design) *store.Dir {
	t.Helper()
	dir, err := New(filepath.Join(t.TempDir(), "run"), d)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func quietly(int, int, bench.Launch, *bench.Run) {}

// captures answers the two arms' environment captures.
func captures() runner.Stub {
	return runner.Stub{Match: "sh -c echo", Stdout: "kernel=6.1\nenv.UCX_TLS=tcp\n", Times: 2}
}

func TestExecuteStoresEveryLaunch(t *testing.T) {
	dir := newRun(t, design("native", "container"))
	f := runner.NewFake(t, captures(), runner.Stub{Match: "nearmetal-probe", Stdout: lines(t), Times: 12})
	if err := Execute(t.Context(), world(f), dir, "test", quietly); err != nil {
		t.Fatal(err)
	}
	res, err := Load(dir.Path())
	if err != nil || !res.Complete() || len(res.Runs) != 12 {
		t.Fatalf("%d runs, %v", len(res.Runs), err)
	}
	onDisk, err := dir.Samples()
	if err != nil || !equal(onDisk, res.Samples) || len(onDisk) == 0 {
		t.Errorf("%d samples on disk, %d parsed again, %v", len(onDisk), len(res.Samples), err)
	}
	for _, arm := range []string{"native", "container"} {
		env := res.Environment[arm]
		if env["kernel"] != "6.1" || env["env.UCX_TLS"] != "tcp" || env["stack.mpi"] != "Open MPI v4.1.4" || env["stack.pmix"] != "OpenPMIx 4.2.2rc2" {
			t.Errorf("%s: environment %v", arm, env)
		}
	}
}

// TestArmsAreTheSamePlan looks at what was started: the container's line is
// the native one with apptainer in it and the program on the image's path.
func TestArmsAreTheSamePlan(t *testing.T) {
	dir := newRun(t, design("native", "container"))
	for _, c := range dir.Manifest.Cases {
		var argv [][]string
		for _, a := range dir.Manifest.Arms {
			v, err := PlanOf(a, c).Argv()
			if err != nil {
				t.Fatal(err)
			}
			argv = append(argv, v)
		}
		at := slices.Index(argv[0], "/opt/bin/nearmetal-probe")
		want := append(slices.Clone(argv[0][:at]), "apptainer", "-s", "exec", "/a.sif", "nearmetal-probe")
		if want = append(want, argv[0][at+1:]...); !slices.Equal(argv[1], want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.Name, argv[1], want)
		}
	}
}

// TestStoppedAnywhere stops after some launches, and resumes.
func TestStoppedAnywhere(t *testing.T) {
	for _, stop := range []int{0, 1, 6, 11} {
		dir := newRun(t, design("native", "container"))
		ctx, cancel := context.WithCancelCause(t.Context())
		killed := errors.New("killed")
		n := 0
		stub := runner.Stub{Match: "nearmetal-probe", Stdout: lines(t), Times: 13, Do: func(runner.Cmd) {
			if n++; n > stop {
				cancel(killed)
			}
		}}
		err := Execute(ctx, world(runner.NewFake(t, captures(), stub)), dir, "first", quietly)
		if !errors.Is(err, killed) {
			t.Fatalf("stop %d: %v", stop, err)
		}
		if runs, err := dir.Runs(); err != nil || len(runs) != stop {
			t.Fatalf("stop %d: %d runs, %v", stop, len(runs), err)
		}
		tear(t, dir)
		rest := runner.Stub{Match: "nearmetal-probe", Stdout: lines(t), Times: 12 - stop}
		if err := Execute(t.Context(), world(runner.NewFake(t, rest)), dir, "second", quietly); err != nil {
			t.Fatalf("resume after %d: %v", stop, err)
		}
		res, err := Load(dir.Path())
		onDisk, serr := dir.Samples()
		if err != nil || serr != nil || !res.Complete() || len(onDisk) != len(res.Samples) {
			t.Errorf("stop %d: %d runs, %v, %d of %d samples, %v", stop, len(res.Runs), err, len(onDisk), len(res.Samples), serr)
		}
	}
}

// tear cuts the last line of samples.jsonl, as a crash in the middle would.
func tear(t *testing.T, dir *store.Dir) {
	t.Helper()
	path := filepath.Join(dir.Path(), "samples.jsonl")
	info, err := os.Stat(path)
	if err != nil || info.Size() < 10 {
		return // no launch yet
	}
	if err := os.Truncate(path, info.Size()-10); err != nil {
		t.Fatal(err)
	}
}

func TestFailedLaunchesAreKeptAndBounded(t *testing.T) {
	dir := newRun(t, design("native", "container"))
	f := runner.NewFake(t, captures(),
		runner.Stub{Match: "apptainer .*nearmetal-probe", Stderr: "MPI_Init failed\n", Exit: 14, Times: 5},
		runner.Stub{Match: "nearmetal-probe", Stdout: lines(t), Times: 6})
	err := Execute(t.Context(), world(f), dir, "test", quietly)
	if err == nil || !strings.Contains(err.Error(), "arm container failed") || !strings.Contains(err.Error(), "MPI_Init failed") || fail.Hint(err) == "" {
		t.Fatalf("%v (hint %q)", err, fail.Hint(err))
	}
	res, err := Load(dir.Path())
	if err != nil || len(res.Notes) != 5 {
		t.Errorf("%d notes, %v", len(res.Notes), err)
	}
	for _, s := range res.Samples {
		if s.Arm == "container" {
			t.Fatal("a failed launch gave a sample")
		}
	}
}

// TestCutOutputDoesNotCount: exit code 0 with half an output is a failure.
func TestCutOutputDoesNotCount(t *testing.T) {
	dir := newRun(t, design("native"))
	text := lines(t)
	f := runner.NewFake(t, runner.Stub{Match: "sh -c echo"}, runner.Stub{Match: "nearmetal-probe", Stdout: text[:len(text)/2], Times: 5})
	if err := Execute(t.Context(), world(f), dir, "test", quietly); err == nil {
		t.Fatal("no error after five cut outputs")
	}
	res, err := Load(dir.Path())
	if err != nil || len(res.Samples) != 0 || len(res.Notes) != 5 {
		t.Errorf("%d samples, notes %q, %v", len(res.Samples), res.Notes, err)
	}
}

func TestSubmit(t *testing.T) {
	dir := newRun(t, design("native"))
	f := runner.NewFake(t, runner.Stub{Match: "^sbatch --parsable .*--job-name=nearmetal:run .*--comment=nearmetal .* -N 2 --ntasks-per-node=2 .*submit.sh$", Stdout: "42;big\n"})
	job, err := Submit(t.Context(), world(f), dir, "/bin/near metal")
	if err != nil || job.ID != "42" || job.Cluster != "big" {
		t.Fatal(job, err)
	}
	if again, ok, err := dir.Job(); err != nil || !ok || again != job {
		t.Errorf("stored %+v %v %v", again, ok, err)
	}
	text, err := os.ReadFile(filepath.Join(dir.Path(), scriptName))
	if err != nil || !strings.Contains(string(text), "exec '/bin/near metal' bench --resume ") {
		t.Errorf("script %q, %v", text, err)
	}
	refusing := runner.NewFake(t, runner.Stub{Match: "^sbatch", Stderr: "sbatch: error: invalid partition specified: x\n", Exit: 1})
	if _, err := Submit(t.Context(), world(refusing), dir, "/x"); err == nil || !strings.Contains(err.Error(), "invalid partition") {
		t.Errorf("refused: %v", err)
	}
}

func TestStatus(t *testing.T) {
	const none = "slurm_load_jobs error: Invalid job id specified\n"
	cases := []struct {
		name  string
		stubs []runner.Stub
		want  State
	}{
		{"waits", []runner.Stub{{Match: "^scontrol", Stdout: "JobId=42 JobState=PENDING Reason=Resources StartTime=Unknown\n"}}, Pending},
		{"runs", []runner.Stub{{Match: "^scontrol", Stdout: "JobId=42 JobState=RUNNING Reason=None\n"}}, Running},
		{"forgotten, in accounting", []runner.Stub{{Match: "^scontrol", Stderr: none, Exit: 1}, {Match: "^sacct", Stdout: "42|NODE_FAIL|0:0|a|b|n1\n"}}, Failed},
		{"forgotten", []runner.Stub{{Match: "^scontrol", Stderr: none, Exit: 1}, {Match: "^sacct", Exit: 1}}, Stopped},
		{"another's number", []runner.Stub{{Match: "^scontrol", Stdout: "JobId=42 JobState=RUNNING Comment=nearmetal /other\n"}, {Match: "^sacct", Exit: 1}}, Stopped},
	}
	for _, c := range cases {
		dir := newRun(t, design("native"))
		if err := dir.SetJob(store.Job{ID: "42"}); err != nil {
			t.Fatal(err)
		}
		s, err := StatusOf(t.Context(), world(runner.NewFake(t, c.stubs...)), dir.Path())
		if err != nil || s.State != c.want || s.Total != 6 {
			t.Errorf("%s: %+v, %v", c.name, s, err)
		}
	}
}

func TestIndexFindsRuns(t *testing.T) {
	x := Index{Dir: filepath.Join(t.TempDir(), "runs")}
	if _, err := x.Find(""); err == nil {
		t.Error("an empty index found a run")
	}
	for i := range 3 {
		if err := x.Add(Entry{Dir: fmt.Sprintf("/runs/r%d", i), Job: fmt.Sprint(40 + i), Created: time.Unix(int64(i), 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(x.Dir, "torn.json"), []byte(`{"dir":`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "/runs/r2", "41": "/runs/r1", "r0": "/runs/r0"} {
		if got, err := x.Find(name); err != nil || got != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	if _, err := x.Find("no-such"); err == nil || fail.Hint(err) == "" {
		t.Errorf("unknown name: %v", err)
	}
}

func TestOSUPlacementIsTheShape(t *testing.T) {
	text := "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n1                       0.20\n2                       0.21\n"
	out, err := readOSU(strings.NewReader(text), bench.Launch{Case: "osu_latency: 2 nodes, 2 ranks", Arm: "native"})
	if err != nil || len(out.Samples) != 2 || out.Samples[0].Placement != "2 nodes, 2 ranks" || out.Samples[0].Benchmark != "latency" {
		t.Errorf("%+v, %v", out.Samples, err)
	}
	if _, err := readOSU(strings.NewReader("srun: error\n"), bench.Launch{}); err == nil {
		t.Error("an output without a table counts")
	}
}

func TestEverySuiteHasCasesThatCanBeLaunched(t *testing.T) {
	for _, s := range Suites {
		for _, nodes := range []int{1, 2, 4} {
			cases, err := s.Cases(nodes)
			if err != nil || len(cases) == 0 || s.About == "" {
				t.Fatalf("%s on %d nodes: %d cases, %v", s.Name, nodes, len(cases), err)
			}
			seen := map[string]bool{}
			for _, c := range cases {
				if seen[c.Name] || c.Nodes > nodes || c.Suite != s.Name {
					t.Errorf("%s on %d nodes: %+v", s.Name, nodes, c)
				}
				seen[c.Name] = true
			}
		}
		if _, err := s.Read(strings.NewReader(""), bench.Launch{}); err == nil {
			t.Errorf("%s: empty output counts", s.Name)
		}
	}
}

func FuzzParseCapture(f *testing.F) {
	f.Add("kernel=6\nimage.system=Debian\n\x00=\n=x")
	f.Fuzz(func(_ *testing.T, text string) { parseCapture(io.LimitReader(strings.NewReader(text), 1<<20)) })
}

// TestHeldContainersOfAnArm: ranks that join find a container which lives as
// long as the campaign, started by the launches' own apptainer line.
func TestHeldContainersOfAnArm(t *testing.T) {
	d := design("native", "container")
	d.Arms[1].Plan.Target.Start = slurm.Start{Mode: slurm.StartJoined, Enter: "/opt/nearmetal-enter"}
	dir := newRun(t, d)
	ended := false
	f := runner.NewFake(t,
		runner.Stub{Match: "^srun .* -N 2 -n 2 --ntasks-per-node=1 .*/opt/nearmetal-enter --hold --until-eof 4 apptainer -s exec /a.sif$", Do: func(c runner.Cmd) {
			_, err := io.ReadAll(c.Stdin)
			ended = err == nil
		}},
		captures(), runner.Stub{Match: "nearmetal-probe", Stdout: lines(t), Times: 12})
	if err := Execute(t.Context(), world(f), dir, "test", quietly); err != nil {
		t.Fatal(err)
	}
	if !ended {
		t.Error("the step that holds the containers was not told to end")
	}
}
