package nccl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// mostText bounds an output; a table of all sizes has some kilobytes, the INFO
// lines of thousands of ranks some megabytes.
const mostText = 1 << 30

// Parse reads a program's standard output or its JSON file. Output without a
// row, cut off before its summary, or with wrong data is an error (exit code
// 1); what could be read is in the result all the same.
func Parse(r io.Reader) (Result, error) {
	in := bufio.NewReader(io.LimitReader(r, mostText))
	if isJSON(in) {
		return parseJSON(in)
	}
	p := &parser{}
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		p.line(n, strings.TrimRight(line, "\r\n"))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p.res, fail.New(fail.Failed, "", "read nccl-tests output after line %d: %w", n, err)
		}
	}
	return p.res, p.res.verdict()
}

// isJSON looks at the first byte that is not white.
func isJSON(in *bufio.Reader) bool {
	for n := 1; n <= 512; n++ {
		b, err := in.Peek(n)
		if err != nil {
			return false
		}
		if c := b[n-1]; !bytes.ContainsRune([]byte(" \t\r\n\ufeff"), rune(c)) {
			return c == '{'
		}
	}
	return false
}

// verdict says why a result does not count.
func (r Result) verdict() error {
	wrong := 0.0
	for _, row := range r.Rows {
		for _, b := range []*Body{row.Out, row.InPlace} {
			if b != nil && b.Wrong != nil {
				wrong += *b.Wrong
			}
		}
	}
	switch {
	case len(r.Rows) == 0:
		return fail.New(fail.Failed, "NCCL_DEBUG=WARN tells why", "no result in the output of nccl-tests")
	case wrong > 0 || r.Failed:
		return fail.New(fail.Failed, "do not trust these numbers: the data arrived wrong", "%g elements were wrong", wrong)
	case !r.Footer:
		return fail.New(fail.Failed, "read the launch's standard error", "the output of nccl-tests ends after %d sizes, without its summary", len(r.Rows))
	}
	return nil
}

// parser follows a text.
type parser struct {
	res  Result
	cols []string // of the table's header; nil before it
	time int      // index of the first column of values
}

// label is the prefix of srun --label and mpirun --tag-output.
var label = regexp.MustCompile(`^(?:\d+: ?|\[\d+,\d+\]<std(?:out|err)>: ?)`)

func (p *parser) line(n int, text string) {
	text = label.ReplaceAllString(text, "")
	switch {
	case strings.HasPrefix(text, "#"):
		p.comment(strings.TrimSpace(strings.TrimPrefix(text, "#")))
	case strings.Contains(text, "Test NCCL failure"), strings.Contains(text, "Test CUDA failure"):
		p.res.Warnings = append(p.res.Warnings, Warning{n, strings.TrimSpace(text)})
	case p.cols != nil && rowStart.MatchString(text):
		p.row(n, text)
	}
}

var (
	device  = regexp.MustCompile(`^Rank\s+(\d+)(?: Group\s+\d+)? Pid\s+\d+ on\s+(\S+) device\s+\d+ \[[^\]]*\] (.*)$`)
	version = regexp.MustCompile(`^nccl-tests version (\S+)(?:.*nccl-library=(\d+))?`)
	average = regexp.MustCompile(`^Avg bus bandwidth\s*:\s*(\S+)`)
	bounds  = regexp.MustCompile(`^Out of bounds values\s*:\s*\d+ (\w+)`)
	started = regexp.MustCompile(`^Collective test starting: (\S+)`)
	// rowStart is size and count, which no INFO line begins with.
	rowStart = regexp.MustCompile(`^\s*\d+\s+\d+\s+[a-z]`)
)

func (p *parser) comment(text string) {
	if m := device.FindStringSubmatch(text); m != nil {
		rank, _ := strconv.Atoi(m[1])
		p.res.Devices = append(p.res.Devices, Device{rank, m[2], m[3]})
		return
	}
	if m := version.FindStringSubmatch(text); m != nil {
		p.res.Version, p.res.Library = m[1], m[2]
	}
	if m := started.FindStringSubmatch(text); m != nil {
		p.res.Program = m[1]
	}
	if m := average.FindStringSubmatch(text); m != nil {
		p.res.AvgBusBW, _ = strconv.ParseFloat(m[1], 64)
		p.res.Footer = true
	}
	if m := bounds.FindStringSubmatch(text); m != nil && m[1] == "FAILED" {
		p.res.Failed = true
	}
	if cols := strings.Fields(text); len(cols) > 4 && cols[0] == "size" && cols[1] == "count" {
		p.header(cols)
	}
}

// header takes the table's columns: labels, then two bodies that begin with
// the time.
func (p *parser) header(cols []string) {
	for i, c := range cols {
		if c == "time" || c == "cputime" {
			p.cols, p.time = cols, i
			return
		}
	}
}

// gap is what stands where no out-of-place result was made (util.cu,
// writeBenchMarkLineNullBody): 32 blanks.
var gap = regexp.MustCompile(`\S {30,}\S`)

func (p *parser) row(n int, text string) {
	f := strings.Fields(text)
	cols := len(p.cols)
	if p.cols[cols-1] == "timestamp" { // date and time of day
		cols--
		f = f[:min(len(f), max(0, len(f)-2))]
	}
	width := (cols - p.time) / 2
	row := Row{Line: n}
	if len(f) < p.time || !p.labels(&row, f[:p.time]) {
		p.warn(n, "the row is cut: %.80q", text)
		return
	}
	names := p.cols[p.time : p.time+width]
	values := f[p.time:]
	switch {
	case len(values) == 2*width:
		row.Out, row.InPlace = body(names, values[:width]), body(names, values[width:])
	case len(values) == width && gap.MatchString(text):
		row.InPlace = body(names, values)
	case len(values) == width:
		row.Out = body(names, values)
	default:
		p.warn(n, "the row has %d values, its header %d: %.80q", len(values), 2*width, text)
		return
	}
	if row.Out == nil && row.InPlace == nil {
		p.warn(n, "not a row of numbers: %.80q", text)
		return
	}
	p.res.Rows = append(p.res.Rows, row)
}

func (p *parser) labels(row *Row, f []string) bool {
	var err, err2 error
	for i, name := range p.cols[:p.time] {
		switch name {
		case "size":
			row.Size, err = strconv.ParseInt(f[i], 10, 64)
		case "count":
			row.Count, err2 = strconv.ParseInt(f[i], 10, 64)
		case "type":
			row.Type = f[i]
		case "redop":
			row.Op = f[i]
		case "root":
			row.Root = f[i]
		}
	}
	return err == nil && err2 == nil
}

// body reads one half; nil when it is not numbers.
func body(names, values []string) *Body {
	b := &Body{}
	var iter Iter
	for i, name := range names {
		v, err := strconv.ParseFloat(values[i], 64)
		if values[i] == "N/A" {
			continue
		}
		if err != nil {
			return nil
		}
		switch name {
		case "time", "cputime":
			b.TimeUS = v
		case "algbw":
			b.AlgBW = v
		case "busbw":
			b.BusBW = v
		case "#wrong":
			b.Wrong = &v
		case "error": // largest difference, before 2.13: 0 and rounding are right
		case "i_min":
			iter.Min, b.Iter = v, &iter
		case "i_max":
			iter.Max = v
		case "i_p99":
			iter.P99 = v
		}
	}
	return b
}

func (p *parser) warn(n int, format string, args ...any) {
	p.res.Warnings = append(p.res.Warnings, Warning{n, fmt.Sprintf(format, args...)})
}
