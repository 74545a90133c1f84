package defs

import (
	"regexp"
	"slices"
	"strings"
)

// Objection is what an expert says against a definition for MPI and GPU use
// under Slurm.
type Objection struct {
	Code   string `json:"code"`
	Line   int    `json:"line"` // of the definition
	Text   string `json:"text"` // what stands there, shortened
	Reason string `json:"reason"`
	Change string `json:"change"`
}

// lintRule finds one thing in a definition; the first place that it finds counts.
type lintRule struct {
	code   string
	reason string
	change string
	find   func(*lintView) (lintLine, bool)
}

// Lint gives the objections in the order of the lines.
func Lint(stages []Stage) []Objection {
	v := newLintView(stages)
	var out []Objection
	for _, r := range lintRules {
		if at, found := r.find(v); found {
			out = append(out, Objection{r.code, at.n, clip(strings.TrimSpace(at.text)), r.reason, r.change})
		}
	}
	slices.SortStableFunc(out, func(a, b Objection) int { return a.Line - b.Line })
	return out
}

// LintCodes lists what Lint may object to.
func LintCodes() []string {
	out := make([]string, len(lintRules))
	for i, r := range lintRules {
		out[i] = r.code
	}
	return out
}

// lintLine is one logical line: continued lines joined, remarks taken off,
// plain variables put in.
type lintLine struct {
	n    int
	text string
}

// lintView is a definition as the rules look at it.
type lintView struct {
	stages []Stage
	last   Stage
	post   []lintLine // of all stages
	final  []lintLine // of the last one, with the %post of a stage it is made on
	run    []lintLine // %runscript and %startscript of the last one
	env    []lintLine // %environment
	files  []lintLine
	args   map[string]string // %arguments
}

func newLintView(stages []Stage) *lintView {
	v := &lintView{stages: stages, last: stages[len(stages)-1], args: arguments(stages)}
	vars := map[string]string{}
	for _, s := range stages {
		post := v.lines(s, vars, "post")
		v.post = append(v.post, post...)
		v.files = append(v.files, v.lines(s, nil, "files")...)
		v.final = post
	}
	v.run = v.lines(v.last, vars, "runscript", "startscript")
	v.env = v.lines(v.last, vars, "environment")
	return v
}

// arguments are the values that a definition gives to its {{ names }} itself.
func arguments(stages []Stage) map[string]string {
	out := map[string]string{}
	for _, s := range stages {
		for _, line := range strings.Split(s.Script("arguments"), "\n") {
			if k, val, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				out[strings.TrimSpace(k)] = strings.TrimSpace(val)
			}
		}
	}
	return out
}

var (
	argumentRE = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
	assignRE   = regexp.MustCompile(`(?:^\s*|[;&]\s*|\bexport\s+)([A-Za-z_]\w*)=("[^"]*"|'[^']*'|[^\s;&]*)`)
	variableRE = regexp.MustCompile(`\$\{?([A-Za-z_]\w*)\}?`)
)

func (v *lintView) expand(s string) string {
	return argumentRE.ReplaceAllStringFunc(s, func(m string) string {
		if val, ok := v.args[argumentRE.FindStringSubmatch(m)[1]]; ok {
			return val
		}
		return m
	})
}

// lines joins continued lines and puts plain variables in where they are
// known; vars keeps them from one section to the next.
func (v *lintView) lines(s Stage, vars map[string]string, names ...string) []lintLine {
	var out []lintLine
	for _, sec := range s.Sections {
		if !slices.Contains(names, sec.Name) {
			continue
		}
		cont := false
		for i, text := range strings.Split(sec.Text, "\n") {
			text, more := strings.CutSuffix(strings.TrimRight(text, " \t\r"), `\`)
			if strings.HasPrefix(strings.TrimSpace(text), "#") || !cont && strings.TrimSpace(text) == "" {
				continue // a remark does not end a continued line for a reader
			}
			if cont {
				out[len(out)-1].text += " " + text
			} else {
				out = append(out, lintLine{sec.Line + 1 + i, text})
			}
			cont = more
		}
	}
	for i := range out {
		out[i].text = v.known(v.expand(out[i].text), vars)
	}
	return out
}

func (v *lintView) known(text string, vars map[string]string) string {
	if vars == nil {
		return text
	}
	text = variableRE.ReplaceAllStringFunc(text, func(m string) string {
		if val, ok := vars[variableRE.FindStringSubmatch(m)[1]]; ok {
			return val
		}
		return m
	})
	for _, m := range assignRE.FindAllStringSubmatch(text, -1) {
		if val := strings.Trim(m[2], `"'`); len(val) < 200 && !strings.Contains(val, "$") {
			vars[m[1]] = val
		}
	}
	return text
}

// first gives the first line that matches.
func first(lines []lintLine, re *regexp.Regexp) (lintLine, bool) {
	for _, l := range lines {
		if re.MatchString(l.text) {
			return l, true
		}
	}
	return lintLine{}, false
}

func anyMatch(lines []lintLine, re *regexp.Regexp) bool {
	_, ok := first(lines, re)
	return ok
}

// header gives a stage's header as a line.
func header(s Stage, key string) lintLine {
	for _, f := range s.Header {
		if f.Key == key {
			return lintLine{f.Line, f.Value}
		}
	}
	return lintLine{s.Line, ""}
}

// bases are the stages' own bases: not those that a stage takes from a file here.
func (v *lintView) bases() []lintLine {
	var out []lintLine
	for _, s := range v.stages {
		if b := strings.ToLower(s.Get("bootstrap")); slices.Contains([]string{"docker", "oras", "library", "shub", "oci-archive", "docker-archive"}, b) {
			l := header(s, "from")
			l.text = v.expand(l.text)
			out = append(out, l)
		}
	}
	return out
}
