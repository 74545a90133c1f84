package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/check"
	"github.com/nearmetal/nearmetal/internal/fail"
)

const oomLog = "0: hello\nslurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n"

// doctorRun runs the verb on in as stdin.
func doctorRun(t *testing.T, in string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	d := Deps{In: strings.NewReader(in), Out: &o, Err: &e, Width: 80, Getenv: func(string) string { return "" }}
	code = Main(context.Background(), append([]string{"doctor"}, args...), d)
	return o.String(), e.String(), code
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDoctorLog(t *testing.T) {
	log := write(t, "job.out", oomLog)
	out, errs, code := doctorRun(t, "", "--log", log)
	if code != fail.Findings || !strings.Contains(out, "slurm-oom-kill") || !strings.Contains(out, log+":2") || errs != "" {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	if out, _, code := doctorRun(t, oomLog, "--log", "-", "--json"); code != fail.Findings || !strings.Contains(out, `"file": "stdin"`) {
		t.Errorf("stdin: exit %d\n%s", code, out)
	}
	var doc check.Document
	out, _, _ = doctorRun(t, "", "--log", write(t, "a", "fine\n"), log, "--json")
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Findings) != 1 || doc.Findings[0].Evidence[0].File != log {
		t.Errorf("two files: %v\n%s", err, out)
	}
}

func TestDoctorHealthyAndHarmless(t *testing.T) {
	if out, errs, code := doctorRun(t, "all fine\n", "--log", "-"); code != 0 || out != "" || !strings.Contains(errs, "no known cause in 1 lines") {
		t.Errorf("exit %d %q %q", code, out, errs)
	}
	harmless := "By default, for Open MPI 4.0 and later, infiniband ports on a device\n"
	if out, _, code := doctorRun(t, harmless, "--log", "-"); code != 0 || !strings.Contains(out, "INFO") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if out, _, code := doctorRun(t, "", "--log", "-", "--json"); code != 0 || !strings.Contains(out, `"findings": []`) {
		t.Errorf("empty: exit %d\n%s", code, out)
	}
}

// The same words, told apart by what is known besides.
func TestDoctorContextDecides(t *testing.T) {
	log := "CUDA driver version is insufficient for CUDA runtime version\n"
	for text, want := range map[string]string{
		"command: singularity run app.sif\n":      "nv-flag-missing",
		"command: singularity run --nv app.sif\n": "cuda-driver-too-old",
	} {
		out, _, _ := doctorRun(t, log, "--log", "-", "--json", "--context", write(t, "known.txt", text))
		var doc check.Document
		if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Findings[0].Key != want {
			t.Errorf("%s: %v %+v, want %s", text, err, doc.Findings, want)
		}
	}
}

func TestDoctorFormatsAndUsage(t *testing.T) {
	for format, want := range map[string]string{"sarif": `"version": "2.1.0"`, "junit": "<testsuite", "text": "1. ERROR"} {
		if out, _, code := doctorRun(t, oomLog, "--log", "-", "--format", format); code != fail.Findings || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d\n%s", format, code, out)
		}
	}
	for _, args := range [][]string{
		{"--log", "/no/such/file"}, {"--log", t.TempDir()}, {"--log", "-", "--format", "xml"},
		{"stray"}, {"--log", "-", "--context", "/no/such"}, {"explain", "no-such-cause"},
	} {
		if _, errs, code := doctorRun(t, "", args...); code != fail.Usage || !strings.Contains(errs, "hint: ") {
			t.Errorf("%v: exit %d %q", args, code, errs)
		}
	}
}

func TestDoctorExplain(t *testing.T) {
	out, _, code := doctorRun(t, "", "explain", "VRB001", "slurm-oom-kill")
	if code != 0 || !strings.Contains(out, "memlock-limit") || !strings.Contains(out, "SLU020") {
		t.Errorf("exit %d\n%s", code, out)
	}
	out, _, code = doctorRun(t, "", "explain")
	if n := strings.Count(out, "\n"); code != 0 || n < 120 {
		t.Errorf("exit %d, %d causes", code, n)
	}
}
