package spack

import (
	"strconv"
	"strings"
)

// Compare orders two versions by their numbers: -1, 0 or 1. A version that is
// the beginning of another is the older one (5.0 < 5.0.7). What is no number
// counts by its letters and comes before every number, as Spack's rc and beta do.
func Compare(a, b string) int {
	x, y := parts(a), parts(b)
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x):
			return -1
		case i >= len(y):
			return 1
		}
		if c := comparePart(x[i], y[i]); c != 0 {
			return c
		}
	}
	return 0
}

func parts(v string) []string {
	return strings.FieldsFunc(v, func(r rune) bool { return r == '.' || r == '-' || r == '_' })
}

func comparePart(a, b string) int {
	n, err1 := strconv.Atoi(a)
	m, err2 := strconv.Atoi(b)
	switch {
	case err1 == nil && err2 == nil:
		return compareInts(n, m)
	case err1 == nil:
		return 1
	case err2 == nil:
		return -1
	}
	return strings.Compare(a, b)
}

func compareInts(n, m int) int {
	switch {
	case n < m:
		return -1
	case n > m:
		return 1
	}
	return 0
}

// under says whether v is prefix or below it in whole parts: 5.0.7 is under
// 5.0 and 5, and 5.01 is not under 5.0. Every version is under "".
func under(v, prefix string) bool {
	x, y := parts(v), parts(prefix)
	if len(y) > len(x) {
		return false
	}
	for i := range y {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

// contains reads Spack's own ranges (Packaging Guide, "Version constraints"):
// "4.2.4:" from there on, ":4.1.5" up to there with all of 4.1.5.x, "4:5"
// between, "5.0" that one and what is under it, "" any; commas join several.
func contains(ranges, v string) bool {
	if ranges == "" {
		return true
	}
	for _, r := range strings.Split(ranges, ",") {
		lo, hi, isRange := strings.Cut(r, ":")
		if !isRange {
			if under(v, r) {
				return true
			}
			continue
		}
		above := lo == "" || Compare(v, lo) >= 0 || under(lo, v) && v != ""
		below := hi == "" || Compare(v, hi) <= 0 || under(v, hi)
		if above && below {
			return true
		}
	}
	return false
}
