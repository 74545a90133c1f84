package check

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Checks are the catalogue's entries ordered by code.
func (d *Doctor) Checks() []Check {
	out := slices.Clone(d.checks)
	slices.SortFunc(out, func(a, b Check) int { return cmp.Compare(a.Code, b.Code) })
	return out
}

// Explain writes all that is known of a check.
func Explain(w io.Writer, c Check, s TextStyle) error {
	p := &printer{w: w, style: s}
	p.line("", fmt.Sprintf("%s  %s  (%s, %s)", c.Code, p.paint("1", c.Key), c.Layer, c.Severity))
	p.wrap("", "%s", c.Title)
	p.line("", "")
	p.wrap("", "%s", c.Cause)
	p.wrap("", "If left: %s.", strings.TrimSuffix(c.Breaks, "."))
	for _, f := range c.Fix {
		p.line("fix    ", fmt.Sprintf("[%s] %s", f.Role, f.Command))
	}
	if c.Apart != "" {
		p.line("tell apart  ", c.Apart)
	}
	for _, r := range c.Rules {
		for _, l := range r.All {
			p.line("looks for  ", l.Re)
		}
	}
	if c.Live != nil {
		p.line("looks for  ", "facts of the nodes (nearmetal doctor -N nodes)")
	}
	if len(c.DependsOn) > 0 && c.DependsOn[0] != any {
		p.wrap("", "Follows from: %s", strings.Join(c.DependsOn, ", "))
	}
	p.line("more   ", c.Source)
	return p.err
}
