package spack

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Lock is what a spack.lock says.
type Lock struct {
	Spack string // version that made it; "" when it does not say (before 0.22)
	Roots []string
	Nodes map[string]Node // by hash
}

// Node is one package of a lock.
type Node struct {
	Name     string
	Version  string
	Hash     string
	OS       string // as in debian12
	Target   string // as in x86_64_v3
	Compiler string // as in gcc@12.2.0; "" where it is a dependency (Spack 1.0)
	External bool   // not built: the base has it
	Needs    []Need
}

// Need is one dependency.
type Need struct {
	Hash  string
	Types []string // build, link, run, test
}

type lockFile struct {
	Meta struct {
		Type    string `json:"file-type"`
		Version int    `json:"lockfile-version"`
	} `json:"_meta"`
	Spack struct {
		Version string `json:"version"`
	} `json:"spack"`
	Roots []struct {
		Hash string `json:"hash"`
		Spec string `json:"spec"`
	} `json:"roots"`
	Nodes map[string]lockNode `json:"concrete_specs"`
}

type lockNode struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Arch    struct {
		OS     string          `json:"platform_os"`
		Target json.RawMessage `json:"target"` // a name, or {"name": …} of the build machine's own
	} `json:"arch"`
	Compiler struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"compiler"`
	External json.RawMessage `json:"external"`
	Needs    []lockNeed      `json:"dependencies"`
}

type lockNeed struct {
	Name       string `json:"name"`
	Hash       string `json:"hash"`
	Parameters struct {
		Types []string `json:"deptypes"`
	} `json:"parameters"`
}

// maxLock bounds what ReadLock reads, in bytes.
const maxLock = 64 << 20

// ReadLock reads a spack.lock (lockfile-version 5 and 6: Spack 0.22 to 1.x). A
// lock without roots, with a root or dependency that is not in it or that goes
// in a circle is an error.
func ReadLock(r io.Reader) (Lock, error) {
	var f lockFile
	if err := json.NewDecoder(io.LimitReader(r, maxLock)).Decode(&f); err != nil {
		return Lock{}, fmt.Errorf("not a spack.lock: %w", err)
	}
	if f.Meta.Type != "spack-lockfile" {
		return Lock{}, fmt.Errorf("not a spack.lock: file-type is %q", f.Meta.Type)
	}
	if f.Meta.Version < 5 {
		return Lock{}, fmt.Errorf("spack.lock of version %d: Spack 0.22 or newer writes version 5", f.Meta.Version)
	}
	l := Lock{Spack: f.Spack.Version, Nodes: map[string]Node{}}
	for hash, n := range f.Nodes {
		l.Nodes[hash] = n.node(hash)
	}
	for _, r := range f.Roots {
		l.Roots = append(l.Roots, r.Hash)
	}
	_, err := l.Order()
	if err == nil && len(l.Roots) == 0 {
		err = fmt.Errorf("spack.lock without roots")
	}
	return l, err
}

func (n lockNode) node(hash string) Node {
	out := Node{Name: n.Name, Version: n.Version, Hash: hash, OS: n.Arch.OS, Target: targetName(n.Arch.Target)}
	out.External = len(n.External) > 0 && string(n.External) != "null"
	if n.Compiler.Name != "" {
		out.Compiler = n.Compiler.Name + "@" + n.Compiler.Version
	}
	for _, d := range n.Needs {
		out.Needs = append(out.Needs, Need{d.Hash, d.Parameters.Types})
	}
	return out
}

func targetName(raw json.RawMessage) string {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return name
	}
	var full struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &full) // neither form: no name
	return full.Name
}

// Order gives the packages so that each comes after what it needs; those that
// are ready at the same time by their names.
func (l Lock) Order() ([]Node, error) {
	var out []Node
	state := map[string]int{} // 1 being visited, 2 done
	var visit func(hash string) error
	visit = func(hash string) error {
		n, ok := l.Nodes[hash]
		switch {
		case !ok:
			return fmt.Errorf("spack.lock: package %.12q is not in it", hash)
		case state[hash] == 1:
			return fmt.Errorf("spack.lock: %s needs itself", n.Name)
		case state[hash] == 2:
			return nil
		}
		state[hash] = 1
		for _, d := range n.Needs {
			if err := visit(d.Hash); err != nil {
				return err
			}
		}
		state[hash] = 2
		out = append(out, n)
		return nil
	}
	for _, hash := range l.sorted() {
		if err := visit(hash); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sorted gives the roots and what nothing else leads to, by name and hash.
func (l Lock) sorted() []string {
	hashes := slices.Clone(l.Roots)
	for h := range l.Nodes {
		if !slices.Contains(hashes, h) {
			hashes = append(hashes, h)
		}
	}
	slices.SortFunc(hashes, func(a, b string) int {
		return strings.Compare(l.Nodes[a].Name+" "+a, l.Nodes[b].Name+" "+b)
	})
	return hashes
}

// Closure gives the packages that a running image needs: the roots and, from
// there, all link and run dependencies, by name.
func (l Lock) Closure() []Node {
	keep := map[string]bool{}
	var walk func(string)
	walk = func(h string) {
		if keep[h] {
			return
		}
		keep[h] = true
		for _, d := range l.Nodes[h].Needs {
			if slices.Contains(d.Types, "link") || slices.Contains(d.Types, "run") {
				walk(d.Hash)
			}
		}
	}
	for _, r := range l.Roots {
		walk(r)
	}
	var out []Node
	for _, h := range l.sorted() {
		if keep[h] {
			out = append(out, l.Nodes[h])
		}
	}
	return out
}

// Version gives the locked version of a package; "" when it is not there. Two
// of a name are told apart by nobody: the roots' environment is unified.
func (l Lock) Version(name string) string {
	for _, h := range l.sorted() {
		if l.Nodes[h].Name == name {
			return l.Nodes[h].Version
		}
	}
	return ""
}
