// Package scan plans a measurement of all pairs of nodes and finds which
// nodes and links are slow.
//
//	Rounds (all pairs) or Sample (some rounds) ──→ launches ──→ []Pair ──Analyse──→ Report
//
// In a round every node is in one pair at most, so that the pairs of a round
// run at once: n nodes take n-1 rounds, or n when n is odd.
package scan

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Link is two nodes by number; data flows from From to To.
type Link struct{ From, To int }

// Rounds lays all pairs of n nodes out by the circle method: node n-1 stays,
// the others turn.
func Rounds(n int) [][]Link {
	m := n + n%2 // an odd number gets a node that rests
	var out [][]Link
	for r := range max(0, m-1) {
		out = append(out, round(n, m, r))
	}
	return out
}

func round(n, m, r int) (out []Link) {
	add := func(a, b int) {
		if a < n && b < n {
			out = append(out, Link{min(a, b), max(a, b)})
		}
	}
	add(m-1, r)
	for i := 1; i < m/2; i++ {
		add((r+i)%(m-1), (r-i+m-1)%(m-1))
	}
	return out
}

// Sample takes some of the rounds, spread by the seed: each node then meets
// that many others. With 1,000 nodes, 16 rounds tell a slow node from a slow
// link at 1.6 % of the cost. Every other round is turned round, so that a
// direction that loses data shows.
func Sample(n, rounds int, seed uint64) [][]Link {
	m := n + n%2
	rng := rand.New(rand.NewPCG(seed, 0x7363616e))
	var out [][]Link
	for k, r := range rng.Perm(max(0, m-1))[:min(rounds, max(0, m-1))] {
		links := round(n, m, r)
		if k%2 == 1 {
			for i, l := range links {
				links[i] = Link{l.To, l.From}
			}
		}
		out = append(out, links)
	}
	return out
}

// Pair is what was measured of a link.
type Pair struct {
	Link
	Latency   float64 // us; NaN: not measured
	Bandwidth float64 // MB/s, from From to To; NaN: not measured
	Why       string  // why nothing was measured; "" when it was
}

// Outlier is a node or a link that is slow.
type Outlier struct {
	Kind   string  // "node", "link", "one way"
	Node   int     // of a node
	Link   Link    // of a link
	Metric string  // "latency", "bandwidth"
	Factor float64 // times slower than expected: of a node than the median of all, of a link than its nodes let expect
	Pairs  int     // measured pairs that show it
}

// Report is what Analyse finds.
type Report struct {
	Latency   float64 // median over all pairs, us; NaN: none
	Bandwidth float64 // median, MB/s; NaN: none
	Failed    int     // pairs without a value
	Outliers  []Outlier
}

// Thresholds of an outlier: slower by more than this, and by more robust
// standard deviations than noise reaches among so many.
const (
	leastFactor = 1.10
	sigmas      = 3.5 // on top of what the largest of n normal values reaches
	fewPairs    = 3   // with fewer, a node and its link cannot be told apart
)

// Analyse splits the logarithm of each pair into a common part, one for each
// node and a rest (median polish, Tukey 1977), so that one slow node does not
// make all its links suspicious.
func Analyse(n int, pairs []Pair) Report {
	var r Report
	lat := func(p Pair) float64 { return p.Latency }
	bw := func(p Pair) float64 { return 1 / p.Bandwidth } // as time: more is slower
	r.Latency, r.Bandwidth = medianOf(pairs, lat), 1/medianOf(pairs, bw)
	for _, p := range pairs {
		if !good(p.Latency) && !good(p.Bandwidth) {
			r.Failed++
		}
	}
	r.Outliers = append(outliers(n, pairs, "latency", lat), outliers(n, pairs, "bandwidth", bw)...)
	slices.SortStableFunc(r.Outliers, func(a, b Outlier) int { return cmp.Compare(b.Factor, a.Factor) })
	return r
}

