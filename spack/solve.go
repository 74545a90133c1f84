package spack

import (
	"fmt"
	"slices"
	"strings"
)

// Piece is one software of a wanted stack. Version is a prefix in whole parts
// (5.0 means 5.0.7 too); "" is any.
type Piece struct {
	Name    string
	Version string
}

func (p Piece) String() string {
	if p.Version == "" {
		return p.Name
	}
	return p.Name + " " + p.Version
}

// Conflict is a stack that cannot work.
type Conflict struct {
	Name    string  // the software whose rule is broken
	Reason  string  // in words, with both sides
	Source  string  // where the rule comes from
	Nearest []Piece // the stack that works with the fewest changes; nil when none was found
	Changed []Piece // what differs in it from what was wanted
}

func (c *Conflict) Error() string {
	var b strings.Builder
	b.WriteString(c.Reason)
	if len(c.Changed) > 0 {
		words := make([]string, len(c.Changed))
		for i, p := range c.Changed {
			words[i] = p.String()
		}
		fmt.Fprintf(&b, "; the nearest stack that works has %s", strings.Join(words, ", "))
	}
	if c.Source != "" {
		fmt.Fprintf(&b, " (%s)", c.Source)
	}
	return b.String()
}

// Check says whether there are versions under the wanted prefixes that keep
// every rule: nil, or why not and the nearest stack that works.
func (c Catalogue) Check(want []Piece) *Conflict {
	lists := make([][]string, len(want))
	for i, p := range want {
		lists[i] = c.candidates(p)
	}
	if c.search(want, lists) != nil {
		return nil
	}
	out := c.blame(want)
	c.nearest(want, out)
	return out
}

// candidates are the known versions under the prefix. A version that is not
// known is taken as it is: a newer release is no fault of the recipe.
func (c Catalogue) candidates(p Piece) []string {
	s, _ := c.Find(p.Name)
	var out []string
	for _, v := range s.Versions {
		if under(v, p.Version) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		out = []string{p.Version}
	}
	return out
}

// budget bounds a search; what is not decided by then is not refused.
const budget = 200_000

// search looks for an assignment that keeps every rule: the piece with the
// fewest versions left first, and what its choice forbids to the others is
// struck out at once. It gives nil when there is none.
func (c Catalogue) search(want []Piece, lists [][]string) []Piece {
	lists = c.selfSufficient(want, lists)
	out := append([]Piece{}, want...)
	left := budget
	if c.assign(out, lists, make([]bool, len(want)), &left) || left <= 0 {
		return out
	}
	return nil
}

func (c Catalogue) assign(stack []Piece, lists [][]string, done []bool, left *int) bool {
	i := -1
	for j := range stack {
		if !done[j] && (i < 0 || len(lists[j]) < len(lists[i])) {
			i = j
		}
	}
	if i < 0 {
		return true
	}
	done[i] = true
	for _, v := range lists[i] {
		if *left--; *left <= 0 {
			return true
		}
		stack[i].Version = v
		if rest, ok := c.strike(stack, lists, done, i); ok && c.assign(stack, rest, done, left) {
			return true
		}
	}
	done[i] = false
	return false
}

// strike takes out of the other pieces' versions what does not go with piece i.
func (c Catalogue) strike(stack []Piece, lists [][]string, done []bool, i int) ([][]string, bool) {
	out := append([][]string{}, lists...)
	for j := range stack {
		if done[j] {
			continue
		}
		out[j] = nil
		for _, v := range lists[j] {
			if c.broken([]Piece{stack[i], {stack[j].Name, v}}) == nil {
				out[j] = append(out[j], v)
			}
		}
		if len(out[j]) == 0 {
			return nil, false
		}
	}
	return out, true
}

// selfSufficient leaves the versions that need nothing unnamed.
func (c Catalogue) selfSufficient(want []Piece, lists [][]string) [][]string {
	out := make([][]string, len(lists))
	for i := range lists {
		for _, v := range lists[i] {
			if c.unnamed(Piece{want[i].Name, v}, want) == nil {
				out[i] = append(out[i], v)
			}
		}
	}
	return out
}

