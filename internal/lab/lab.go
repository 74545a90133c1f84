package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
)

// MaxNodes is how many compute nodes a lab may have.
const MaxNodes = 16

// Head is the name of the login node, which runs slurmctld.
const Head = "head"

// Lab is one cluster, known by its directory.
//
//	DIR/lab.json   settings of the running lab
//	DIR/lock       held by up, down and base
//	DIR/run/NODE   upper and work directory of each node's overlay
//	DIR/run/etc    /etc/slurm of every node
//	DIR/home       /home, kept when the lab goes down
//	DIR/shared     /shared, kept when the lab goes down
//	CACHE/roots    root filesystems of the nodes, named by digest
//	CACHE/bases    base directories for image builds (/shared/bases)
type Lab struct {
	Dir   string        // absolute, symlinks resolved
	Cache string        // absolute; where root filesystems are kept
	Self  string        // the program to start again as a node's init
	Talk  io.Writer     // progress for people
	Run   runner.Runner // for what the host's programs do
	Rand  io.Reader     // for the munge key
	Now   func() time.Time
}

// Open makes the directories and gives the lab that lives there; an empty
// cache is the directory itself.
func Open(l Lab) (*Lab, error) {
	var err error
	if l.Dir, err = ensureDir(l.Dir); err != nil {
		return nil, err
	}
	if l.Cache == "" {
		l.Cache = l.Dir
	}
	if l.Cache, err = ensureDir(l.Cache); err != nil {
		return nil, err
	}
	return &l, nil
}

func ensureDir(dir string) (string, error) {
	if dir == "" {
		return "", fail.Usagef("nearmetal-lab up --dir DIR", "no lab directory given")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", fail.New(fail.Failed, "nearmetal-lab up --dir DIR (a directory that you may write)", "lab directory: %w", err)
	}
	return filepath.EvalSymlinks(abs)
}

// DefaultDir is where a lab lives when no directory is given.
func DefaultDir(getenv func(string) string) string {
	if d := getenv("NEARMETAL_LAB_DIR"); d != "" {
		return d
	}
	base := getenv("XDG_CACHE_HOME")
	if base == "" && getenv("HOME") != "" {
		base = filepath.Join(getenv("HOME"), ".cache")
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "nearmetal", "lab")
}

// ID is the lab's mark in its processes' environment, from its directory.
func (l *Lab) ID() string {
	sum := sha256.Sum256([]byte(l.Dir))
	return hex.EncodeToString(sum[:6])
}

func (l *Lab) path(parts ...string) string {
	return filepath.Join(append([]string{l.Dir}, parts...)...)
}

func (l *Lab) say(format string, args ...any) {
	fmt.Fprintf(l.Talk, format+"\n", args...)
}

// NodeName is the name of the i-th compute node, from 1.
func NodeName(i int) string { return fmt.Sprintf("n%d", i) }

// addr gives a node's address in the lab's own network.
func addr(i int) string {
	if i == 0 {
		return "10.77.0.1"
	}
	return fmt.Sprintf("10.77.0.%d", 10+i)
}

// names lists head and n compute nodes; the index is the node's number.
func names(n int) []string {
	out := []string{Head}
	for i := 1; i <= n; i++ {
		out = append(out, NodeName(i))
	}
	return out
}

// hostsFile lists every node a lab may have, so that it never changes when the
// lab grows.
func hostsFile() string {
	s := "127.0.0.1 localhost\n"
	for i, name := range names(MaxNodes) {
		s += addr(i) + " " + name + "\n"
	}
	return s
}