func good(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

func medianOf(pairs []Pair, value func(Pair) float64) float64 {
	var v []float64
	for _, p := range pairs {
		if x := value(p); good(x) {
			v = append(v, x)
		}
	}
	return median(v)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// fit is the median polish of one metric.
type fit struct {
	node  []float64 // log factor of each node; 0 where it has no pair
	count []int     // pairs of each node
	rest  []float64 // log factor of each pair beyond its nodes; NaN: not measured
}

const polishes = 8

func polish(n int, pairs []Pair, value func(Pair) float64) fit {
	f := fit{make([]float64, n), make([]int, n), make([]float64, len(pairs))}
	logs := make([]float64, len(pairs))
	of := make([][]int, n)
	common := math.Log(medianOf(pairs, value))
	for i, p := range pairs {
		logs[i] = math.NaN()
		if v := value(p); good(v) {
			logs[i] = math.Log(v) - common
			of[p.From], of[p.To] = append(of[p.From], i), append(of[p.To], i)
		}
	}
	for range polishes {
		next := make([]float64, n)
		for a := range n {
			var v []float64
			for _, i := range of[a] {
				v = append(v, logs[i]-f.node[pairs[i].From+pairs[i].To-a])
			}
			if f.count[a] = len(v); len(v) >= fewPairs {
				next[a] = median(v)
			}
		}
		f.node = next
	}
	for i, p := range pairs {
		f.rest[i] = logs[i] - f.node[p.From] - f.node[p.To]
	}
	return f
}

func outliers(n int, pairs []Pair, metric string, value func(Pair) float64) (out []Outlier) {
	f := polish(n, pairs, value)
	limit := limitOf(f.node)
	for a, v := range f.node {
		if v > limit {
			out = append(out, Outlier{Kind: "node", Node: a, Metric: metric, Factor: math.Exp(v), Pairs: f.count[a]})
		}
	}
	limit = limitOf(f.rest)
	slow := map[Link]bool{}
	seen := map[Link]bool{}
	for i, p := range pairs {
		if !math.IsNaN(f.rest[i]) {
			seen[p.Link] = true
			slow[p.Link] = f.rest[i] > limit
		}
	}
	for i, p := range pairs {
		if back := (Link{p.To, p.From}); slow[p.Link] {
			kind := "link"
			if seen[back] && !slow[back] {
				kind = "one way"
			}
			out = append(out, Outlier{Kind: kind, Link: p.Link, Metric: metric, Factor: math.Exp(f.rest[i]), Pairs: 1})
		}
	}
	return out
}

// limitOf is the log factor above which one of the values is an outlier.
func limitOf(v []float64) float64 {
	v = slices.DeleteFunc(slices.Clone(v), math.IsNaN)
	centre := median(v)
	dev := make([]float64, len(v))
	for i := range v {
		dev[i] = math.Abs(v[i] - centre)
	}
	sd := 1.4826 * median(dev) // of a normal distribution
	most := math.Sqrt(2 * math.Log(float64(max(2, len(v)))))
	if limit := centre + sd*(most+sigmas); limit > math.Log(leastFactor) {
		return limit
	}
	return math.Log(leastFactor)
}

// Text is an outlier in a sentence, with the nodes' names.
func (o Outlier) Text(names []string) string {
	switch o.Kind {
	case "node":
		return fmt.Sprintf("node %s: %s %.2f times slower than the median node, in its %d pairs together", names[o.Node], o.Metric, o.Factor, o.Pairs)
	case "one way":
		return fmt.Sprintf("link %s to %s: %s %.2f times slower than its nodes let expect, and fine the other way", names[o.Link.From], names[o.Link.To], o.Metric, o.Factor)
	}
	return fmt.Sprintf("link %s to %s: %s %.2f times slower than its nodes let expect", names[o.Link.From], names[o.Link.To], o.Metric, o.Factor)
}
