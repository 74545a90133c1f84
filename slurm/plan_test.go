package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// hostile are strings that a shell, Slurm or Apptainer would change.
var hostile = []string{
	"a b", "a'b", `a"b`, "$(touch owned)", "`touch owned`", "$HOME", "new\nline", "tab\tx", `\`, `a\nb`,
	"*", "?", "[a]", "~", "#x", "!x", "&", "|", ";", "<x", "> owned", "%post", "%s%n%d", ":", "::", "--", "-n",
	"--help", "", "é\u2028", "\x01\x7f", "a,b,c", "a=b", "{a,b}", "\r\n", "a:b:ro", "''", "$'x'", "${IFS}", "\n",
	strings.Repeat("x", 60000),
}

func plan(kind TargetKind, program ...string) Plan {
	p := Plan{Nodes: 2, Ranks: 2, Program: program, Target: Target{Kind: kind}}
	switch kind {
	case Container:
		p.Target.Image = "/images/a b.sif"
	case Unpacked:
		p.Target.Root, p.Target.Loader, p.Target.Prefix = "/r", "/r/lib64/ld.so", "/r/usr"
		p.Target.Library = []string{"/r/usr/lib"}
	}
	return p
}

var kinds = []TargetKind{Native, Container, Unpacked}

// TestHostileStrings: each string, as argument and as value, is an element of
// the vector as it is, and the printed line gives a shell the same vector.
func TestHostileStrings(t *testing.T) {
	for _, kind := range kinds {
		p := plan(kind, append([]string{"prog"}, hostile...)...)
		p.Env = []EnvVar{{Name: "NM_X", Value: strings.Join(hostile, "|")}}
		argv, err := p.Argv()
		if err != nil {
			t.Fatal(err)
		}
		tail := argv[len(argv)-len(hostile):]
		for i, want := range hostile {
			if got := strings.TrimPrefix(tail[i], "."); got != want {
				t.Errorf("%s: %q became %q", kind, want, got)
			}
		}
		if slices.Contains(argv, ":") {
			t.Errorf("%s: srun would cut at a lone colon", kind)
		}
		if env := p.Environ(""); !slices.Contains(env, "NM_X="+p.Env[0].Value) {
			t.Errorf("%s: the value is not in the environment as it is", kind)
		}
		samePasted(t, p, argv)
	}
}

// samePasted lets a shell read the printed line, with a srun that prints.
func samePasted(t *testing.T, p Plan, argv []string) {
	t.Helper()
	dir := t.TempDir()
	srun := "#!/bin/sh\nprintf '%s\\0' \"$NM_X\" \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "srun"), []byte(srun), 0o755); err != nil {
		t.Fatal(err)
	}
	line, err := p.Line()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh")
	cmd.Stdin, cmd.Dir = strings.NewReader(line), dir
	cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.200s", err, out)
	}
	want := append([]string{p.Env[0].Value}, argv[1:]...)
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, want) {
		t.Errorf("%s: the pasted line gives another vector", p.Target.Kind)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%s: something was executed", p.Target.Kind)
	}
}

// TestUndotKeepsArguments runs the constant that hides lone colons.
func TestUndotKeepsArguments(t *testing.T) {
	argv := guardColons(append([]string{"printf", `%s\0`}, hostile...))
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, hostile) {
		t.Errorf("got %.300q", got)
	}
}

func TestScriptIsAShellScript(t *testing.T) {
	for _, kind := range kinds {
		p := plan(kind, append([]string{"prog"}, hostile...)...)
		p.Env = []EnvVar{{Name: "NM_X", Value: strings.Join(hostile, "|")}}
		p.Partition, p.JobName, p.CPUsPerTask = "compute", "job", 4
		text, err := p.Script()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-n")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", kind, err, out)
		}
		if !strings.Contains(text, "#SBATCH --partition=compute\n") || strings.Contains(text, "srun --export=ALL --mpi=pmix -N 2 -n 2 -c 4 --partition") {
			t.Errorf("%s: partition belongs to the allocation:\n%.600s", kind, text)
		}
	}
	bad := plan(Native, "x")
	for _, name := range []string{"a b", "a#b", "a'b", `a\b`, "a\nb", "a\n#SBATCH --uid=0"} {
		bad.JobName = name
		if _, err := bad.Script(); err == nil || fail.Code(err) != fail.Usage {
			t.Errorf("job name %q: %v", name, err)
		}
	}
}

func TestRefused(t *testing.T) {
	change := map[string]func(*Plan){
		"no program":          func(p *Plan) { p.Program = nil },
		"NUL":                 func(p *Plan) { p.Program = []string{"a\x00b"} },
		"10485760 bytes":      func(p *Plan) { p.Program = append(p.Program, strings.Repeat("x", 10<<20)) },
		"not a name":          func(p *Plan) { p.Env = []EnvVar{{Name: "A B", Value: "x"}} },
		"absolute path":       func(p *Plan) { p.Target = Target{Kind: Container, Image: "a.sif"} },
		"carriage returns":    func(p *Plan) { *p = plan(Container, "x"); p.Binds = []Bind{{Source: "/a\r\nb"}} },
		"not UTF-8":           func(p *Plan) { *p = plan(Container, "x", "\xff") },
		"Apptainer sets it":   func(p *Plan) { *p = plan(Container, "x"); p.Env = []EnvVar{{Name: "HOME", Value: "/x"}} },
		"spread over 3 nodes": func(p *Plan) { p.Nodes = 3 },
		"a number above 0":    func(p *Plan) { p.Ranks = -1 },
		`target "vm"`:         func(p *Plan) { p.Target.Kind = "vm" },
		`module "-x"`:         func(p *Plan) { p.Target.Modules = []string{"-x"} },
		"control characters":  func(p *Plan) { p.Partition = "a\nb" },
	}
	for want, f := range change {
		p := plan(Native, "x")
		f(&p)
		if _, err := p.Argv(); err == nil || !strings.Contains(err.Error(), want) || fail.Code(err) != fail.Usage {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func TestArmsDifferInTheTargetAlone(t *testing.T) {
	native, err := plan(Native, "prog", "x").Argv()
	if err != nil {
		t.Fatal(err)
	}
	box, err := plan(Container, "prog", "x").Argv()
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Insert(slices.Clone(native), len(native)-2, "apptainer", "-s", "exec", "/images/a b.sif")
	if !slices.Equal(box, want) {
		t.Errorf("container %q\nwant %q", box, want)
	}
}

func TestContainerOwnVariablesGoByTheTwinAlone(t *testing.T) {
	p := plan(Container, "x")
	p.Env = []EnvVar{{Name: "LD_LIBRARY_PATH", Value: "/opt/lib"}, {Name: "OMP_NUM_THREADS", Value: "2"}}
	got := p.Environ("/usr/bin")
	want := []string{"APPTAINERENV_LD_LIBRARY_PATH=/opt/lib", "OMP_NUM_THREADS=2", "APPTAINERENV_OMP_NUM_THREADS=2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	n := plan(Native, "x")
	n.Target.Path = []string{"/opt/a b"}
	if got := n.Environ("/usr/bin"); !slices.Equal(got, []string{"PATH=/opt/a b:/usr/bin"}) {
		t.Errorf("native PATH %q", got)
	}
}

func TestHiddenTmpNeedsTheHashStore(t *testing.T) {
	cases := []struct {
		options []string
		binds   []Bind
		env     []EnvVar
		want    bool
	}{
		{nil, nil, nil, false},
		{[]string{"--contain"}, nil, nil, true},
		{[]string{"-C"}, nil, nil, true},
		{[]string{"--no-mount", "home,tmp"}, nil, nil, true},
		{[]string{"--no-mount=home"}, nil, nil, false},
		{[]string{"--contain"}, []Bind{{Source: "/tmp"}}, nil, false},
		{[]string{"--contain"}, []Bind{{Source: "/x", Dest: "/tmp"}}, nil, true},
		{[]string{"--contain"}, nil, []EnvVar{{Name: "PMIX_MCA_gds", Value: "^shmem2"}}, false},
	}
	for _, c := range cases {
		p := plan(Container, "x")
		p.Target.Options, p.Binds, p.Env = c.options, c.binds, c.env
		if got := slices.Contains(p.Environ(""), "PMIX_MCA_gds=hash"); got != c.want {
			t.Errorf("%q %v: %v", c.options, c.binds, got)
		}
		p.Target = Target{Kind: Native}
		if slices.Contains(p.Environ(""), "PMIX_MCA_gds=hash") {
			t.Errorf("%q: set natively", c.options)
		}
	}
}

func TestModulesAreArguments(t *testing.T) {
	p := plan(Native, "prog", "$(touch owned)")
	p.Target.Modules = []string{"gcc/14", "openmpi"}
	argv, err := p.Argv()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"bash", "-lc", loadModules, "nearmetal", "2", "gcc/14", "openmpi", "srun"}; !slices.Equal(argv[:8], want) {
		t.Errorf("got %q", argv[:8])
	}
}

func TestEveryReasonIsOfTheLine(t *testing.T) {
	p := plan(Container, "prog", ":")
	p.Workdir, p.CPUsPerTask, p.Target.NV = "/w", 2, true
	p.Binds = []Bind{{Source: "/s"}}
	p.Env = []EnvVar{{Name: "A", Value: "b"}}
	for _, r := range p.Explain() {
		if r.Part == "" || r.Why == "" {
			t.Errorf("%+v", r)
		}
	}
	if n := len(p.Explain()); n != 11 {
		t.Errorf("%d reasons", n)
	}
}
