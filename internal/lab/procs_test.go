package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
)

func readTestdata(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestScan uses a made-up /proc with a real status file.
func TestScan(t *testing.T) {
	status := readTestdata(t, "status-node.txt")
	edit := func(old, now string) []byte { return bytes.Replace(status, []byte(old), []byte(now), 1) }
	nspid := func() string {
		for _, l := range strings.Split(string(status), "\n") {
			if strings.HasPrefix(l, "NSpid:") {
				return l
			}
		}
		t.Fatal("no NSpid in the fixture")
		return ""
	}()
	mark := func(node string) []byte {
		return []byte("A=b\x00" + markID + "=x\x00" + markDir + "=/lab\x00" + markNode + "=" + node + "\x00")
	}
	root := t.TempDir()
	for pid, p := range map[string]struct{ env, status []byte }{
		"10":   {mark("n1"), status},
		"11":   {mark("n1"), edit(nspid, "NSpid:\t11\t7")}, // somebody's copy of the environment inside the node
		"12":   {mark("n1"), edit(nspid, "NSpid:\t12")},    // the same outside
		"13":   {mark("n2"), edit("Uid:\t0\t0\t0\t0", "Uid:\t1000\t1000\t1000\t1000")},
		"14":   {mark("n2"), edit("State:\tS", "State:\tZ")},
		"15":   {mark(fabric), edit(nspid, "NSpid:\t15")},
		"16":   {[]byte("A=b\x00"), status},
		"self": {mark("n1"), status},
	} {
		dir := filepath.Join(root, pid)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "environ"), string(p.env))
		write(t, filepath.Join(dir, "cmdline"), "/usr/bin/tini\x00-g\x00")
		write(t, filepath.Join(dir, "status"), string(p.status))
	}
	got, err := scan(root)
	want := []proc{{10, "x", "/lab", "n1", true}, {15, "x", "/lab", fabric, true}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
}

// A process that is none of the lab's is left alone, whatever its number was.
func TestEndSparesStrangers(t *testing.T) {
	stranger := proc{pid: os.Getpid(), id: "x", dir: "/lab", node: "n1"}
	if err := end(context.Background(), []proc{stranger}); err != nil {
		t.Error(err)
	}
}

func TestUsers(t *testing.T) {
	root := fstest.MapFS{
		"etc/passwd": {Data: []byte("root:x:0:0:root:/root:/bin/bash\nbroken\nalice:x:1000:1000::/home/alice:/bin/sh\nevil:x:-1:0::/:/bin/sh\n")},
		"etc/group":  {Data: []byte("root:x:0:\nvideo:x:44:bob,alice\nali:x:45:malice\nalice:x:1000:alice\n")},
	}
	u, err := lookupUser(root, "alice")
	if err != nil || u.uid != 1000 || u.home != "/home/alice" || !slices.Equal(u.groups, []uint32{1000, 44}) {
		t.Errorf("%+v %v", u, err)
	}
	for _, bad := range []string{"mallory", "evil", "broken", ""} {
		if _, err := lookupUser(root, bad); fail.Code(err) != fail.Usage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	getenv := func(k string) string {
		return map[string]string{"TERM": "xterm", "http_proxy": "http://p", "SECRET": "s"}[k]
	}
	u := user{name: "alice", home: "/home/alice", uid: 1000}
	got := environment(u, false, []string{"HOME=/elsewhere", "A=1", "A=2"}, getenv)
	for _, want := range []string{"TERM=xterm", "HOME=/elsewhere", "A=2", "USER=alice"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	joined := strings.Join(got, "\n")
	for _, leak := range []string{"SECRET", "http_proxy", "A=1", "HOME=/home/alice"} {
		if strings.Contains(joined, leak) {
			t.Errorf("%s in %q", leak, got)
		}
	}
	if !slices.Contains(environment(u, true, nil, getenv), "http_proxy=http://p") {
		t.Error("the proxy does not come with the machine's network")
	}
	for _, bad := range []string{"", "A", "=x", "A=\x00"} {
		if fail.Code(checkEnv([]string{bad})) != fail.Usage {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestNodeStates(t *testing.T) {
	procs := map[string]proc{Head: {pid: 5}, "n1": {pid: 6}, "n3": {pid: 7}}
	got := nodeStates(3, procs, parseSinfo("n1 idle\nn2 idle*\n\nn3 mixed\n"))
	var states []string
	for _, n := range got {
		states = append(states, n.State)
	}
	if !slices.Equal(states, []string{"login", "idle", "gone", "mixed"}) {
		t.Errorf("%v", states)
	}
	if bad := wholeNodes(got); bad != "n2 is gone" {
		t.Errorf("%q", bad)
	}
	if bad := wholeNodes(nodeStates(1, procs, nil)); bad != "head is no slurmctld" {
		t.Errorf("%q", bad)
	}
}

func TestAwaitReady(t *testing.T) {
	if _, ok := awaitReady(strings.NewReader("warning\n" + readyLine + "\n")); !ok {
		t.Error("the ready line is not seen")
	}
	if said, ok := awaitReady(strings.NewReader("mount: no\n")); ok || said != "mount: no" {
		t.Errorf("%q %v", said, ok)
	}
	if said, ok := awaitReady(strings.NewReader("")); ok || said == "" {
		t.Errorf("%q %v", said, ok)
	}
}

func TestTail(t *testing.T) {
	tl := &tail{max: 2}
	for _, s := range []string{"a\nb", "b\nc\nd", "d"} {
		if n, err := tl.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if tl.String() != "bb\nc\ndd" {
		t.Errorf("%q", tl)
	}
}

func TestLockWaitsAndGivesUp(t *testing.T) {
	l := &Lab{Talk: io.Discard}
	path := filepath.Join(t.TempDir(), "lock")
	release, err := l.lock(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Millisecond)
	defer cancel()
	if _, err := l.lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("held lock: %v", err)
	}
	release()
	again, err := l.lock(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestReadableOpensAll(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "dev/pts"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "secret"), "x")
	if err := os.Chmod(filepath.Join(root, "secret"), 0o4600); err != nil {
		t.Fatal(err)
	}
	if err := finishRoot(RootSpec{Kind: "base"}, root); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(root, "secret")); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	if dev, err := os.ReadDir(filepath.Join(root, "dev")); err != nil || len(dev) != 0 {
		t.Errorf("/dev holds %v, %v", dev, err)
	}
}

func TestListens(t *testing.T) {
	table := "  sl  local_address rem_address   st\n   0: 00000000:1AA1 00000000:0000 0A 00000000:00000000\n   1: 0100007F:1AA2 00000000:0000 01 0\n"
	if !listens(table, ":1AA1") || listens(table, ":1AA2") || listens(table, ":1AA3") || listens("", ":1AA1") {
		t.Error("listening ports are misread")
	}
}

func TestStand(t *testing.T) {
	ready, unready := stand(map[string]proc{"n1": {pid: 1, ready: true}, "n2": {pid: 2}})
	if len(ready) != 1 || ready["n1"].pid != 1 || len(unready) != 1 || unready[0].pid != 2 {
		t.Errorf("%v %v", ready, unready)
	}
}

func TestMemory(t *testing.T) {
	if got := parseMemory("MemTotal:       16777216 kB\n"); got != 14745 {
		t.Error(got)
	}
	if got := parseMemory("MemTotal: lots\n"); got != 1000 {
		t.Error(got)
	}
}
