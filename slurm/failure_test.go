package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFailure(t *testing.T) {
	cases := map[string]struct{ refused, sentence, last string }{
		"exit7":     {"", "task 1 on n2: Exited with exit code 7; exit code 143", "cannot open input.dat"},
		"segv":      {"", "task 0 on n1: Segmentation fault; exit code 143", ""},
		"label":     {"", "task 1 on n2: Exited with exit code 3; exit code 143", "1: Fatal: bad thing"},
		"image":     {"", "task 0 on n1: Exited with exit code 255; exit code 143", "FATAL:   While checking container encryption: could not open image /shared/none.sif: failed to retrieve path for /shared/none.sif: lstat /shared/none.sif: no such file or directory"},
		"partition": {"Unable to allocate resources: Invalid partition name specified", "", ""},
		"nodes":     {"Unable to allocate resources: Requested node configuration is not available", "", ""},
		"cpus":      {"Unable to allocate resources: Requested node configuration is not available", "", ""},
		"mpi":       {"Couldn't find the specified plugin name for mpi/nope looking at all files", "", ""},
		"option":    {"unrecognized option '--nope'", "", ""},
		"notfound":  {"no-such-program: No such file or directory", "", ""},
	}
	files, err := filepath.Glob("testdata/failures/*")
	if err != nil || len(files) != len(cases) {
		t.Fatalf("%d captured failures, %d expectations, %v", len(files), len(cases), err)
	}
	for name, want := range cases {
		f, err := os.Open(filepath.Join("testdata/failures", name))
		if err != nil {
			t.Fatal(err)
		}
		got := ReadFailure(f)
		f.Close()
		if got.Refused != want.refused {
			t.Errorf("%s: refused %q, want %q", name, got.Refused, want.refused)
		}
		if want.refused != "" {
			if got.Hint == "" {
				t.Errorf("%s: no hint", name)
			}
			continue
		}
		if s := got.Sentence(143); s != want.sentence {
			t.Errorf("%s: %q, want %q", name, s, want.sentence)
		}
		if last := strings.Join(got.Lines, "\n"); last != want.last {
			t.Errorf("%s: lines %q, want %q", name, last, want.last)
		}
	}
}

// TestProgramsOwnWordsAreNotRefusals: a program's stderr must not turn its exit
// code into ours.
func TestProgramsOwnWordsAreNotRefusals(t *testing.T) {
	for _, line := range []string{"Invalid input", "error: Unable to create file", "execve(): x: not found", "app: unrecognized option '--nope'"} {
		if f := ReadFailure(strings.NewReader(line + "\n")); f.Refused != "" {
			t.Errorf("%q: refused %q", line, f.Refused)
		}
	}
}

func FuzzReadFailure(f *testing.F) {
	files, _ := filepath.Glob("testdata/failures/*")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := ReadFailure(strings.NewReader(text))
		if len(got.Lines) > keepLines {
			t.Errorf("%d lines", len(got.Lines))
		}
		got.Sentence(1)
	})
}

// The lines are salloc's own, Slurm 24.11.5.
func TestReadAllocation(t *testing.T) {
	cases := map[string]string{
		"salloc: error: Job submit/allocate failed: Invalid partition name specified\n":                         "Job submit/allocate failed: Invalid partition name specified",
		"salloc: error: Job submit/allocate failed: Requested node configuration is not available\n":            "Job submit/allocate failed: Requested node configuration is not available",
		"salloc: Granted job allocation 32\nsalloc: Nodes n[1-2] are ready for job\nsrun: error: Unable to x\n": "",
	}
	for text, want := range cases {
		f := ReadAllocation(strings.NewReader(text))
		if f.Refused != want || want != "" && f.Hint == "" {
			t.Errorf("%q: %+v", text, f)
		}
	}
}
