package slurm

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// maxString is what the kernel takes for one argument or one NAME=value:
// MAX_ARG_STRLEN, 32 pages with the final NUL (execve(2)).
const maxString = 128*1024 - 1

// Validate says what in a plan cannot be carried out. Errors have exit code 2.
func (p Plan) Validate() error {
	for _, check := range []func() error{p.validateShape, p.validateProgram, p.validateEnv, p.validateTarget, p.validateOptions} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p Plan) validateShape() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"nodes", p.Nodes}, {"ranks", p.Ranks}, {"ranks per node", p.PerNode}, {"CPUs per task", p.CPUsPerTask}} {
		if n.value < 0 {
			return fail.Usagef("", "%d %s: a number above 0 is needed", n.value, n.name)
		}
	}
	if p.Nodes > 0 && p.Ranks > 0 && p.Ranks < p.Nodes {
		return fail.Usagef(fmt.Sprintf("-N %d -n %d", p.Nodes, p.Nodes), "%d ranks cannot be spread over %d nodes", p.Ranks, p.Nodes)
	}
	return nil
}

func (p Plan) validateProgram() error {
	if len(p.Program) == 0 || p.Program[0] == "" {
		return fail.Usagef("nearmetal run -N 2 -n 2 -- hostname", "no program to run")
	}
	for i, a := range p.Program {
		if err := p.validString(fmt.Sprintf("argument %d", i), a); err != nil {
			return err
		}
	}
	return nil
}

func (p Plan) validateEnv() error {
	for _, e := range p.Env {
		if !isName(e.Name) {
			return fail.Usagef("a name is letters, digits and _, and does not begin with a digit", "environment variable %q: not a name", e.Name)
		}
		if e.Name == "HOME" && p.Target.Kind == Container {
			return fail.Usagef("--option --home=DIR", "environment variable HOME: Apptainer sets it itself")
		}
		if err := p.validString("environment variable "+e.Name, e.Name+"="+e.Value); err != nil {
			return err
		}
	}
	return nil
}

func (p Plan) validateTarget() error {
	t := p.Target
	switch t.Kind {
	case Native:
		return validWords("module", t.Modules)
	case Container:
		if err := validPath("image", t.Image); err != nil {
			return err
		}
		if err := t.Start.validate(); err != nil {
			return err
		}
		return p.validateBinds()
	case Unpacked:
		for _, f := range []struct{ what, path string }{{"unpacked root", t.Root}, {"loader", t.Loader}, {"MPI prefix", t.Prefix}} {
			if err := validPath(f.what, f.path); err != nil {
				return err
			}
		}
		return nil
	}
	return fail.Usagef("", "target %q: want native, container or unpacked", t.Kind)
}

func (p Plan) validateBinds() error {
	for _, b := range p.Binds {
		if err := validBindPath("bind source", b.Source); err != nil {
			return err
		}
		if b.Dest == "" {
			continue
		}
		if err := validBindPath("bind destination", b.Dest); err != nil {
			return err
		}
	}
	return nil
}

// validateOptions looks at values that Slurm reads: one line each, and in
// scripts a word of an #SBATCH line.
func (p Plan) validateOptions() error {
	for _, o := range []struct{ name, value string }{
		{"job name", p.JobName}, {"partition", p.Partition}, {"account", p.Account}, {"QOS", p.QOS},
		{"MPI plugin", p.MPI}, {"CPU binding", p.CPUBind}, {"GPU binding", p.GPUBind},
		{"GPUs per node", p.GPUsPerNode}, {"distribution", p.Distrib}, {"node list", strings.Join(p.NodeList, ",")},
	} {
		if i := strings.IndexFunc(o.value, func(r rune) bool { return r < 0x20 || r == 0x7f }); i >= 0 {
			return fail.Usagef("", "%s %q: control characters are not allowed", o.name, o.value)
		}
	}
	for _, s := range append(append([]string{p.Workdir}, p.SrunOptions...), p.Target.Options...) {
		if err := validString("option", s); err != nil {
			return err
		}
	}
	return nil
}

// validString also holds what Apptainer carries: its configuration is JSON,
// which replaces bytes that are not UTF-8 (seen with 1.4.5).
func (p Plan) validString(what, s string) error {
	if p.Target.Kind == Container && !utf8.ValidString(s) {
		return fail.Usagef("put it into a file and pass the file's name", "%s: %.40q is not UTF-8; Apptainer cannot carry it", what, s)
	}
	return validString(what, s)
}

// validBindPath holds what an apptainer bind carries: its CSV reader turns
// carriage returns with newlines into newlines.
func validBindPath(what, s string) error {
	if !utf8.ValidString(s) || strings.Contains(s, "\r") {
		return fail.Usagef("rename it, or bind a directory above it", "%s %q: Apptainer cannot carry carriage returns, nor bytes that are not UTF-8", what, s)
	}
	return validPath(what, s)
}

func validPath(what, s string) error {
	if !path.IsAbs(s) {
		return fail.Usagef("", "%s %q: an absolute path is needed", what, s)
	}
	return validString(what, s)
}

func validWords(what string, words []string) error {
	for _, w := range words {
		if w == "" || strings.HasPrefix(w, "-") || strings.ContainsFunc(w, func(r rune) bool { return r <= 0x20 || r == 0x7f }) {
			return fail.Usagef("", "%s %q: not a name", what, w)
		}
	}
	return nil
}

func validString(what, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return fail.Usagef("", "%s: a NUL byte cannot be passed to a program", what)
	}
	if len(s) > maxString {
		return fail.Usagef("put it into a file and pass the file's name",
			"%s: %d bytes; Linux takes at most %d in one argument or variable", what, len(s), maxString)
	}
	return nil
}

// isName is POSIX's name: what every shell and Apptainer keep.
func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
