package logscan

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"sync"
)

// Scanner holds compiled patterns. It is safe for concurrent use.
type Scanner struct {
	patterns []func() *regexp.Regexp // compiled when first needed: most never are
	names    []string
	pre      *prefilter
	literals []string
}

// Compile makes a scanner of expressions, each its own name. An expression of
// which an alternative has no plain text of eight bytes is an error: it would
// have to be tried on every line.
func Compile(patterns []string) (*Scanner, error) {
	s := &Scanner{}
	lits := map[string][]int{}
	seen := map[string]bool{}
	var errs []error
	for _, name := range append([]string{osuTitle, ncclHeader}, patterns...) {
		if seen[name] {
			continue
		}
		seen[name] = true
		errs = append(errs, s.add(name, lits))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for l := range lits {
		s.literals = append(s.literals, l)
	}
	s.pre = newPrefilter(lits)
	return s, nil
}

func (s *Scanner) add(name string, lits map[string][]int) error {
	tree, err := syntax.Parse(name, syntax.Perl)
	if err != nil {
		return err
	}
	set := required(tree.Simplify())
	if shortest(set) < minLiteral || len(set) > maxLiterals {
		return fmt.Errorf("pattern %q: literals %q, want 1 to %d of at least %d bytes", name, set, maxLiterals, minLiteral)
	}
	id := len(s.patterns)
	s.patterns = append(s.patterns, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(name) }))
	s.names = append(s.names, name)
	for _, l := range set {
		lits[l] = append(lits[l], id)
	}
	return nil
}

// Literals are the texts that the scanner looks for, in lower case; for
// comparison with other searchers.
func (s *Scanner) Literals() []string { return s.literals }

// Scan reads r to its end; gzip is unpacked. file names it in the hits.
// Reading errors are returned with what was found until then.
func (s *Scanner) Scan(r io.Reader, file string) (Signals, error) {
	r, err := unpack(r)
	run := scan{s: s, file: file, out: Signals{Hits: map[string][]Hit{}}, last: make([]int, len(s.patterns)), count: make([]int, len(s.patterns))}
	if err != nil {
		return run.out, fmt.Errorf("%s: %w", file, err)
	}
	if err := run.read(r); err != nil {
		return run.out, fmt.Errorf("%s:%d: %w", file, run.out.Lines+1, err)
	}
	return run.out, nil
}

func unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 16)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return gzip.NewReader(b)
	}
	return b, nil
}

// scan is the state of one run over one file.
type scan struct {
	s     *Scanner
	file  string
	out   Signals
	last  []int // line of each pattern's last hit or try
	count []int // hits of each pattern
	table *Table
	seen  int // bytes of the present block whose newlines are in out.Lines
	miss  int // lines in a row that were no rows of the open table
}

// read feeds blocks that end at a line's end; a line longer than a block goes
// in pieces that overlap by maxLine.
func (c *scan) read(r io.Reader) error {
	buf := make([]byte, blockSize)
	n, eof := 0, false
	for !eof {
		k, err := io.ReadFull(r, buf[n:])
		n += k
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			eof = true
			if k > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
				eof = true
			}
		case err != nil:
			c.block(buf[:n])
			return err
		}
		c.out.Bytes += int64(k)
		end, keep := n, n
		if !eof {
			if nl := bytes.LastIndexByte(buf[:n], '\n'); nl >= 0 {
				end, keep = nl+1, nl+1
			} else {
				keep = n - maxLine
			}
		}
		rest := n - keep
		tail := append([]byte(nil), buf[keep:n]...)
		c.block(buf[:end])
		n = copy(buf, tail[:rest])
	}
	return nil
}

// block scans whole lines. It may change b.
func (c *scan) block(b []byte) {
	if bytes.IndexByte(b, 0x1b) >= 0 {
		b = stripANSI(b)
	}
	if room := MaxHead - len(c.out.Head); room > 0 {
		c.out.Head += string(b[:min(room, len(b))])
	}
	c.seen = 0
	if c.table != nil {
		c.rows(b)
	}
	c.s.pre.find(b, func(l *literal, pos int) { c.candidate(b, l, pos) })
	c.out.Lines += bytes.Count(b[min(c.seen, len(b)):], []byte{'\n'})
}

func (c *scan) candidate(b []byte, l *literal, pos int) {
	for _, id := range l.ids {
		if c.count[id] >= MaxHits {
			continue
		}
		start, end := lineAround(b, pos)
		line := c.lineNumber(b, start)
		if c.last[id] == line {
			continue
		}
		c.last[id] = line
		c.match(b, id, start, end, line)
	}
}

// trial marks the compiler's answers to configure's own trial programs, most of
// which fail on a healthy system (Autoconf's manual, "Generic Compiler Characteristics").
var trial = []byte("conftest")

func (c *scan) match(b []byte, id, start, end, line int) {
	m := c.s.patterns[id]().FindSubmatchIndex(b[start:end])
	if m == nil || bytes.Contains(b[start:end], trial) {
		return
	}
	name := c.s.names[id]
	if name == osuTitle || name == ncclHeader {
		c.openTable(b, start, end, line, name)
		return
	}
	h := Hit{Pattern: name, File: c.file, Line: line}
	for i := 0; i+1 < len(m); i += 2 {
		g := ""
		if m[i] >= 0 {
			g = string(b[start+m[i] : start+min(m[i+1], m[i]+MaxText)])
		}
		h.Groups = append(h.Groups, g)
	}
	h.Text, h.Rank, h.Host = describe(b[start:end], m[0])
	c.out.Hits[name] = append(c.out.Hits[name], h)
	c.count[id]++
}

// lineNumber counts newlines up to pos, once for each stretch of a block.
// A hit before the last one counted (a long literal that began earlier) is on the
// same line, literals hold no newline.
func (c *scan) lineNumber(b []byte, pos int) int {
	if pos > c.seen {
		c.out.Lines += bytes.Count(b[c.seen:pos], []byte{'\n'})
		c.seen = pos
	}
	return c.out.Lines + 1
}

// lineAround are the bounds of the line around pos, at most maxLine/2 bytes to
// either side. A carriage return ends a line too: progress bars use it.
func lineAround(b []byte, pos int) (start, end int) {
	lo, hi := max(0, pos-maxLine/2), min(len(b), pos+maxLine/2)
	start = lo + bytes.LastIndexAny(b[lo:pos], "\r\n") + 1
	if k := bytes.IndexAny(b[pos:hi], "\r\n"); k >= 0 {
		hi = pos + k
	}
	return start, hi
}
