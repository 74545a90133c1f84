package osu

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// longestLine bounds what is kept of one line; OMB's are below 300 bytes.
const longestLine = 64 << 10

// Parse reads the output of any number of OMB programs. It gives an error
// (exit code 1) when there is no table, when a table has a heading and no row
// (the program failed), or when validation failed; the result then holds what
// could be read.
func Parse(r io.Reader) (Result, error) {
	p := parser{tasks: map[string]*table{}}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if line != "" {
			p.line(n, strings.TrimRight(line, "\r\n"), strings.HasSuffix(line, "\n"))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p.res, fail.New(fail.Failed, "", "read OSU output after line %d: %w", n, err)
		}
	}
	return p.res, p.res.verdict()
}

type parser struct {
	res   Result
	tasks map[string]*table // by label: tables of several tasks may interleave
}

// table is what a task has printed so far.
type table struct {
	block *Block
	head  header
	open  bool // rows may follow
	sizes map[int64]bool
}

func (p *parser) warn(n int, format string, args ...any) {
	p.res.Warnings = append(p.res.Warnings, Warning{Line: n, Text: fmt.Sprintf(format, args...)})
}

func (p *parser) task(label string) *table {
	t := p.tasks[label]
	if t == nil {
		t = &table{}
		p.tasks[label] = t
	}
	return t
}

// start begins a block; the comment lines of a title are carried on when the
// title has a second table (another datatype, another section).
func (p *parser) start(t *table, n int, label string) *Block {
	b := &Block{Line: n, Label: label}
	if old := t.block; old != nil {
		*b = *old
		b.Line, b.HeaderLine, b.Columns, b.Rows = n, 0, nil, nil
		b.Notes = append([]string(nil), old.Notes...)
	}
	t.block, t.open, t.sizes = b, false, nil
	p.res.Blocks = append(p.res.Blocks, b)
	return b
}

// line sorts a line by its first character; ended is false for a last line
// without a line end.
func (p *parser) line(n int, text string, ended bool) {
	if len(text) > longestLine {
		p.warn(n, "line of %d bytes passed over", len(text))
		return
	}
	label, text := stripPrefix(text)
	t := p.task(label)
	text = strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, "#"):
		p.comment(t, n, label, text)
	case p.startup(t, n, label, text):
	case t.block != nil && t.block.HeaderLine == 0 && bareHeading(text):
		p.comment(t, n, label, "# "+text) // osu_ibarrier until 7.0 forgets the "#"
	case t.open:
		p.row(t, n, text, ended)
	}
}

var (
	title    = regexp.MustCompile(`^# (OSU|nearmetal-probe) (.+?)(?: Test)?(?: v(\d\S*))?$`)
	datatype = regexp.MustCompile(`^# Datatype: (\S+?)\.?$`)
	winLine  = regexp.MustCompile(`^# Window creation: (\S+)$`)
	syncLine = regexp.MustCompile(`^# Synchronization: (\S+)$`)
	pairs    = regexp.MustCompile(`^# \[ pairs: (\d+) \] \[ window size: (\d+|varied) \]$`)
	section  = regexp.MustCompile(`^# (Uni-directional Bandwidth.*|Message Rate Profile)$`)
)

func (p *parser) comment(t *table, n int, label, text string) {
	if m := title.FindStringSubmatch(text); m != nil {
		if old := t.block; old != nil && old.HeaderLine == 0 && len(old.Rows) == 0 && old.Title == m[2] && old.Version == m[3] {
			return // some builds print the title twice
		}
		t.block = nil
		b := p.start(t, n, label)
		b.Tool, b.Title, b.Version = m[1], m[2], m[3]
		b.Program, b.Device = identify(m[2])
		return
	}
	h, ok := parseHeader(text)
	if !ok && t.block != nil {
		h, ok = windowHeader(text, t.block.Section)
	}
	if ok {
		p.heading(t, n, label, h)
		return
	}
	if t.block != nil {
		p.note(t, n, label, text)
	}
}

// heading opens the table of the block, or a second table of the same title.
func (p *parser) heading(t *table, n int, label string, h header) {
	b := t.block
	if b == nil || b.HeaderLine > 0 {
		b = p.start(t, n, label)
	}
	if b.Program == "osu_bw" && h.columns[0].Text == "Avg Latency(us)" {
		h.columns[0].Metric, h.columns[0].Unit = "bandwidth", "MB/s"
		p.warn(n, "bandwidth (MB/s) under a latency heading, as osu_bw_fan_in and osu_bw_fan_out of 7.4 print it")
	}
	b.HeaderLine, b.Columns = n, h.columns
	t.head, t.open, t.sizes = h, true, map[int64]bool{}
}

