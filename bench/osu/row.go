package osu

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/bench"
)

var (
	digits = regexp.MustCompile(`^\d+$`)
	// OMB prints two decimals (FLOAT_PRECISION), so fewer mean a cut row.
	decimal = regexp.MustCompile(`^-?\d+\.\d{2,}$`)
	special = regexp.MustCompile(`^[-+]?(?i:nan|inf|infinity)$`)
)

// looksLikeRow says whether a line of a table may be data: a table with sizes
// has whole numbers first, one without has decimals.
func (h header) looksLikeRow(fields []string) bool {
	if len(fields) == 0 {
		return false
	}
	if h.sized {
		return fields[0][0] >= '0' && fields[0][0] <= '9'
	}
	return fields[0][0] >= '0' && fields[0][0] <= '9' || decimal.MatchString(fields[0]) || special.MatchString(fields[0])
}

// width is the number of fields of a whole row.
func (h header) width() int {
	n := len(h.columns)
	if h.sized {
		n++
	}
	if h.check >= 0 {
		n++
	}
	return n
}

// parseRow reads a whole row; extra is text that follows it on its line.
func (h header) parseRow(fields []string) (row Row, extra string, err error) {
	row.Size = bench.NoSize
	all := fields
	if len(fields) < h.width() {
		return row, "", fmt.Errorf("row cut off: %d of %d columns", len(fields), h.width())
	}
	if h.sized {
		if row.Size, err = strconv.ParseInt(fields[0], 10, 64); err != nil || row.Size < 0 || !digits.MatchString(fields[0]) {
			return row, "", fmt.Errorf("size %q is no number of bytes", fields[0])
		}
		fields = fields[1:]
	}
	for i, c := range h.columns {
		if i == h.check {
			row.Check, fields = fields[0], fields[1:]
		}
		v, err := parseValue(c, fields[0])
		if err != nil {
			return row, "", err
		}
		row.Values, fields = append(row.Values, v), fields[1:]
	}
	if h.check == len(h.columns) {
		row.Check = fields[0]
	}
	if h.check >= 0 && row.Check != "Pass" && row.Check != "Fail" && row.Check != "-" {
		return row, "", fmt.Errorf("%s is neither Pass nor Fail: %q", checkColumn, row.Check)
	}
	return row, strings.Join(all[h.width():], " "), nil
}

func parseValue(c Column, s string) (float64, error) {
	switch {
	case special.MatchString(s):
		if strings.Contains(strings.ToLower(s), "nan") {
			return math.NaN(), nil
		}
	case c.Unit == "" || c.Unit == "B":
		if !digits.MatchString(s) && !decimal.MatchString(s) {
			return 0, fmt.Errorf("%s %q is no number", c.Text, s)
		}
	case !decimal.MatchString(s):
		return 0, fmt.Errorf("%s %q is cut off or no number", c.Text, s)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s %q: %w", c.Text, s, err)
	}
	return v, nil
}

// hidden says whether a row stands behind other text on a line: a library's
// message without a line end, say.
func (h header) hidden(fields []string) bool {
	if len(fields) <= h.width() {
		return false
	}
	_, extra, err := h.parseRow(fields[len(fields)-h.width():])
	return err == nil && extra == ""
}
