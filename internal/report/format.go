package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
)

const none = "–" // shown where there is no value

// size writes bytes the way people name message sizes: 512 B, 1 KiB, 4 MiB.
func size(b int64) string {
	if b == bench.NoSize {
		return none
	}
	f, unit := float64(b), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, u
	}
	return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) + " " + unit
}

// significant writes v with four significant digits and no exponent.
func significant(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	decimals := 3 - int(math.Floor(math.Log10(math.Abs(v))))
	return strconv.FormatFloat(v, 'f', max(0, min(decimals, 8)), 64)
}

// ratio writes a ratio with as many digits as its interval deserves.
func ratio(v float64) string {
	switch {
	case math.Abs(v) >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// interval writes both ends of an effect's interval.
func interval(e compare.Effect) string {
	if e.N == 0 {
		return none
	}
	return ratio(e.Lo) + "–" + ratio(e.Hi)
}

// noise writes the A/A interval as its farthest end from 1, either way: ±1.2 %,
// or ×3.5 where it is that wide.
func noise(e *compare.Effect) string {
	if e == nil || e.N == 0 {
		return none
	}
	factor := max(e.Hi, 1/e.Lo)
	if factor >= 2 {
		return "×" + strconv.FormatFloat(factor, 'g', 3, 64)
	}
	return fmt.Sprintf("±%.1f %%", 100*(factor-1))
}

// percent writes a share of 1.
func percent(v float64) string {
	p := v * 100
	switch a := math.Abs(p); {
	case a >= 10:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	case a >= 1 || a == 0:
		return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
	}
	return strconv.FormatFloat(p, 'f', 2, 64) + " %"
}

// unit writes a unit for people.
func unit(u string) string {
	if u == "us" {
		return "µs"
	}
	return short(u, nameWidth)
}

// verdictMark is a sign for a verdict, so that colour never stands alone.
func verdictMark(v compare.Verdict) string {
	switch v {
	case compare.Equivalent:
		return "="
	case compare.Slower:
		return "▲"
	case compare.Faster:
		return "▼"
	case compare.Different, compare.Mixed:
		return "≠"
	}
	return "?"
}

// plain makes outside text safe to print: control characters (terminal
// escapes, newlines) and the bidirectional overrides become visible escapes.
func plain(s string) string {
	clean := unicode.IsPrint // false for controls and format characters
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) || r == unicode.ReplacementChar }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if clean(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "\\u%04x", r)
	}
	return b.String()
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// short cuts an outside name to a column's width.
func short(s string, width int) string { return ansi.Truncate(plain(s), width, "…") }

// Plain makes outside text safe for a terminal, for those who print a sentence
// of a comparison themselves.
func Plain(s string) string { return plain(s) }
