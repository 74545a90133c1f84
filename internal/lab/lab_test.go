package lab

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain lets the test binary be a lab's inner program, as nearmetal-lab is.
func TestMain(m *testing.M) {
	if code, ok := Child(context.Background(), os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		write(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update when it should):\n%s", path, got)
	}
}

func TestSlurmConf(t *testing.T) {
	cases := map[string]struct {
		s Slurm
		n int
	}{
		"slurm-cgroup-2":     {topology{8, 2, 2, 2}.slurm(ModeCgroup, "", 4000), 2},
		"slurm-linuxproc-16": {flat(8).slurm(ModeLinuxproc, "", 21000), 16},
		"slurm-linuxproc-1":  {flat(1).slurm(ModeLinuxproc, "", 21000), 1},
	}
	for name, c := range cases {
		got, err := renderSlurmConf(c.s, c.n)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, got)
	}
}

func TestMmdebstrapCommands(t *testing.T) {
	m := Mirror{"http://mirror.example/debian", debianKeyring}
	golden(t, "node-argv", strings.Join(nodeSpec("trixie", m, nil).argv("TARGET"), "\n")+"\n")
	golden(t, "base-argv", strings.Join(baseSpec("trixie", m, nil).argv("TARGET"), "\n")+"\n")
}

func TestDigestFollowsEveryInput(t *testing.T) {
	m := Mirror{"http://mirror.example/debian", debianKeyring}
	first := nodeSpec("trixie", m, nil)
	if first.Digest() != nodeSpec("trixie", m, nil).Digest() {
		t.Error("the same inputs have two digests")
	}
	v := reflect.ValueOf(&first).Elem()
	seen := map[string]string{first.Digest(): "unchanged"}
	for i := range v.NumField() {
		changed := first
		f := reflect.ValueOf(&changed).Elem().Field(i)
		switch f.Kind() {
		case reflect.Int:
			f.SetInt(f.Int() + 1)
		case reflect.String:
			f.SetString(f.String() + "x")
		case reflect.Slice:
			f.Set(reflect.ValueOf(append([]string{"x"}, f.Interface().([]string)...)))
		}
		name := v.Type().Field(i).Name
		if old, ok := seen[changed.Digest()]; ok {
			t.Errorf("%s does not change the digest of %s", name, old)
		}
		seen[changed.Digest()] = name
	}
}

