package defs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestShellsReadValuesLiterally runs what was rendered in this machine's
// /bin/sh: environment, runscript, steps and labels bring each hostile value
// that is accepted to its end, and nothing else happens.
func TestShellsReadValuesLiterally(t *testing.T) {
	dir := t.TempDir()
	n := 0
	for _, v := range hostile {
		r := Recipe{Name: "x", Provider: "distro", Base: Base{From: "docker", Ref: "debian"}, Stack: Stack{MPI: Component{Name: "openmpi"}},
			Env:       map[string]string{"VALUE": v},
			Runscript: &Step{Argv: []string{"printf", "%s", v}},
			Final:     []Step{{Argv: []string{"printf", "%s", v}}, {Script: "printf %s " + quote(v)}},
		}
		d, err := Render(r)
		if err != nil {
			continue
		}
		n++
		stages, err := Parse(strings.NewReader(d.Text))
		if err != nil {
			t.Fatal(err)
		}
		s := stages[len(stages)-1]
		run := func(what, script, want string) {
			t.Helper()
			if got := sh(t, dir, script); got != want {
				t.Errorf("%s: %.100q arrives as %.100q", what, v, got)
			}
		}
		run("environment", s.Script("environment")+`printf %s "$VALUE"`, v)
		run("runscript", s.Script("runscript"), v)
		run("step", between(s.Script("post"), "    set +x"), v+v)
	}
	if n < 25 {
		t.Errorf("only %d values were tried", n)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("something was executed: %v", left)
	}
}

// between cuts the recipe's own steps out of %post: they follow the packages.
func between(post, to string) string {
	post = post[strings.Index(post, "        openmpi-bin\n")+len("        openmpi-bin\n"):]
	return post[:strings.Index(post, to)]
}

func sh(t *testing.T, dir, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-e", file)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v in\n%.500s", err, script)
	}
	return string(out)
}

// TestVersionsAreChecked runs the final stage's check against a faked package
// manager in /bin/sh.
func TestVersionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		want, installed string
		ok              bool
	}{
		{"", "5.0.7", true}, {"5.0", "5.0.7", true}, {"5.0.7", "5.0.7", true}, {"5", "5.0.7", true}, {"5.0.7", "5.0.7+ds", true},
		{"5.0", "5.01", false}, {"5.0.7", "5.0.70", false}, {"4.1", "5.0.7", false}, {"5.0", "", false}, {"1.18", "1.18~rc2", true},
	} {
		r := Recipe{Name: "x", Provider: "distro", Base: Base{From: "docker", Ref: "debian"}, Stack: Stack{MPI: Component{"openmpi", c.want}}}
		d, err := Render(r)
		if err != nil {
			t.Fatal(err)
		}
		stages, _ := Parse(strings.NewReader(d.Text))
		post := stages[0].Script("post")
		post = post[strings.Index(post, "    labels="):strings.Index(post, "    set -x")]
		labels := filepath.Join(t.TempDir(), "labels")
		bin := fakeQuery(t, c.installed)
		cmd := exec.Command("/bin/sh", "-e", "-c", post)
		cmd.Env = append(os.Environ(), "APPTAINER_LABELS="+labels, "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if (err == nil) != c.ok {
			t.Errorf("want %q, installed %q: %v %s", c.want, c.installed, err, out)
		}
		if !c.ok && !strings.Contains(string(out), "nearmetal: openmpi: ") {
			t.Errorf("want %q, installed %q: unclear: %s", c.want, c.installed, out)
		}
		written, _ := os.ReadFile(labels)
		if v, _, _ := strings.Cut(c.installed, "+"); c.ok && !strings.Contains(string(written), "org.nearmetal.stack.openmpi "+v+"\n") {
			t.Errorf("labels: %s", written)
		}
	}
}

// fakeQuery makes a folder with a dpkg-query that knows one openmpi, or none.
func fakeQuery(t *testing.T, version string) string {
	t.Helper()
	script := "#!/bin/sh\necho zlib 1.3\n"
	if version != "" {
		script += "echo openmpi " + version + "\necho openmpi 9\n"
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dpkg-query"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