func (p *parser) note(t *table, n int, label, text string) {
	b := t.block
	m := datatype.FindStringSubmatch(text)
	s := section.FindStringSubmatch(text)
	if (m != nil || s != nil) && b.HeaderLine > 0 {
		b = p.start(t, n, label)
	}
	switch {
	case m != nil:
		b.Datatype = m[1]
	case s != nil:
		b.Section = s[1]
	case winLine.MatchString(text):
		b.Window = winLine.FindStringSubmatch(text)[1]
	case syncLine.MatchString(text):
		b.Synchronization = syncLine.FindStringSubmatch(text)[1]
	case pairs.MatchString(text):
		m := pairs.FindStringSubmatch(text)
		b.Pairs, b.WindowSize = atoi(m[1]), atoi(m[2])
	default:
		b.Notes = append(b.Notes, strings.TrimSpace(strings.TrimPrefix(text, "#")))
	}
}

func (p *parser) row(t *table, n int, text string, ended bool) {
	fields := strings.Fields(text)
	if !t.head.looksLikeRow(fields) {
		if t.head.hidden(fields) {
			p.warn(n, "a row stands behind other text and was not read: %s", clip(text))
		}
		return
	}
	row, extra, err := t.head.parseRow(fields)
	if err != nil {
		p.warn(n, "%v: %s", err, clip(text))
		return
	}
	if extra != "" {
		p.warn(n, "text behind a row: %s", clip(extra))
	}
	if !ended {
		p.warn(n, "the last row has no line end; its last column may be cut off")
	}
	if t.sizes[row.Size] {
		p.warn(n, "size %d a second time in one table: output of two runs is mixed", row.Size)
	}
	if !row.Finite() {
		p.warn(n, "a value is not finite: %s", clip(text))
	}
	t.sizes[row.Size] = true
	row.Line = n
	t.block.Rows = append(t.block.Rows, row)
}

// clip keeps a message readable whatever the line holds.
func clip(s string) string {
	if len(s) > 120 {
		s = s[:120] + "..."
	}
	return strconv.Quote(s)
}

var (
	initLine  = regexp.MustCompile(`^nprocs: (\d+), min: (\d+(?:\.\d+)?)(?: ms)?, max: (\d+(?:\.\d+)?)(?: ms)?, avg: (\d+(?:\.\d+)?)(?: ms)?$`)
	helloLine = regexp.MustCompile(`^This is a test with (\d+) processes$`)
)

var initColumns = []Column{
	{"nprocs", "ranks", "", false},
	{"min", "time-min", "ms", false},
	{"max", "time", "ms", true}, // the job waits for the slowest rank
	{"avg", "time-avg", "ms", false},
}

var helloColumns = []Column{{"processes", "ranks", "", false}}

// startup reads osu_init (no unit and no title before 5.4) and osu_hello.
func (p *parser) startup(t *table, n int, label, text string) bool {
	if m := initLine.FindStringSubmatch(text); m != nil {
		p.startupRow(t, n, label, "osu_init", initColumns, m[1:])
		return true
	}
	if m := helloLine.FindStringSubmatch(text); m != nil {
		p.startupRow(t, n, label, "osu_hello", helloColumns, m[1:])
		return true
	}
	return false
}

func (p *parser) startupRow(t *table, n int, label, program string, columns []Column, text []string) {
	b := t.block
	if b == nil || b.Program != program || len(b.Rows) > 0 {
		t.block = nil
		b = p.start(t, n, label)
		b.Program = program
	}
	row := Row{Line: n, Size: bench.NoSize}
	for _, s := range text {
		v, _ := strconv.ParseFloat(s, 64) // digits only; too many give +Inf
		row.Values = append(row.Values, v)
	}
	b.Columns, b.Rows, t.open = columns, append(b.Rows, row), false
}

// verdict is the first thing wrong with the whole. A title without a heading
// is a failed run too, except that a later table of the same title follows.
func (r Result) verdict() error {
	if len(r.Blocks) == 0 {
		return fail.New(fail.Failed, "look at the launch's stderr and exit code", "no OSU table in the output")
	}
	for _, b := range r.Blocks {
		if len(b.Rows) == 0 {
			return fail.New(fail.Failed, "look at the launch's stderr and exit code", "line %d: %s printed its heading and no result", b.Line, b.name())
		}
		for _, row := range b.Rows {
			if row.Check == "Fail" {
				return fail.New(fail.Failed, "do not trust these numbers: the data arrived wrong", "line %d: %s: validation failed", row.Line, b.name())
			}
		}
	}
	return nil
}

func (b *Block) name() string {
	if b.Program != "" {
		return b.Program
	}
	return strconv.Quote(b.Title)
}
