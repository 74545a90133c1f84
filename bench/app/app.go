// Package app measures any program by a metric that its user declares.
//
//	Definition (ready-made, or a YAML file) ──Cases──→ []bench.Case
//	output, wall time ──Parse──→ []bench.Sample
//
// A metric is the first group of a regular expression, a value of a JSON line,
// or the wall time of the launch. With scaling, the same case runs at several
// numbers of ranks, for efficiency (package compare).
package app

import (
	_ "embed" // the NEURON ring
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// Suite is the name of the samples' suite.
const Suite = "app"

// Kinds of scaling.
const (
	Strong = "strong" // the same problem on more ranks
	Weak   = "weak"   // the problem grows with the ranks: {ranks} in an argument
)

// Definition is a program with what its output means.
type Definition struct {
	Name    string         `yaml:"name"`    // benchmark of the samples
	About   string         `yaml:"about"`   // one line
	Program string         `yaml:"program"` // found on each arm's own PATH, or absolute
	Args    []string       `yaml:"args"`    // {ranks} is replaced; nothing is parsed by a shell
	Scaling string         `yaml:"scaling"` // strong, weak, or none
	Ranks   []int          `yaml:"ranks"`   // numbers of ranks, ascending
	Check   string         `yaml:"check"`   // regular expression that a right output matches
	Metrics []bench.Metric `yaml:"metrics"`
}

//go:embed ring.py
var neuronRing string

// Catalogue lists what is ready-made.
var Catalogue = []Definition{
	{
		Name: "neuron-ring", About: "NEURON (Debian python3-neuron): 8 rings of 8 multicompartment cells, 50 ms; spikes checked",
		Program: "python3", Args: []string{"-c", neuronRing, "8", "8", "50"}, Scaling: Strong, Ranks: []int{1, 2, 4},
		Check: `"cells": 64, "spikes": 144,`, Metrics: []bench.Metric{{Name: "solve", Unit: "s", JSON: "solve_s"}, {Name: "wall", Unit: "s"}},
	},
	{
		Name: "startup", About: "start of the program alone: container, loader, exit, without MPI",
		Program: "true", Ranks: []int{1, 2}, Metrics: []bench.Metric{{Name: "wall", Unit: "s"}},
	},
}

// Find gives a ready-made definition.
func Find(name string) (Definition, bool) {
	i := slices.IndexFunc(Catalogue, func(d Definition) bool { return d.Name == name })
	if i < 0 {
		return Definition{}, false
	}
	return Catalogue[i], true
}

// Names lists the catalogue.
func Names() (out []string) {
	for _, d := range Catalogue {
		out = append(out, d.Name)
	}
	return out
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\n\s*)?line (\d+): `)

// Read reads a definition's YAML; file is used in errors. An unknown key is an
// error with its line.
func Read(r io.Reader, file string) (Definition, error) {
	var d Definition
	dec := yaml.NewDecoder(io.LimitReader(r, 1<<20))
	dec.KnownFields(true)
	if err := dec.Decode(&d); err != nil && !errors.Is(err, io.EOF) {
		text := yamlLine.ReplaceAllString(err.Error(), "$1: ")
		return Definition{}, fail.Usagef("known keys: name, about, program, args, scaling, ranks, check, metrics (name, unit, regexp, json)",
			"%s:%s", file, strings.ReplaceAll(strings.TrimPrefix(text, "yaml: "), " in type app.Definition", ""))
	}
	if err := d.validate(); err != nil {
		return Definition{}, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

const example = "name: solver, program: ./solver, ranks: [1, 2, 4], metrics: [{name: solve, unit: s, regexp: 'time: ([0-9.]+)'}]"

// validate reports all faults at once.
func (d Definition) validate() error {
	var faults []string
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	add(d.Name == "" || strings.ContainsAny(d.Name, ":/\n\x00"), "name: %q is not a name", d.Name)
	add(d.Program == "", "program: missing")
	add(len(d.Metrics) == 0, "metrics: none")
	add(d.Scaling != "" && d.Scaling != Strong && d.Scaling != Weak, "scaling: %q is neither strong nor weak", d.Scaling)
	add(len(d.Ranks) == 0, "ranks: none")
	for i, n := range d.Ranks {
		add(n < 1 || i > 0 && n <= d.Ranks[i-1], "ranks: %v does not ascend from 1", d.Ranks)
	}
	if _, err := regexp.Compile(d.Check); err != nil {
		add(true, "check: %v", err)
	}
	for i, m := range d.Metrics {
		add(m.Name == "" || m.Unit == "", "metrics[%d]: a name and a unit are needed", i)
		add(m.Regexp != "" && m.JSON != "", "metrics[%d]: regexp or json, not both", i)
		re, err := regexp.Compile(m.Regexp)
		add(err != nil, "metrics[%d]: regexp: %v", i, err)
		add(err == nil && m.Regexp != "" && re.NumSubexp() < 1, "metrics[%d]: regexp has no group for the number", i)
	}
	if len(faults) > 0 {
		return fail.Usagef(example, "%s", strings.Join(faults, "; "))
	}
	return nil
}

// Cases lays the numbers of ranks out over the nodes of an allocation: as many
// on each node as the largest number needs. A number that does not divide is
// an error.
func (d Definition) Cases(nodes int) ([]bench.Case, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	perNode := max(1, (d.Ranks[len(d.Ranks)-1]+nodes-1)/nodes)
	var out []bench.Case
	for _, n := range d.Ranks {
		on := (n + perNode - 1) / perNode
		if n%on != 0 {
			return nil, fail.Usagef("ranks: numbers that "+strconv.Itoa(on)+" nodes share evenly", "%s: %d ranks on %d nodes", d.Name, n, on)
		}
		out = append(out, d.at(n, on))
	}
	return out, nil
}

func (d Definition) at(ranks, nodes int) bench.Case {
	args := make([]string, len(d.Args))
	for i, a := range d.Args {
		args[i] = strings.ReplaceAll(a, "{ranks}", strconv.Itoa(ranks))
	}
	return bench.Case{
		Suite: Suite, Name: d.Name + ": " + Shape(nodes, ranks), Nodes: nodes, Ranks: ranks, Program: d.Program, Args: args,
		App: &bench.App{Name: d.Name, Scaling: d.Scaling, Check: d.Check, Metrics: d.Metrics},
	}
}

// Shape is "1 node, 2 ranks".
func Shape(nodes, ranks int) string {
	return count(nodes, "node") + ", " + count(ranks, "rank")
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
