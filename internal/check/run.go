package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/logscan"
)

const (
	maxEvidence = 5
	// likely is the score from which a cause hides its consequences.
	likely = 50
	// harmless findings rank behind others of the same score.
	infoPenalty = 30
)

// Run applies every check and ranks what they find: causes first, the surest
// of them at the top, consequences behind.
func (d *Doctor) Run(in Input) []Finding {
	t := newTexts(in)
	var out []Finding
	for _, c := range d.checks {
		if f, ok := c.run(in, t); ok {
			out = append(out, f)
		}
	}
	link(out)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(min(len(a.DependsOn), 1), min(len(b.DependsOn), 1)),
			-cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(a.firstLine(), b.firstLine()))
	})
	return out
}

func (f Finding) rank() int {
	if f.Severity == Info {
		return f.Score - infoPenalty
	}
	return f.Score
}

func (f Finding) firstLine() int {
	if len(f.Evidence) == 0 {
		return 0
	}
	return f.Evidence[0].Line
}

func (c Check) run(in Input, t *texts) (Finding, bool) {
	score, ev := 0, []Evidence(nil)
	for _, r := range c.Rules {
		if s, e := r.hold(in.Signals, t); s > score {
			score, ev = s, e
		}
	}
	if score > 0 {
		for _, k := range c.Clues {
			if t.match(k.Re) {
				score += k.Add
			}
		}
	}
	if c.Live != nil && len(in.Nodes) > 0 {
		if e := c.Live(in.Nodes); len(e) > 0 {
			score, ev = max(score, cmp.Or(c.LiveScore, 90)), append(e, ev...)
		}
	}
	if score <= 0 {
		return Finding{}, false
	}
	return c.finding(min(score, 100), ev), true
}

func (c Check) finding(score int, ev []Evidence) Finding {
	f := Finding{
		Code: c.Code, Key: c.Key, Severity: c.Severity, Title: c.Title, Cause: c.Cause,
		Fix: c.Fix, DependsOn: c.DependsOn, Score: score, Evidence: ev,
		Breaks: c.Breaks, Apart: c.Apart, Source: c.Source, Confidence: "low",
	}
	switch {
	case score >= 80:
		f.Confidence = "high"
	case score >= 55:
		f.Confidence = "medium"
	}
	return f
}

// hold gives the rule's score and evidence, 0 when it does not hold.
func (r Rule) hold(s logscan.Signals, t *texts) (int, []Evidence) {
	var ev []Evidence
	for _, l := range r.All {
		e := l.evidence(s)
		if len(e) < max(l.Min, 1) {
			return 0, nil
		}
		ev = append(ev, e...)
	}
	if r.See != nil {
		e := r.See(s)
		if len(e) == 0 {
			return 0, nil
		}
		ev = append(ev, e...)
	}
	if !t.all(r.Need) || t.some(r.None) {
		return 0, nil
	}
	slices.SortStableFunc(ev, func(a, b Evidence) int { return cmp.Compare(a.Line, b.Line) })
	ev = slices.CompactFunc(ev, func(a, b Evidence) bool { return a.File == b.File && a.Line == b.Line })
	return r.Score, ev[:min(len(ev), maxEvidence)]
}

func (l Line) evidence(s logscan.Signals) []Evidence {
	var ev []Evidence
	hits := s.Hits[l.pattern()]
	if l.Together != nil {
		hits = l.Together(hits)
	}
	for _, h := range hits {
		if l.Test == nil || l.Test(h) {
			ev = append(ev, Evidence{File: h.File, Line: h.Line, Text: h.Text})
		}
	}
	return ev
}

// link turns DependsOn from what could be the cause into what was found: keys of
// likely causes that are here. A finding without any stands for itself.
func link(fs []Finding) {
	roots := map[string]bool{}
	for _, f := range fs {
		roots[f.Key] = f.Score >= likely
	}
	for i := range fs {
		deps := []string{}
		for _, g := range fs {
			if g.Key == fs[i].Key || !roots[g.Key] {
				continue
			}
			general := slices.Contains(fs[i].DependsOn, any) && g.Severity != Info && !slices.Contains(g.DependsOn, any)
			if general || slices.Contains(fs[i].DependsOn, g.Key) {
				deps = append(deps, g.Key)
			}
		}
		fs[i].DependsOn = deps
	}
}

// texts are what clues are looked for in: the context and the beginning of the
// log, where commands and versions stand.
type texts struct {
	text string
	seen map[string]bool
}

func newTexts(in Input) *texts {
	return &texts{text: in.Context + "\n" + in.Signals.Head, seen: map[string]bool{}}
}

func (t *texts) match(re string) bool {
	m, ok := t.seen[re]
	if !ok {
		r, err := regexp.Compile("(?im)" + re)
		m = err == nil && r.MatchString(t.text)
		t.seen[re] = m
	}
	return m
}

func (t *texts) all(res []string) bool {
	return !slices.ContainsFunc(res, func(re string) bool { return !t.match(re) })
}

func (t *texts) some(res []string) bool { return slices.ContainsFunc(res, t.match) }

// Consequence says whether the finding follows from others.
func (f Finding) Consequence() bool { return len(f.DependsOn) > 0 }

// Because lists the causes that it follows from.
func (f Finding) Because() string { return strings.Join(f.DependsOn, ", ") }
