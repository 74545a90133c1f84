package defs

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Fault is one thing wrong with a recipe.
type Fault struct {
	Line  int    // of the file; 0 when the recipe was not read from one
	Field string // path as in build[2].run; "" when it is the file
	Msg   string
}

func (f Fault) String() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", f.Line)
	}
	if f.Field != "" {
		b.WriteString(clip(f.Field) + ": ")
	}
	return b.String() + f.Msg
}

// Faults is everything wrong with a recipe, in the order of the lines.
type Faults []Fault

// most is how many faults are printed; the rest is counted.
const most = 40

func (fs Faults) Error() string {
	lines := make([]string, 0, len(fs))
	for i, f := range fs {
		if i == most {
			lines = append(lines, fmt.Sprintf("… and %d more", len(fs)-most))
			break
		}
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

// asError gives nil when there is no fault.
func (fs Faults) asError() error {
	if len(fs) == 0 {
		return nil
	}
	sort.SliceStable(fs, func(i, j int) bool { return fs[i].Line < fs[j].Line })
	return fs
}

// clip makes any value fit for one line of a terminal.
func clip(s string) string {
	const n = 60
	short := s
	if len(short) > n {
		short = short[:n]
	}
	q := strconv.Quote(short)
	q = q[1 : len(q)-1]
	if len(s) > n {
		q += fmt.Sprintf("… (%d bytes)", len(s))
	}
	return q
}
