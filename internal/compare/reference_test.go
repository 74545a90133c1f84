package compare

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// rRow is one line of testdata/r/wilcox.jsonl.
type rRow struct {
	Kind             string
	Base, Other      []float64
	Estimate, Lo, Hi float64 // log scale
	P                float64
	M, N             int
	Q, Prob          []float64
}

func rRows(t *testing.T) []rRow {
	t.Helper()
	f, err := os.Open("testdata/r/wilcox.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []rRow
	for s := bufio.NewScanner(f); s.Scan(); {
		var r rRow
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if len(out) != 22 {
		t.Fatalf("%d rows, want 22", len(out))
	}
	return out
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(b)) }

func TestAgreesWithR(t *testing.T) {
	tab := newTables()
	o := Options{}.withDefaults()
	for i, r := range rRows(t) {
		switch r.Kind {
		case "blocked":
			sameAsR(t, i, r, blockedEffect(r.Base, r.Other, 0, o, tab))
		case "unblocked":
			sameAsR(t, i, r, unblockedEffect(r.Base, r.Other, 0, o, tab))
		case "psignrank":
			sameTail(t, r, tab.forBlocks(r.N))
		case "pwilcox":
			sameTail(t, r, tab.forLaunches(r.M, r.N))
		default:
			t.Errorf("row %d: unknown kind %q", i, r.Kind)
		}
	}
}

func sameAsR(t *testing.T, i int, r rRow, e Effect) {
	t.Helper()
	for _, v := range [][2]float64{{math.Log(e.Ratio), r.Estimate}, {math.Log(e.Lo), r.Lo}, {math.Log(e.Hi), r.Hi}, {e.P, r.P}} {
		if !near(v[0], v[1], 1e-9) {
			t.Errorf("row %d (%s, %d and %d): got %v, R says %v", i, r.Kind, len(r.Base), len(r.Other), v[0], v[1])
		}
	}
}

func sameTail(t *testing.T, r rRow, d *null) {
	t.Helper()
	for i, q := range r.Q {
		if got := d.tail(int64(q)); !near(got, r.Prob[i], 1e-12) {
			t.Errorf("%s(%v, %d, %d) = %v, R says %v", r.Kind, q, r.M, r.N, got, r.Prob[i])
		}
	}
}

// Critical values, two-sided 5 %: Hollander, Wolfe, Chicken, Nonparametric
// Statistical Methods (3rd ed.), tables A.4 and A.6; the same in Wilcoxon and Wilcox 1964.
func TestPublishedCriticalValues(t *testing.T) {
	tab := newTables()
	for n, want := range map[int]int64{5: -1, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25, 16: 29, 17: 34, 18: 40, 19: 46, 20: 52, 25: 89, 30: 137} {
		if got := tab.forBlocks(n).critical(0.025); got != want {
			t.Errorf("signed rank, %d blocks: %d, want %d", n, got, want)
		}
	}
	for mn, want := range map[[2]int]int64{{3, 3}: -1, {4, 4}: 0, {5, 5}: 2, {8, 8}: 13, {10, 10}: 23, {10, 20}: 55, {20, 20}: 127} {
		if got := tab.forLaunches(mn[0], mn[1]).critical(0.025); got != want {
			t.Errorf("Mann–Whitney, %v launches: %d, want %d", mn, got, want)
		}
	}
}

// The examples of R's help page ?wilcox.test, from Hollander and Wolfe 1973,
// pages 29f and 69f: V = 40, p = 0.01953; W = 35, p = 0.1272; both one-sided.
func TestTextbookExamples(t *testing.T) {
	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	d := make([]float64, len(before))
	for i := range before {
		d[i] = before[i] - after[i]
	}
	s := logShift{walsh(d), signedRankNull(len(d)), 0}
	if v := s.atLeast(0); v != 40 || !near(s.above(0), 0.01953, 1e-5) {
		t.Errorf("depression scale: V = %d, p = %v", v, s.above(0))
	}
	atTerm := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	weeks12to26 := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	s = logShift{differences(weeks12to26, atTerm), mannWhitneyNull(5, 10), 0}
	if w := s.atLeast(0); w != 35 || !near(s.above(0), 0.1272, 1e-4) {
		t.Errorf("placenta: W = %d, p = %v", w, s.above(0))
	}
}

func TestNormalTakesOverSmoothly(t *testing.T) {
	for _, d := range []*null{signedRankNull(exactSignedRank), mannWhitneyNull(exactMannWhitney, exactMannWhitney)} {
		normal := *d
		normal.cum = nil
		for c := int64(0); c < d.total; c++ {
			if exact := d.tail(c); exact < 0.1 && math.Abs(exact-normal.tail(c)) > 0.0005 {
				t.Fatalf("tail(%d): exact %v, normal %v", c, exact, normal.tail(c))
			}
		}
	}
}
