package osu

import (
	"regexp"
	"slices"
	"strings"
)

// knownColumns are the headings of OMB 3 to 7 (osu_util_mpi.c, the programs'
// own). The longest that fits is taken, so that blanks may have been squeezed.
var knownColumns = []Column{
	{"Latency (us)", "latency", "us", true},
	{"Latency(us)", "latency", "us", true},
	{"Avg Latency(us)", "latency", "us", true},
	{"Min Latency(us)", "latency-min", "us", false},
	{"Max Latency(us)", "latency-max", "us", false},
	{"Bandwidth (MB/s)", "bandwidth", "MB/s", true},
	{"MB/s", "bandwidth", "MB/s", true},
	{"Messages/s", "message-rate", "msg/s", true},
	{"Overall(us)", "overall", "us", true},
	{"Compute(us)", "compute", "us", false},
	{"Coll. Init(us)", "init", "us", false},
	{"MPI_Test(us)", "test", "us", false},
	{"MPI_Wait(us)", "wait", "us", false},
	{"Pure Comm.(us)", "comm", "us", true},
	{"Min Comm.(us)", "comm-min", "us", false},
	{"Max Comm.(us)", "comm-max", "us", false},
	{"Overlap(%)", "overlap", "%", true},
	{"Iterations", "iterations", "", false},
	{"Transmit Size", "transmit-size", "B", false},
}

var tailColumn = regexp.MustCompile(`^P(\d+) Tail (Lat\(us\)|BW\(MB/s\))`)

const (
	sizeColumn  = "Size"
	checkColumn = "Validation"
)

// header is a table's heading line.
type header struct {
	sized   bool // has a Size column
	check   int  // index among all columns but Size where Validation stands; -1
	columns []Column
}

// parseHeader reads a comment line as a heading; false when it is none.
func parseHeader(line string) (header, bool) {
	h := header{check: -1}
	rest, ok := strings.CutPrefix(line, "#")
	if !ok {
		return h, false
	}
	rest = strings.TrimSpace(rest)
	if after, ok := cutWord(rest, sizeColumn); ok {
		h.sized, rest = true, after
	} else if _, _, ok := nextColumn(rest); !ok {
		return h, false
	}
	for rest != "" {
		if after, ok := cutWord(rest, checkColumn); ok {
			h.check, rest = len(h.columns), after
			continue
		}
		var c Column
		if c, rest, ok = nextColumn(rest); !ok {
			c, rest = unknownColumn(rest)
		}
		h.columns = append(h.columns, c)
	}
	return h, len(h.columns) > 0
}

// bareHeading says whether a line without "#" is all known headings.
func bareHeading(line string) bool {
	h, ok := parseHeader("# " + line)
	for _, c := range h.columns {
		ok = ok && (c.Unit != "" || c.Metric == "iterations")
	}
	return ok
}

func cutWord(s, word string) (string, bool) {
	after, ok := strings.CutPrefix(s, word)
	if !ok || after != "" && after[0] != ' ' && after[0] != '\t' {
		return s, false
	}
	return strings.TrimSpace(after), true
}

// nextColumn takes the longest known heading off the front.
func nextColumn(s string) (Column, string, bool) {
	if m := tailColumn.FindStringSubmatch(s); m != nil {
		unit := "us"
		if strings.HasPrefix(m[2], "BW") {
			unit = "MB/s"
		}
		return Column{Text: m[0], Metric: "p" + m[1], Unit: unit}, strings.TrimSpace(s[len(m[0]):]), true
	}
	best, after := Column{}, s
	for _, c := range knownColumns {
		if a, ok := cutWord(s, c.Text); ok && len(c.Text) > len(best.Text) {
			best, after = c, a
		}
	}
	return best, after, best.Text != ""
}

var wideGap = regexp.MustCompile(`\s{2,}|\t`)

// unknownColumn is what stands before the next wide gap.
func unknownColumn(s string) (Column, string) {
	text, rest := s, ""
	if gap := wideGap.FindStringIndex(s); gap != nil {
		text, rest = s[:gap[0]], s[gap[1]:]
	}
	return Column{Text: text, Metric: strings.ToLower(text)}, strings.TrimSpace(rest)
}

// windowHeader reads the heading "#   1   2   4 …" of mbw_mr -V, whose columns
// are window sizes.
func windowHeader(line, section string) (header, bool) {
	fields := strings.Fields(strings.TrimPrefix(line, "#"))
	if section == "" || len(fields) == 0 || slices.ContainsFunc(fields, func(f string) bool { return !digits.MatchString(f) }) {
		return header{}, false
	}
	metric, unit := "bandwidth", "MB/s"
	if strings.HasPrefix(section, "Message Rate") {
		metric, unit = "message-rate", "msg/s"
	}
	h := header{sized: true, check: -1}
	for _, f := range fields {
		h.columns = append(h.columns, Column{Text: f, Metric: metric + "-window-" + f, Unit: unit, Head: true})
	}
	return h, true
}
