package compare

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Largest sizes with an exact null distribution; beyond them the normal
// approximation with continuity correction is used, whose error in the tails
// is then below 0.0005 (TestNormalTakesOverSmoothly).
const (
	exactSignedRank  = 100 // blocks
	exactMannWhitney = 50  // launches of each arm
)

var stdNormal = distuv.UnitNormal // a value; holds no source of randomness

// null is the distribution of a rank statistic on 0…total, symmetric about
// total/2, when there is no difference.
type null struct {
	total     int64
	cum       []float64 // P(S ≤ i); nil when approximated
	mean, dev float64
}

// tail is P(S ≤ c).
func (d *null) tail(c int64) float64 {
	switch {
	case c < 0:
		return 0
	case c >= d.total:
		return 1
	case d.cum != nil:
		return d.cum[c]
	}
	return stdNormal.CDF((float64(c) + 0.5 - d.mean) / d.dev)
}

// critical is the largest c with tail(c) ≤ p, -1 when there is none.
func (d *null) critical(p float64) int64 {
	lo, hi := int64(-1), d.total
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if d.tail(mid) <= p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// tables keeps the null distributions made during one comparison.
type tables struct {
	signedRank  map[int]*null
	mannWhitney map[[2]int]*null
}

func newTables() *tables {
	return &tables{signedRank: map[int]*null{}, mannWhitney: map[[2]int]*null{}}
}

func (t *tables) forBlocks(n int) *null {
	if t.signedRank[n] == nil {
		t.signedRank[n] = signedRankNull(n)
	}
	return t.signedRank[n]
}

func (t *tables) forLaunches(m, n int) *null {
	k := [2]int{min(m, n), max(m, n)}
	if t.mannWhitney[k] == nil {
		t.mannWhitney[k] = mannWhitneyNull(k[0], k[1])
	}
	return t.mannWhitney[k]
}

// signedRankNull is the distribution of Wilcoxon's W+ over n differences:
// each rank 1…n counts with probability ½.
func signedRankNull(n int) *null {
	total := int64(n) * int64(n+1) / 2
	d := &null{total: total, mean: float64(total) / 2}
	d.dev = math.Sqrt(float64(n) * float64(n+1) * float64(2*n+1) / 24)
	if n > exactSignedRank {
		return d
	}
	p := make([]float64, total+1)
	p[0] = 1
	top := 0
	for rank := 1; rank <= n; rank++ {
		top += rank
		for s := top; s >= 0; s-- {
			p[s] *= 0.5
			if s >= rank {
				p[s] += 0.5 * p[s-rank]
			}
		}
	}
	d.cum = cumulate(p)
	return d
}

// mannWhitneyNull is the distribution of U for arms of m and n launches: of
// all ways to choose m of m+n ranks, the share whose ranks sum to U + m(m+1)/2.
func mannWhitneyNull(m, n int) *null {
	total := int64(m) * int64(n)
	d := &null{total: total, mean: float64(total) / 2}
	d.dev = math.Sqrt(float64(m) * float64(n) * float64(m+n+1) / 12)
	if m > exactMannWhitney || n > exactMannWhitney {
		return d
	}
	top := m * (m + 2*n + 1) / 2
	ways := make([][]float64, m+1) // ways[j][s]: j ranks chosen, sum s
	for j := range ways {
		ways[j] = make([]float64, top+1)
	}
	ways[0][0] = 1
	for rank := 1; rank <= m+n; rank++ {
		for j := min(rank, m); j >= 1; j-- {
			for s := top; s >= rank; s-- {
				ways[j][s] += ways[j-1][s-rank]
			}
		}
	}
	d.cum = cumulate(ways[m][m*(m+1)/2 : int64(m*(m+1)/2)+total+1])
	return d
}

func cumulate(weights []float64) []float64 {
	cum := make([]float64, len(weights))
	sum := 0.0
	for i, w := range weights {
		sum += w
		cum[i] = sum
	}
	for i := range cum {
		cum[i] /= sum
	}
	return cum
}
