//go:build lab

package labtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cluster is the lab that the tests run on.
type cluster struct {
	dir, image, bin string
	shared          string // /shared of the nodes, on this machine
}

func open(t *testing.T) cluster {
	t.Helper()
	c := cluster{dir: os.Getenv("NEARMETAL_LAB_DIR"), image: os.Getenv("NEARMETAL_LAB_IMAGE"), bin: os.Getenv("NEARMETAL_BIN")}
	if c.dir == "" || c.image == "" {
		t.Fatal("NEARMETAL_LAB_DIR and NEARMETAL_LAB_IMAGE name a lab that is up and an image in it: make lab-test sets them")
	}
	if c.bin == "" {
		c.bin = filepath.Join("..", "..", "bin")
	}
	c.shared = filepath.Join(c.dir, "shared")
	c.build(t, "./argdump", "argdump")
	return c
}

// build puts a small static program into the lab's /shared/bin.
func (c cluster) build(t *testing.T, pkg, name string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", filepath.Join(c.shared, "bin", name), pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
}

// done is what a command in the lab gave.
type done struct {
	out, err string
	code     int
}

// alice runs a command on the head node as the ordinary user.
func (c cluster) alice(t *testing.T, argv ...string) done {
	t.Helper()
	return c.on(t, "head", argv...)
}

func (c cluster) on(t *testing.T, node string, argv ...string) done {
	t.Helper()
	args := append([]string{"exec", "--dir", c.dir, "--user", "alice", node, "--"}, argv...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.bin, "nearmetal-lab"), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return done{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// must fails the test when the command failed.
func (c cluster) must(t *testing.T, argv ...string) string {
	t.Helper()
	d := c.alice(t, argv...)
	if d.code != 0 {
		t.Fatalf("%s: exit code %d\n%s%s", strings.Join(argv, " "), d.code, d.out, d.err)
	}
	return d.out
}

const nearmetal = "/shared/bin/nearmetal"

// folder makes a fresh directory that alice may write, the same on all nodes.
func (c cluster) folder(t *testing.T) string {
	t.Helper()
	out := strings.TrimSpace(c.must(t, "mktemp", "-d", "/shared/runs/"+t.Name()+"-XXXXXX"))
	t.Cleanup(func() { os.RemoveAll(filepath.Join(c.shared, strings.TrimPrefix(out, "/shared/"))) })
	return out
}

// host gives the path on this machine of a path below the nodes' /shared.
func (c cluster) host(path string) string {
	return filepath.Join(c.shared, strings.TrimPrefix(path, "/shared/"))
}
