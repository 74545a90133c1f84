package spack

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Places inside the build stage. Install and View are the image's too.
const (
	Tree    = "/opt/nearmetal/spack"  // Spack itself
	EnvDir  = "/opt/nearmetal/env"    // spack.yaml and spack.lock
	Repos   = "/opt/nearmetal/repos"  // overlay repositories, one folder each
	Mirror  = "/opt/nearmetal/mirror" // sources of --mirror
	Install = "/opt/spack"            // install tree: relocated by nobody, so the image has the same path
	View    = "/opt/view"             // links into Install
)

// Environment is what spack.yaml says.
type Environment struct {
	Version  string   // of Spack, as in 0.23 or 1.0
	Stack    []Piece  // MPI first
	Specs    []string // more root specs, applications for one
	Variants map[string]string
	Target   string  // by archspec's names; "" is Spack's choice, the build machine's
	Compiler string  // as in gcc@12.2.0; "" is Spack's choice
	Repos    []Named // overlay repositories by their folders, the strongest first
	Mirrors  []Named // in the order that they are asked
	External []Named // specs of what the base has, with its prefix
}

// Named is a repository, mirror or build cache.
type Named struct {
	Name string
	URL  string // a folder for a repository
}

// Specs gives the root specs of a stack: MPI first, each with the variants that
// the catalogue asks for this company.
func (c Catalogue) Specs(stack []Piece, more map[string]string) []string {
	var out []string
	for _, p := range stack {
		s, _ := c.Find(p.Name)
		if s.Package == "" {
			continue
		}
		spec := s.Package
		if p.Version != "" {
			spec += "@" + p.Version
		}
		if v := c.variants(s, p, stack, more[p.Name]); v != "" {
			spec += " " + v
		}
		out = append(out, spec)
	}
	return out
}

func (c Catalogue) variants(s Software, p Piece, stack []Piece, more string) string {
	words := slices.Clone(s.Variants)
	for _, w := range s.With {
		if p.Version != "" && !contains(w.When, p.Version) {
			continue
		}
		if has(stack, w.Has) {
			words = append(words, strings.Fields(w.Variants)...)
		} else {
			words = append(words, strings.Fields(w.Else)...)
		}
	}
	return strings.Join(merge(append(words, strings.Fields(more)...)), " ")
}

// merge joins the values of a variant that comes more than once (fabrics=ucx
// and fabrics=ofi), and lets the last word win where it is on or off.
func merge(words []string) []string {
	var names []string
	last := map[string]string{}
	for _, w := range words {
		name, value, many := strings.Cut(w, "=")
		name = strings.TrimLeft(name, "+~")
		old, seen := last[name]
		if !seen {
			names = append(names, name)
		}
		if many && seen {
			w = name + "=" + union(strings.TrimPrefix(old, name+"="), value)
		}
		last[name] = w
	}
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = last[n]
	}
	return out
}

func union(a, b string) string {
	list := strings.Split(a, ",")
	for _, v := range strings.Split(b, ",") {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// Render writes spack.yaml. The same environment gives the same bytes. Spack
// 0.22 to 1.x read it: what is said here has the same form in all of them.
func (c Catalogue) Render(e Environment) (string, error) {
	require := []string{}
	if e.Compiler != "" {
		require = append(require, "%"+e.Compiler)
	}
	if e.Target != "" {
		require = append(require, "target="+e.Target)
	}
	specs := append(c.Specs(e.Stack, e.Variants), e.Specs...)
	body := list(
		"specs", specs,
		"concretizer", list("unify", true, "reuse", false),
		"view", View,
		"config", list(
			"install_tree", list("root", Install),
			"build_stage", []string{"/dev/shm/nearmetal-stage", "/tmp/nearmetal-stage"},
			"source_cache", "/tmp/nearmetal-sources",
		),
	)
	if packages := e.packages(require); len(packages.Content) > 0 {
		body.Content = append(body.Content, list("packages", packages).Content...)
	}
	if len(e.Repos) > 0 {
		body.Content = append(body.Content, list("repos", e.repos()).Content...)
	}
	if len(e.Mirrors) > 0 {
		mirrors := list()
		for _, m := range e.Mirrors {
			mirrors.Content = append(mirrors.Content, list(m.Name, m.URL).Content...)
		}
		body.Content = append(body.Content, list("mirrors", mirrors).Content...)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(list("spack", body)); err != nil {
		return "", fmt.Errorf("spack.yaml: %w", err)
	}
	return b.String(), nil
}

// packages says what all of them require and what the base has already.
func (e Environment) packages(require []string) *yaml.Node {
	out := list()
	if len(require) > 0 {
		out = list("all", list("require", []string{strings.Join(require, " ")}))
	}
	for _, x := range e.External {
		name, _, _ := strings.Cut(x.Name, "@")
		externals := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{list("spec", x.Name, "prefix", x.URL)}}
		out.Content = append(out.Content, list(name, list("externals", externals, "buildable", false)).Content...)
	}
	return out
}

// repos is a list up to 0.23 and a mapping by name from 1.0 on, where the
// builtin packages are a repository of their own (spack-packages).
func (e Environment) repos() any {
	if Compare(e.Version, "1") >= 0 {
		m := list()
		for _, r := range e.Repos {
			m.Content = append(m.Content, list(r.Name, r.URL).Content...)
		}
		return m
	}
	var out []string
	for _, r := range e.Repos {
		out = append(out, r.URL)
	}
	return out
}

// quoteTexts puts every value in quotes, so that no spec is ever read as a
// number, a flag or a mapping.
func quoteTexts(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Style = yaml.SingleQuotedStyle
	}
	for _, c := range n.Content {
		quoteTexts(c)
	}
}

// list makes a mapping whose keys keep their order.
func list(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		var k, v yaml.Node
		_ = k.Encode(pairs[i]) // plain values only: they encode
		if node, ok := pairs[i+1].(*yaml.Node); ok {
			v = *node
		} else {
			_ = v.Encode(pairs[i+1])
			quoteTexts(&v)
		}
		n.Content = append(n.Content, &k, &v)
	}
	return n
}
