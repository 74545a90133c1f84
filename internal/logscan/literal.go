package logscan

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// required gives a set of literals of which any match of re holds at least
// one, in lower case, or nil when there is none to be relied on. Of several
// possible sets it takes the one whose shortest member is longest: long
// literals make long skips and few false candidates.
func required(re *syntax.Regexp) []string {
	if set, ok := exact(re); ok {
		return reduce(set)
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		return requiredConcat(re.Sub)
	case syntax.OpAlternate:
		var out []string
		for _, s := range re.Sub {
			set := required(s)
			if set == nil {
				return nil
			}
			out = append(out, set...)
		}
		return reduce(out)
	}
	return nil
}

// requiredConcat grows runs of parts that are known word for word and takes
// the best run or part.
func requiredConcat(subs []*syntax.Regexp) []string {
	var best []string
	run := []string{""}
	for _, s := range subs {
		set, ok := exact(s)
		if grown := cross(run, set); ok && grown != nil {
			run = grown
			continue
		}
		best = longer(longer(best, reduce(run)), required(s))
		best = longer(best, reduce(cross(run, prefixes(s))))
		if run = []string{""}; ok {
			run = set
		}
	}
	return longer(best, reduce(run))
}

// prefixes are texts of which any match of re begins with one; {""} when that is
// not known. The parser takes alternatives' common beginning out of them, which
// this puts together again.
func prefixes(re *syntax.Regexp) []string {
	if set, ok := exact(re); ok {
		return set
	}
	switch re.Op {
	case syntax.OpCapture:
		return prefixes(re.Sub[0])
	case syntax.OpAlternate:
		var out []string
		for _, s := range re.Sub {
			out = append(out, prefixes(s)...)
		}
		if len(out) <= maxLiterals {
			return out
		}
	case syntax.OpConcat:
		run := []string{""}
		for _, s := range re.Sub {
			set, ok := exact(s)
			if !ok {
				set = prefixes(s)
			}
			grown := cross(run, set)
			if grown == nil {
				return run
			}
			if run = grown; !ok {
				return run
			}
		}
		return run
	}
	return []string{""}
}

// exact lists every text that re matches, in lower case, when these are few.
func exact(re *syntax.Regexp) ([]string, bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{lower(re.Rune)}, true
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}, true
	case syntax.OpCharClass:
		return exactClass(re.Rune)
	case syntax.OpCapture:
		return exact(re.Sub[0])
	case syntax.OpQuest:
		set, ok := exact(re.Sub[0])
		return append([]string{""}, set...), ok && len(set) < maxLiterals
	case syntax.OpAlternate, syntax.OpConcat:
		return exactAll(re)
	}
	return nil, false
}

func exactAll(re *syntax.Regexp) ([]string, bool) {
	out := []string{""}
	if re.Op == syntax.OpAlternate {
		out = nil
	}
	for _, s := range re.Sub {
		set, ok := exact(s)
		if !ok {
			return nil, false
		}
		if re.Op == syntax.OpAlternate {
			out = append(out, set...)
		} else if out = cross(out, set); out == nil {
			return nil, false
		}
	}
	return out, len(out) <= maxLiterals
}

func exactClass(ranges []rune) ([]string, bool) {
	var out []string
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > 8 {
			return nil, false
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if !strings.ContainsRune("\n\v\f\r", r) { // lines hold none
				out = append(out, lower([]rune{r}))
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out, len(out) > 0 && len(out) <= 8
}

// lower folds case the way the regexp package does: the Kelvin sign and the
// long s are k and s.
func lower(rs []rune) string {
	return strings.Map(func(r rune) rune {
		if r == 'ſ' {
			return 's'
		}
		return unicode.ToLower(r)
	}, string(rs))
}

// cross is every a followed by every b, nil when these are too many.
func cross(a, b []string) []string {
	if len(a)*len(b) > maxLiterals {
		return nil
	}
	var out []string
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}

// reduce drops texts that hold another one: finding the shorter is enough.
func reduce(set []string) []string {
	var out []string
	for i, s := range set {
		if !slices.ContainsFunc(set, func(o string) bool { return o != s && strings.Contains(s, o) }) && !slices.Contains(set[:i], s) {
			out = append(out, s)
		}
	}
	return out
}

// longer is the set whose shortest member is longer.
func longer(a, b []string) []string {
	if shortest(b) > shortest(a) {
		return b
	}
	return a
}

func shortest(set []string) int {
	if len(set) == 0 {
		return 0
	}
	n := len(set[0])
	for _, s := range set[1:] {
		n = min(n, len(s))
	}
	return n
}
