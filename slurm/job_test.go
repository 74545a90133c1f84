package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseJobs(t *testing.T) {
	const comment = "nearmetal /shared/runs/a run"
	cases := map[string]Job{
		"running":   {ID: "195", Name: "a job = b", State: "RUNNING", Comment: comment, Nodes: "n[1-2]", Start: "2026-11-30T19:31:14", Exit: "0:0"},
		"cancelled": {ID: "195", Name: "a job = b", State: "CANCELLED", Comment: comment, Nodes: "n[1-2]", Start: "2026-11-30T19:31:14", Exit: "0:15"},
		"completed": {ID: "196", Name: "wrap", State: "COMPLETED", Nodes: "n[1-2]", Start: "2026-11-30T19:31:14", Exit: "0:0"},
		"pending":   {ID: "196", Name: "wrap", State: "PENDING", Reason: "Resources", Exit: "0:0"},
		"held":      {ID: "197", Name: "wrap", State: "PENDING", Reason: "JobHeldUser", Exit: "0:0"},
	}
	for name, want := range cases {
		text, err := os.ReadFile(filepath.Join("testdata/jobs", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseJobs(string(text))
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, want)
		}
		if got[0].Waiting() != (want.State == "PENDING") || got[0].Alive() != (want.State == "RUNNING") {
			t.Errorf("%s: waiting %v, alive %v", name, got[0].Waiting(), got[0].Alive())
		}
	}
	if _, err := ParseJobs("JobId=1 JobState=RUNNING\nslurm_load_jobs error"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a foreign line: %v", err)
	}
}

func TestParseAccounts(t *testing.T) {
	got, err := ParseAccounts("12|CANCELLED by 1000|0:0|Unknown|Unknown|None assigned\n13|OUT_OF_ME+|0:125|a|b|n1\n14|COMPLE+|0:0|a|b|n1\n15|COMP+|0:0|a|b|n1\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"CANCELLED", "OUT_OF_MEMORY", "COMPLE+", "COMP+"} {
		if got[i].State != want {
			t.Errorf("state %q, want %q", got[i].State, want)
		}
	}
	if _, err := ParseAccounts("1|RUNNING|x\n"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("too few fields: %v", err)
	}
}

func TestParseSubmitted(t *testing.T) {
	for text, want := range map[string][2]string{
		"123\n":                         {"123", ""},
		"123;big\n":                     {"123", "big"},
		"your account is low\n4567;c\n": {"4567", "c"},
	} {
		id, cluster, err := ParseSubmitted(text)
		if err != nil || id != want[0] || cluster != want[1] {
			t.Errorf("%q: %q %q %v", text, id, cluster, err)
		}
	}
	for _, text := range []string{"", "error", "12x"} {
		if _, _, err := ParseSubmitted(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func FuzzParseJobs(f *testing.F) {
	files, _ := filepath.Glob("testdata/jobs/*")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("1|CANCELLE+|0:0|a|b|c")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = ParseJobs(text)
		_, _ = ParseAccounts(text)
		_, _, _ = ParseSubmitted(text)
	})
}
