package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/nearmetal/nearmetal/bench"
)

// Which arm a value belongs to.
const (
	baseArm = iota
	otherArm
	noiseArm
	armCount
)

// obs is one usable sample.
type obs struct {
	block, launch int
	value         float64
}

// group is all that was measured for a key.
type group struct {
	Key
	unit    string
	units   bool // the samples carry different units
	arm     [armCount][]obs
	dropped [armCount]int // NaN, infinite, zero or negative values
	rounder rounder
}

// add files a sample under an arm.
func (g *group) add(arm int, s bench.Sample) {
	if s.Unit != g.unit {
		g.units = true
	}
	if !(s.Value > 0) || math.IsInf(s.Value, 0) {
		g.dropped[arm]++
		return
	}
	g.rounder.add(s.Value)
	g.arm[arm] = append(g.arm[arm], obs{s.Block, s.Launch, s.Value})
}

// groups collects samples by key.
type groups struct {
	byKey map[Key]*group
	last  *group // samples of a cell mostly come together
}

func newGroups() *groups { return &groups{byKey: map[Key]*group{}} }

func (gs *groups) of(s *bench.Sample) *group {
	k := Key{s.Suite, s.Benchmark, s.Placement, s.Metric, s.Size}
	if gs.last != nil && gs.last.Key == k {
		return gs.last
	}
	g := gs.byKey[k]
	if g == nil {
		g = &group{Key: k, unit: s.Unit}
		gs.byKey[k] = g
	}
	gs.last = g
	return g
}

// take files the samples of the named arms, leaving out warm-ups and other
// arms. An empty name takes nothing.
func (gs *groups) take(samples []bench.Sample, names [armCount]string) {
	for i := range samples {
		s := &samples[i]
		if s.Block < 0 {
			continue
		}
		for arm, name := range names {
			if name != "" && s.Arm == name {
				gs.of(s).add(arm, *s)
			}
		}
	}
}

// sorted gives the groups in a fixed order, sizes ascending.
func (gs *groups) sorted() []*group {
	out := make([]*group, 0, len(gs.byKey))
	for _, g := range gs.byKey {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *group) int { return compareKeys(a.Key, b.Key) })
	return out
}

func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Placement, b.Placement),
		cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Size, b.Size))
}

// launches reduces an arm to one value a launch, the median of its samples,
// in order of block and launch. reduced says that some launch had several.
func launches(in []obs) (out []obs, reduced bool) {
	return medians(in, func(a, b obs) bool { return a.block == b.block && a.launch == b.launch })
}

// blocks reduces launches to one value a block.
func blocks(in []obs) (out []obs, reduced bool) {
	return medians(in, func(a, b obs) bool { return a.block == b.block })
}

func medians(in []obs, same func(a, b obs) bool) (out []obs, reduced bool) {
	sorted := slices.Clone(in)
	slices.SortFunc(sorted, func(a, b obs) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.launch, b.launch))
	})
	out = make([]obs, 0, len(sorted))
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && same(sorted[i], sorted[j]) {
			j++
		}
		o := sorted[i]
		if j > i+1 {
			reduced = true
			o.value = median(valuesOf(sorted[i:j]))
		}
		out = append(out, o)
		i = j
	}
	return out, reduced
}

// paired keeps the blocks that both arms have; lost counts the others.
func paired(base, other []obs) (b, o []float64, lost int) {
	i, j := 0, 0
	for i < len(base) && j < len(other) {
		switch {
		case base[i].block < other[j].block:
			i++
		case base[i].block > other[j].block:
			j++
		default:
			b, o = append(b, base[i].value), append(o, other[j].value)
			i++
			j++
		}
	}
	return b, o, len(base) + len(other) - 2*len(b)
}

func valuesOf(in []obs) []float64 {
	out := make([]float64, len(in))
	for i, o := range in {
		out[i] = o.value
	}
	return out
}
