package compare

import (
	"math"
	"slices"
	"sort"
)

// fewPairs is the number of pair values up to which they are laid out and
// sorted; more are counted in O(n) without being stored.
const fewPairs = 8192

// pairs is the ordered set of values whose order statistics are the estimate
// and its interval: the Walsh averages of the blocks' log ratios, or all
// differences of two arms' logs.
type pairs struct {
	total    int64
	sorted   []float64 // all of them, when few
	min, max float64
	count    func(t float64) int64 // how many are ≤ t, when many
}

// walsh gives the averages (d[i]+d[j])/2, i ≤ j. It sorts d. (Hodges and
// Lehmann 1963; Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3.2.)
func walsh(d []float64) pairs {
	slices.Sort(d)
	n := len(d)
	p := pairs{total: int64(n) * int64(n+1) / 2, min: d[0], max: d[n-1]}
	if p.total > fewPairs {
		p.count = func(t float64) int64 { return countWalsh(d, t) }
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

// differences gives other[j] - base[i] for all pairs. It sorts both.
// (Hodges and Lehmann 1963; Hollander, Wolfe, Chicken, 4.2–4.3.)
func differences(base, other []float64) pairs {
	slices.Sort(base)
	slices.Sort(other)
	m, n := len(base), len(other)
	p := pairs{total: int64(m) * int64(n), min: other[0] - base[m-1], max: other[n-1] - base[0]}
	if p.total > fewPairs {
		p.count = func(t float64) int64 { return countDifferences(base, other, t) }
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

// kth is the k-th smallest value, k from 1, exactly: without the sorted list
// it bisects over the representable numbers between min and max.
func (p pairs) kth(k int64) float64 {
	if p.sorted != nil {
		return p.sorted[k-1]
	}
	lo, hi := ordered(p.min), ordered(p.max)
	for lo < hi {
		mid := lo + (hi-lo)/2
		if p.count(unordered(mid)) >= k {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return unordered(lo)
}

// median is the Hodges–Lehmann estimate.
func (p pairs) median() float64 {
	if p.total%2 == 1 {
		return p.kth(p.total/2 + 1)
	}
	return p.kth(p.total/2)/2 + p.kth(p.total/2+1)/2
}

// ordered maps a float to an integer of the same order (IEEE 754).
func ordered(f float64) uint64 {
	b := math.Float64bits(f)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func unordered(u uint64) float64 {
	if u>>63 == 1 {
		return math.Float64frombits(u &^ (1 << 63))
	}
	return math.Float64frombits(^u)
}
