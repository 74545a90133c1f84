package report

import (
	"cmp"
	"slices"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
)

// family is one benchmark's sizes with the statement about them.
type family struct {
	compare.Family
	cells []compare.Cell
}

// sized says that the benchmark has message sizes: it is drawn as a curve.
func (f family) sized() bool { return len(f.cells) > 1 || f.cells[0].Size != bench.NoSize }

func (f family) unit() string { return f.cells[0].Unit }

// title names the family without its placement.
func (f family) title() string {
	return plain(metricTitle(f.Benchmark, f.Metric))
}

// metricTitle is "latency", "bw bandwidth (median)", "latency (p99)": a mean
// goes without saying, as OSU prints it.
func metricTitle(benchmark, metric string) string {
	metric, statistic := bench.StatisticOf(metric)
	title := benchmark
	if metric != benchmark {
		title += " " + metric
	}
	if statistic != bench.Mean {
		title += " (" + statistic + ")"
	}
	return title
}

// placement is what ran on one shape of nodes.
type placement struct {
	name     string
	families []family
}

func (p placement) sized() (out []family) { return p.filter(family.sized) }
func (p placement) sizeless() (out []family) {
	return p.filter(func(f family) bool { return !f.sized() })
}

func (p placement) filter(keep func(family) bool) (out []family) {
	for _, f := range p.families {
		if keep(f) {
			out = append(out, f)
		}
	}
	return out
}

// placements arranges a comparison the way it is read: by placement, latency
// before bandwidth before the rest.
func placements(c compare.Comparison) []placement {
	var out []placement
	for _, f := range families(c) {
		i := slices.IndexFunc(out, func(p placement) bool { return p.name == f.Placement })
		if i < 0 {
			i, out = len(out), append(out, placement{name: f.Placement})
		}
		out[i].families = append(out[i].families, f)
	}
	for _, p := range out {
		slices.SortStableFunc(p.families, func(a, b family) int { return cmp.Compare(order(a), order(b)) })
	}
	return out
}

func order(f family) int {
	known := []string{"latency", "bw", "bibw", "mbw_mr", "msgrate"}
	if i := slices.Index(known, f.Benchmark); i >= 0 {
		return i
	}
	return len(known)
}

// families joins each family with its cells, sizes ascending. A family whose
// cells are not there is left out.
func families(c compare.Comparison) []family {
	type key struct{ suite, benchmark, placement, metric string }
	cells := map[key][]compare.Cell{}
	for _, x := range c.Cells {
		k := key{x.Suite, x.Benchmark, x.Placement, x.Metric}
		cells[k] = append(cells[k], x)
	}
	var out []family
	for _, f := range c.Families {
		x := cells[key{f.Suite, f.Benchmark, f.Placement, f.Metric}]
		if len(x) == 0 {
			continue
		}
		slices.SortStableFunc(x, func(a, b compare.Cell) int { return cmp.Compare(a.Size, b.Size) })
		out = append(out, family{f, x})
	}
	return out
}

// keyText names a cell in a sentence.
func keyText(k compare.Key) string {
	s := k.Benchmark + " " + k.Metric
	if k.Benchmark == k.Metric {
		s = k.Benchmark
	}
	if k.Size != bench.NoSize {
		s += " at " + size(k.Size)
	}
	return s + ", " + k.Placement
}
