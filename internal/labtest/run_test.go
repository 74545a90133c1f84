//go:build lab

package labtest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// hostile are strings that a shell, Slurm, Apptainer or printf would change.
var hostile = []string{
	"a b", "a'b", `a"b`, "$(touch /tmp/owned)", "`touch /tmp/owned`", "$HOME", "new\nline", "tab\tx", `\`, `a\nb`,
	"*", "?", "[a]", "~", "#x", "!x", "&", "|", ";", "<x", "> /tmp/owned", "%post", "%s%n%d", ":", "::", "--", "-n",
	"--help", "", "é\u2028", "\x01\x7f", "a,b,c", "a=b", "{a,b}", "\r\n", "a:b:ro", "''", `""`, "$'x'", "${IFS}", "\n",
	strings.Repeat("x", 60000),
}

type dump struct {
	Args [][]byte
	Env  map[string][]byte
	Dir  string
}

func read(t *testing.T, text string) dump {
	t.Helper()
	var d dump
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in %.300q", err, text)
	}
	return d
}

// worlds are the launch flags of each target.
func (c cluster) worlds() map[string][]string {
	return map[string][]string{"native": nil, "container": {"--image", c.image}, "container each": {"--image", c.image, "--start", "exec"}}
}

func (c cluster) run(t *testing.T, flags []string, program ...string) done {
	t.Helper()
	argv := append([]string{nearmetal, "run", "-n1"}, flags...)
	return c.alice(t, append(append(argv, "--"), program...)...)
}

func TestArgumentsArriveUnchanged(t *testing.T) {
	c := open(t)
	for world, flags := range c.worlds() {
		d := c.run(t, flags, append([]string{"/shared/bin/argdump"}, hostile...)...)
		if d.code != 0 {
			t.Fatalf("%s: exit code %d: %s", world, d.code, d.err)
		}
		got := read(t, d.out)
		if len(got.Args) != len(hostile) {
			t.Fatalf("%s: %d arguments arrived of %d", world, len(got.Args), len(hostile))
		}
		for i, want := range hostile {
			if string(got.Args[i]) != want {
				t.Errorf("%s: %.60q arrived as %.60q", world, want, got.Args[i])
			}
		}
	}
	c.nothingRan(t)
}

func TestEnvironmentArrivesUnchanged(t *testing.T) {
	c := open(t)
	var env []string
	for i, h := range hostile {
		env = append(env, "--env", fmt.Sprintf("NM_%d=%s", i, h))
	}
	for world, flags := range c.worlds() {
		d := c.run(t, append(flags, env...), "/shared/bin/argdump")
		if d.code != 0 {
			t.Fatalf("%s: exit code %d: %s", world, d.code, d.err)
		}
		got := read(t, d.out)
		for i, want := range hostile {
			if v, ok := got.Env[fmt.Sprintf("NM_%d", i)]; !ok || string(v) != want {
				t.Errorf("%s: %.60q arrived as %.60q (%v)", world, want, v, ok)
			}
		}
	}
	c.nothingRan(t)
}

// nothingRan looks for what the command substitutions would have left.
func (c cluster) nothingRan(t *testing.T) {
	t.Helper()
	for _, node := range []string{"head", "n1", "n2"} {
		if d := c.on(t, node, "test", "-e", "/tmp/owned"); d.code == 0 {
			t.Errorf("%s: a value was executed", node)
		}
	}
}

func TestPrintedLineCanBePasted(t *testing.T) {
	c := open(t)
	for world, flags := range c.worlds() {
		argv := append([]string{nearmetal, "run", "-n1", "--dry-run", "--env", "NM_X=" + strings.Join(hostile[:20], "|")}, flags...)
		argv = append(append(argv, "--", "/shared/bin/argdump"), hostile[:40]...)
		line := c.must(t, argv...)
		got := read(t, c.must(t, "sh", "-c", line))
		if string(got.Env["NM_X"]) != strings.Join(hostile[:20], "|") {
			t.Errorf("%s: environment %q", world, got.Env["NM_X"])
		}
		for i, want := range hostile[:40] {
			if i >= len(got.Args) || string(got.Args[i]) != want {
				t.Errorf("%s: argument %d is not %.60q", world, i, want)
			}
		}
	}
}

// TestPathsArriveUnchanged binds a directory of each hostile name and works in it.
func TestPathsArriveUnchanged(t *testing.T) {
	c := open(t)
	root := c.folder(t)
	escape := strings.NewReplacer(`\`, `\\`, ":", `\:`)
	for i, h := range hostile {
		if h == "" || len(h) > 200 || strings.Contains(h, "/") {
			continue // no name of one directory
		}
		dir := root + "/" + h
		if err := os.Mkdir(c.host(dir), 0o777); err != nil {
			t.Fatal(err)
		}
		dest := fmt.Sprintf("/mnt/d%d", i)
		for _, flags := range [][]string{
			{"--chdir", dir},
			{"--chdir", dest, "--image", c.image, "--bind", escape.Replace(dir) + ":" + dest},
		} {
			if err := os.WriteFile(c.host(dir)+"/here", []byte("here"), 0o644); err != nil {
				t.Fatal(err)
			}
			if d := c.run(t, flags, "cat", "here"); d.code == 125 && strings.Contains(h, "\r") && strings.Contains(d.err, "cannot carry carriage returns") {
				continue // refused by name
			} else if d.code != 0 || d.out != "here" {
				t.Errorf("%q %q: exit code %d, %q, %q", h, flags[:3], d.code, d.out, d.err)
			}
		}
	}
	c.nothingRan(t)
}

func TestExitCodesPassThrough(t *testing.T) {
	c := open(t)
	for world, flags := range c.worlds() {
		for line, want := range map[string]int{"exit 0": 0, "exit 7": 7, "exit 124": 124, "kill -9 $$": 137} {
			if d := c.run(t, flags, "sh", "-c", line); d.code != want {
				t.Errorf("%s: %s: exit code %d, want %d: %s", world, line, d.code, want, d.err)
			}
		}
	}
	own := map[string][]string{
		"no such image":     {"--image", "/shared/no-such.sif"},
		"no such partition": {"-p", "no-such-partition"},
	}
	for what, flags := range own {
		d := c.run(t, flags, "true")
		if d.code != 125 || !strings.Contains(d.err, "error: ") || !strings.Contains(d.err, "hint: ") {
			t.Errorf("%s: exit code %d: %s", what, d.code, d.err)
		}
	}
}

// TestBytesThatAreNotText arrive natively and are refused for a container.
func TestBytesThatAreNotText(t *testing.T) {
	c := open(t)
	const raw = "\xff\xfe"
	got := read(t, c.run(t, []string{"--env", "NM_X=" + raw}, "/shared/bin/argdump", raw).out)
	if string(got.Args[0]) != raw || string(got.Env["NM_X"]) != raw {
		t.Errorf("natively: %q %q", got.Args, got.Env)
	}
	if d := c.run(t, []string{"--image", c.image}, "echo", raw); d.code != 125 || !strings.Contains(d.err, "not UTF-8") {
		t.Errorf("container: exit code %d: %s", d.code, d.err)
	}
}

func TestInputReachesTheProgram(t *testing.T) {
	c := open(t)
	for world, flags := range c.worlds() {
		line := "printf 'a\\nb' | " + nearmetal + " run -n1 " + strings.Join(flags, " ") + " -- cat"
		if got := c.must(t, "sh", "-c", line); got != "a\nb" {
			t.Errorf("%s: %q", world, got)
		}
	}
}

func TestSignalsReachTheProgram(t *testing.T) {
	c := open(t)
	script := `trap 'echo got; exit 9' USR1; echo up; i=0; while [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done`
	line := nearmetal + ` run -n1 -- sh -c "$1" > "$2" & p=$!; until grep -q up "$2"; do sleep 0.1; done; kill -USR1 $p; wait $p`
	out := c.folder(t) + "/out"
	d := c.alice(t, "sh", "-c", line, "x", script, out)
	text, _ := os.ReadFile(c.host(out))
	if d.code != 9 || !strings.Contains(string(text), "got") {
		t.Errorf("exit code %d, %q, %s", d.code, text, d.err)
	}
}

// TestContainedMPIStarts: with a /tmp of its own the container lacks the PMIx
// server's store; the launch takes another.
func TestContainedMPIStarts(t *testing.T) {
	c := open(t)
	for _, options := range [][]string{nil, {"--option", "--contain"}, {"--option", "--no-mount=tmp"}, {"--option", "--contain", "--bind", "/tmp"}} {
		flags := append([]string{"-N1", "-n2", "--image", c.image}, options...)
		d := c.run(t, flags, "nearmetal-probe", "-b", "init", "--expect-ranks", "2")
		if d.code != 0 || !strings.Contains(d.out, "nprocs: 2") {
			t.Errorf("%q: exit code %d: %s%s", options, d.code, d.out, d.err)
		}
	}
}
