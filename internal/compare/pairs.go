package compare

import (
	"math"
	"slices"
	"sort"
)

// fewPairs is the number of pair values up to which they are laid out and
// sorted; more are counted in O(n), and only those near the wanted one stored.
const fewPairs = 8192

// pairs is the ordered set of values whose order statistics are the estimate
// and its interval: the Walsh averages of the blocks' log ratios, or all
// differences of two arms' logs.
type pairs struct {
	total    int64
	sorted   []float64 // all of them, when few
	min, max float64
	count    func(t float64) int64          // how many are ≤ t, when many
	between  func(lo, hi float64) []float64 // those > lo and ≤ hi, in any order, when many
}

// walsh gives the averages (d[i]+d[j])/2, i ≤ j. It sorts d. (Hodges and
// Lehmann 1963; Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3.2.)
func walsh(d []float64) pairs {
	slices.Sort(d)
	n := len(d)
	p := pairs{total: int64(n) * int64(n+1) / 2, min: d[0], max: d[n-1]}
	if p.total > fewPairs {
		p.count = func(t float64) int64 { return countWalsh(d, t) }
		p.between = func(lo, hi float64) []float64 { return walshBetween(d, lo, hi) }
		return p
	}
	p.sorted = make([]float64, 0, p.total)
	for i := range d {
		for j := i; j < n; j++ {
			p.sorted = append(p.sorted, d[i]/2+d[j]/2)
		}
	}
	slices.Sort(p.sorted)
	return p
}

// countWalsh walks the staircase of the sorted matrix of averages.
func countWalsh(d []float64, t float64) int64 {
	var c int64
	j := len(d) - 1
	for i := 0; i <= j; i++ {
		for j >= i && d[i]/2+d[j]/2 > t {
			j--
		}
		c += int64(j - i + 1)
	}
	return c
}

func walshBetween(d []float64, lo, hi float64) (out []float64) {
	j := len(d) - 1 // d[j+1:] make averages above hi, and stay so
	for i := 0; i <= j; i++ {
		for j >= i && d[i]/2+d[j]/2 > hi {
			j--
		}
		for k := j; k >= i; k-- {
			v := d[i]/2 + d[k]/2
			if v <= lo {
				break
			}
			out = append(out, v)
		}
	}
	return out
}

// differences gives other[j] - base[i] for all pairs. It sorts both.
// (Hodges and Lehmann 1963; Hollander, Wolfe, Chicken, 4.2–4.3.)
func differences(base, other []float64) pairs {
	slices.Sort(base)
	slices.Sort(other)
	m, n := len(base), len(other)
	p := pairs{total: int64(m) * int64(n), min: other[0] - base[m-1], max: other[n-1] - base[0]}
	if p.total > fewPairs {
		p.count = func(t float64) int64 { return countDifferences(base, other, t) }
		p.between = func(lo, hi float64) []float64 { return differencesBetween(base, other, lo, hi) }
		return p
	}
	p.sorted = make([]float64, 0, p.total)
	for _, b := range base {
		for _, o := range other {
			p.sorted = append(p.sorted, o-b)
		}
	}
	slices.Sort(p.sorted)
	return p
}

func countDifferences(base, other []float64, t float64) int64 {
	var c int64
	j := 0 // other[:j] - b ≤ t; grows with b
	for _, b := range base {
		for j < len(other) && other[j]-b <= t {
			j++
		}
		c += int64(j)
	}
	return c
}

func differencesBetween(base, other []float64, lo, hi float64) (out []float64) {
	j := 0 // other[:j] - b ≤ lo; grows with b
	for _, b := range base {
		for j < len(other) && other[j]-b <= lo {
			j++
		}
		for k := j; k < len(other) && other[k]-b <= hi; k++ {
			out = append(out, other[k]-b)
		}
	}
	return out
}

// atMost is how many values are ≤ t.
func (p pairs) atMost(t float64) int64 {
	if p.sorted != nil {
		return int64(sort.Search(len(p.sorted), func(i int) bool { return p.sorted[i] > t }))
	}
	return p.count(t)
}

// atLeast is how many values are ≥ t.
func (p pairs) atLeast(t float64) int64 {
	return p.total - p.atMost(math.Nextafter(t, math.Inf(-1)))
}

// kth is the k-th smallest value, k from 1, exactly.
func (p pairs) kth(k int64) float64 {
	if p.sorted != nil {
		return p.sorted[k-1]
	}
	return p.search(k)
}

// search narrows lo < value ≤ hi until few pairs are left between, by turns
// with a straight line through the counts (they are smooth) and in the middle
// (where ties make them jump).
func (p pairs) search(k int64) float64 {
	lo, hi := math.Nextafter(p.min, math.Inf(-1)), p.max
	below, upTo := int64(0), p.total // counts at lo and hi
	for turn := 0; upTo-below > fewPairs; turn++ {
		t := lo/2 + hi/2
		if turn%3 != 2 {
			t = lo + (hi-lo)*(float64(k-below)-0.5)/float64(upTo-below)
		}
		if t <= lo || t >= hi {
			if t = lo/2 + hi/2; t <= lo || t >= hi {
				return hi // neighbours: all that is left is hi
			}
		}
		if c := p.count(t); c >= k {
			hi, upTo = t, c
		} else {
			lo, below = t, c
		}
	}
	left := p.between(lo, hi)
	slices.Sort(left)
	return left[k-below-1]
}

// median is the Hodges–Lehmann estimate.
func (p pairs) median() float64 {
	if p.total%2 == 1 {
		return p.kth(p.total/2 + 1)
	}
	return p.kth(p.total/2)/2 + p.kth(p.total/2+1)/2
}