func TestProxyOpts(t *testing.T) {
	dump, err := os.ReadFile("testdata/apt-config.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := proxyOpts(string(dump))
	if len(got) != 1 || got[0] != `Acquire::http::Proxy "http://proxy.example:3128"` {
		t.Errorf("%q", got)
	}
}

func TestTopology(t *testing.T) {
	cpu := func(socket, core string) map[string]string {
		return map[string]string{"physical_package_id": socket, "core_id": core}
	}
	cases := map[string]struct {
		cpus []map[string]string
		want topology
	}{
		"two cores":   {[]map[string]string{cpu("0", "0"), cpu("0", "1")}, topology{2, 1, 2, 1}},
		"smt":         {[]map[string]string{cpu("0", "0"), cpu("0", "0"), cpu("1", "0"), cpu("1", "0")}, topology{4, 2, 1, 2}},
		"uneven":      {[]map[string]string{cpu("0", "0"), cpu("0", "0"), cpu("0", "1")}, topology{3, 1, 3, 1}},
		"one offline": {[]map[string]string{cpu("0", "0"), {}}, topology{1, 1, 1, 1}},
	}
	for name, c := range cases {
		fsys := fstest.MapFS{}
		for i, files := range c.cpus {
			dir := "devices/system/cpu/cpu" + string(rune('0'+i))
			fsys[dir+"/uevent"] = &fstest.MapFile{}
			for f, v := range files {
				fsys[dir+"/topology/"+f] = &fstest.MapFile{Data: []byte(v + "\n")}
			}
		}
		if got, err := readTopology(fsys); err != nil || got != c.want {
			t.Errorf("%s: %+v %v, want %+v", name, got, err, c.want)
		}
	}
	if _, err := readTopology(fstest.MapFS{}); err == nil {
		t.Error("a machine without CPUs has a topology")
	}
}

func TestDecideSlurm(t *testing.T) {
	topo := topology{2, 1, 2, 1}
	cases := []struct {
		want, why string
		cpus      int
		mode      string
		n, code   int
	}{
		{ModeAuto, "", 0, ModeCgroup, 2, 0},
		{ModeAuto, "v2 only", 0, ModeLinuxproc, FakeCPUs, 0},
		{ModeAuto, "6 CPUs", 6, ModeLinuxproc, 6, 0},
		{ModeCgroup, "", 2, ModeCgroup, 2, 0},
		{ModeCgroup, "v2 only", 0, "", 0, fail.Missing},
		{ModeLinuxproc, "", 4, ModeLinuxproc, 4, 0},
		{"cgroups", "", 0, "", 0, fail.Usage},
	}
	for _, c := range cases {
		got, err := decideSlurm(c.want, c.cpus, topo, 1000, c.why)
		if fail.Code(err) != c.code || got.Mode != c.mode || got.CPUs != c.n {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
		if err == nil && got.Reason == "" {
			t.Errorf("%+v: no reason given", c)
		}
	}
}

func TestCgroupObstacle(t *testing.T) {
	root := t.TempDir()
	n := topology{cpus: runtime.NumCPU()}
	if got := cgroupObstacle(root, n, 0); !strings.Contains(got, "cpuset") {
		t.Errorf("no hierarchy: %q", got)
	}
	for _, c := range controllers {
		if err := os.MkdirAll(filepath.Join(root, c), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, c, "tasks"), "")
	}
	if got := cgroupObstacle(root, n, 0); got != "" {
		t.Errorf("version 1: %q", got)
	}
	if got := cgroupObstacle(root, n, n.cpus+1); !strings.Contains(got, "asked for") {
		t.Errorf("faked CPUs: %q", got)
	}
	if got := cgroupObstacle(root, topology{cpus: n.cpus + 1}, 0); !strings.Contains(got, "are ours") {
		t.Errorf("a part of the CPUs: %q", got)
	}
}

func TestSettings(t *testing.T) {
	l, err := Open(Lab{Dir: t.TempDir(), Talk: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := l.settings(); s != nil || err != nil {
		t.Errorf("no file: %v %v", s, err)
	}
	want := Settings{Schema, 3, flat(8).slurm(ModeLinuxproc, "asked for", 1), "trixie", "/r", time.Unix(1e9, 0).UTC()}
	if err := l.save(&want); err != nil {
		t.Fatal(err)
	}
	if got, err := l.settings(); err != nil || *got != want {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range []string{"", "{", "{}", `{"schema":"nearmetal/lab/v1","nodes":99}`, "\x00"} {
		if parseSettings([]byte(bad)) != nil {
			t.Errorf("%q is taken for settings", bad)
		}
	}
}

func TestDefaultDir(t *testing.T) {
	cases := []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"NEARMETAL_LAB_DIR": "/a", "HOME": "/h"}, "/a"},
		{map[string]string{"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/nearmetal/lab"},
		{map[string]string{"HOME": "/h"}, "/h/.cache/nearmetal/lab"},
		{map[string]string{}, ""},
	}
	for _, c := range cases {
		if got := DefaultDir(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%v: %q", c.env, got)
		}
	}
	if _, err := Open(Lab{}); fail.Code(err) != fail.Usage {
		t.Errorf("no directory: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Nodes: 0}, {Nodes: 17}, {Nodes: -1}, {Nodes: 2, CPUs: -1}, {Nodes: 1, CPUs: 5000}} {
		if fail.Code(o.check()) != fail.Usage {
			t.Errorf("%+v is taken", o)
		}
	}
	for _, s := range []string{"", "../x", "Trixie", "-x", "a b", "x'y", strings.Repeat("a", 40)} {
		if fail.Code(checkSuite(s)) != fail.Usage {
			t.Errorf("suite %q is taken", s)
		}
	}
}

func TestConflict(t *testing.T) {
	set := &Settings{Slurm: flat(8).slurm(ModeLinuxproc, "", 1), Suite: "trixie"}
	for _, o := range []Options{{Slurm: ModeCgroup}, {CPUs: 4}, {Suite: "bookworm"}} {
		if fail.Code(conflict(o, set)) != fail.Usage {
			t.Errorf("%+v is no conflict", o)
		}
	}
	for _, o := range []Options{{}, {Slurm: ModeAuto}, {Slurm: ModeLinuxproc, CPUs: 8, Suite: "trixie"}} {
		if err := conflict(o, set); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestHosts(t *testing.T) {
	text := hostsFile()
	if !strings.Contains(text, "10.77.0.1 head\n") || !strings.Contains(text, "10.77.0.26 n16\n") {
		t.Error(text)
	}
	got := string(mergeHosts("L\n", "127.0.0.1 localhost\n# c\n192.0.2.7\tmirror.example  m\n\n"))
	if got != "L\n192.0.2.7 mirror.example m\n" {
		t.Errorf("%q", got)
	}
}