// unnamed gives the rule that a piece breaks by what the stack does not name.
func (c Catalogue) unnamed(p Piece, stack []Piece) *Conflict {
	s, _ := c.Find(p.Name)
	for _, r := range s.Rules {
		name, _ := r.target()
		if !r.Named || r.Excludes || p.Version != "" && !contains(r.When, p.Version) || has(stack, name) {
			continue
		}
		return &Conflict{Name: p.Name, Source: r.Source,
			Reason: fmt.Sprintf("%s needs %s, which the stack does not name: %s", p, r.Needs, r.Reason)}
	}
	return nil
}

func has(stack []Piece, name string) bool {
	return slices.ContainsFunc(stack, func(p Piece) bool { return p.Name == name })
}

// broken gives the first rule between the pieces of a stack that does not hold.
func (c Catalogue) broken(stack []Piece) *Conflict {
	for _, p := range stack {
		s, _ := c.Find(p.Name)
		for _, r := range s.Rules {
			if p.Version != "" && !contains(r.When, p.Version) {
				continue
			}
			if reason := r.brokenBy(p, stack); reason != "" {
				return &Conflict{Name: p.Name, Reason: reason, Source: r.Source}
			}
		}
	}
	return nil
}

func (r Rule) brokenBy(p Piece, stack []Piece) string {
	name, ranges := r.target()
	for _, other := range stack {
		if other.Name != name {
			continue
		}
		ok := other.Version == "" || contains(ranges, other.Version)
		switch {
		case r.Excludes && ok:
			return fmt.Sprintf("%s does not go with %s: %s", p, other, r.Reason)
		case !r.Excludes && !ok:
			return fmt.Sprintf("%s does not work with %s, it needs %s: %s", p, other, r.Needs, r.Reason)
		}
		return ""
	}
	return ""
}

// blame names the rule that stands in the way: the one that the newest versions
// under the prefixes break.
func (c Catalogue) blame(want []Piece) *Conflict {
	newest := make([]Piece, len(want))
	for i, p := range want {
		newest[i] = Piece{p.Name, c.candidates(p)[0]}
	}
	for _, p := range newest {
		if out := c.unnamed(p, want); out != nil {
			return out
		}
	}
	if out := c.broken(newest); out != nil {
		return out
	}
	return &Conflict{Name: want[0].Name, Reason: "no versions of these go together"}
}

// nearest fills in the stack with the fewest changes: first with one piece at
// any version, then two and so on; at last with what is missing added.
func (c Catalogue) nearest(want []Piece, out *Conflict) {
	named := len(want)
	want = append(append([]Piece{}, want...), c.missing(want)...)
	for n := 0; n <= len(want) && n <= 4; n++ {
		for _, free := range subsets(len(want), n) {
			lists := make([][]string, len(want))
			for i, p := range want {
				if lists[i] = c.candidates(p); free[i] {
					lists[i] = c.candidates(Piece{Name: p.Name})
				}
			}
			if found := c.search(want, lists); found != nil {
				out.Nearest = found
				out.Changed = changed(want, found, free, named)
				return
			}
		}
	}
}

// missing lists what the rules want named and the stack does not name.
func (c Catalogue) missing(want []Piece) []Piece {
	all := append([]Piece{}, want...)
	for i := 0; i < len(all); i++ {
		s, _ := c.Find(all[i].Name)
		for _, r := range s.Rules {
			name, _ := r.target()
			if r.Named && !r.Excludes && !has(all, name) && contains(r.When, c.candidates(all[i])[0]) {
				all = append(all, Piece{Name: name})
			}
		}
	}
	return all[len(want):]
}

func changed(want, found []Piece, free []bool, named int) []Piece {
	var out []Piece
	for i, p := range found {
		if free[i] && !under(p.Version, want[i].Version) || i >= named {
			out = append(out, p)
		}
	}
	return out
}

// subsets gives all choices of n of the size, the last pieces first: what
// stands under MPI gives way before MPI does.
func subsets(size, n int) [][]bool {
	if n == 0 {
		return [][]bool{make([]bool, size)}
	}
	if n > size {
		return nil
	}
	var out [][]bool
	for _, s := range subsets(size-1, n-1) {
		out = append(out, append(s, true))
	}
	for _, s := range subsets(size-1, n) {
		out = append(out, append(s, false))
	}
	return out
}
