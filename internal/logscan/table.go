package logscan

import (
	"bytes"
	"strconv"
	"strings"
)

// Headers of benchmark tables: OSU micro-benchmarks (from 3 to 7) and
// nccl-tests (from 2.0 to 2.19).
const (
	osuTitle   = `# OSU (?:MPI|OpenSHMEM).* Test`
	ncclHeader = `out-of-place +in-place`
)

func (c *scan) openTable(b []byte, start, end, line int, kind string) {
	if len(c.out.Tables) >= MaxTables {
		return
	}
	t := Table{Kind: "osu", File: c.file, Line: line}
	if kind == ncclHeader {
		t.Kind = "nccl-tests"
	}
	t.Name, _, _ = describe(b[start:end], 0)
	c.out.Tables = append(c.out.Tables, t)
	c.table, c.miss = &c.out.Tables[len(c.out.Tables)-1], 0
	c.rows(b[end:])
}

// rows reads the open table's rows from the start of b. Library chatter may
// stand between rows; eight foreign lines end the table.
func (c *scan) rows(b []byte) {
	for len(b) > 0 && c.table != nil {
		line := b
		if k := bytes.IndexByte(b, '\n'); k >= 0 {
			line, b = b[:k], b[k+1:]
		} else {
			b = nil
		}
		c.row(line)
	}
}

func (c *scan) row(line []byte) {
	if len(line) > maxLine || len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if line[0] == '#' || bytes.Contains(line, []byte("# ")) {
		if len(c.table.Rows) > 0 {
			c.table = nil // another table's title
		}
		return
	}
	r, ok := parseRow(string(line))
	if !ok {
		if c.miss++; c.miss > 8 {
			c.table = nil
		}
		return
	}
	c.miss = 0
	if len(c.table.Rows) < MaxRows {
		c.table.Rows = append(c.table.Rows, r)
	} else {
		c.table = nil
	}
}

// parseRow reads "size value…"; words between the numbers (float, sum) are left out.
func parseRow(line string) (Row, bool) {
	if m := srunLabel.FindString(line); m != "" {
		line = line[len(m):]
	} else if m := mpirunTag.FindString(line); m != "" {
		line = line[len(m):]
	}
	f := strings.Fields(line)
	if len(f) < 2 || len(f) > 24 {
		return Row{}, false
	}
	size, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil || size < 0 {
		return Row{}, false
	}
	r := Row{Size: size}
	for _, w := range f[1:] {
		if v, err := strconv.ParseFloat(w, 64); err == nil {
			r.Values = append(r.Values, v)
		}
	}
	return r, len(r.Values) > 0
}
