package compare

import "slices"

// holm corrects p-values for having been looked at together: the smallest
// times m, the next times m-1, and so on, never decreasing (Holm 1979). It
// holds under any dependence between them; sizes of one launch do depend.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(p))
	running := 0.0
	for i, at := range order {
		running = max(running, min(1, p[at]*float64(len(p)-i)))
		out[at] = running
	}
	return out
}

// correct applies Holm to what pick takes from each cell.
func correct(cells []Cell, pick func(Cell) float64) []float64 {
	p := make([]float64, len(cells))
	for i, c := range cells {
		p[i] = pick(c)
	}
	return holm(p)
}

// claimed lists the sizes whose corrected p-value reaches alpha and whose own
// interval shows the same, so that a family never says more than its cells.
func claimed(cells []Cell, p []float64, alpha float64, shown func(Cell) bool) []int64 {
	out := []int64{}
	for i, c := range cells {
		if p[i] <= alpha && shown(c) {
			out = append(out, c.Size)
		}
	}
	return out
}

// newFamily judges the cells of one family and writes their PHolm. missing is
// the number of sizes that could not be compared: they are not equivalent.
func newFamily(cells []Cell, missing int, o Options) Family {
	alpha := 1 - o.Confidence
	k := cells[0].Key
	f := Family{Suite: k.Suite, Benchmark: k.Benchmark, Placement: k.Placement, Metric: k.Metric, Cells: len(cells)}
	p := correct(cells, func(c Cell) float64 { return c.Effect.P })
	for i := range cells {
		cells[i].PHolm = p[i]
		if cells[i].Equivalent {
			f.EquivalentCells++
		}
		f.NeedBlocks = moreBlocks(f.NeedBlocks, cells[i].NeedBlocks)
	}
	f.DifferentSizes = claimed(cells, p, alpha, func(c Cell) bool { return c.Different })
	f.DifferentSomewhere = len(f.DifferentSizes) > 0
	slower := correct(cells, func(c Cell) float64 { return c.Effect.PSlower })
	faster := correct(cells, func(c Cell) float64 { return c.Effect.PFaster })
	f.SlowerSizes = claimed(cells, slower, alpha, func(c Cell) bool { return c.WorseThanMargin })
	f.FasterSizes = claimed(cells, faster, alpha, func(c Cell) bool { return c.BetterThanMargin })
	f.EquivalentEverywhere = f.EquivalentCells == len(cells) && missing == 0
	f.Verdict = familyVerdict(len(f.SlowerSizes) > 0, len(f.FasterSizes) > 0, f.EquivalentEverywhere, f.DifferentSomewhere)
	return f
}

func familyVerdict(slower, faster, equivalent, different bool) Verdict {
	switch {
	case slower && faster:
		return Mixed
	case slower:
		return Slower
	case faster:
		return Faster
	case equivalent:
		return Equivalent
	case different:
		return Different
	}
	return Undecided
}

// moreBlocks is the larger need, where neverBlocks is the largest of all.
func moreBlocks(a, b int) int {
	if a == neverBlocks || b == neverBlocks {
		return neverBlocks
	}
	return max(a, b)
}

func sameFamily(a, b Key) bool {
	a.Size, b.Size = 0, 0
	return a == b
}

// families cuts cells, which are sorted by key, into families.
func families(cells []Cell, missing []Missing, o Options) []Family {
	out := []Family{}
	for i := 0; i < len(cells); {
		j := i + 1
		for j < len(cells) && sameFamily(cells[i].Key, cells[j].Key) {
			j++
		}
		lost := 0
		for _, m := range missing {
			if sameFamily(m.Key, cells[i].Key) {
				lost++
			}
		}
		f := newFamily(cells[i:j], lost, o)
		f.Sentence = familySentence(f, cells[i:j], o)
		out = append(out, f)
		i = j
	}
	return out
}
