package xfer

import (
	"slices"
	"testing"
)

// Whatever the seed, pages come from distinct slots of the lane's part and go
// to distinct ones, and none reaches beyond its slot.
func TestPlansArePermutations(t *testing.T) {
	for _, g := range []Geometry{
		{PageSize: 4096, Pages: 1, Lanes: 1, Slots: 1},
		{PageSize: 4096, Pages: 100, Lanes: 3, Slots: 100, Gap: 192},
		{PageSize: 65536, Pages: 37, Lanes: 4, Slots: 1000, Gap: 64},
		{PageSize: 1, Pages: 4096, Lanes: 2, Slots: 4097},
	} {
		var p Plan
		for seed := range uint64(20) {
			for lane := range g.Lanes {
				p.Fill(g, lane, seed)
				checkPlan(t, g, lane, p)
			}
		}
	}
}

func checkPlan(t *testing.T, g Geometry, lane int, p Plan) {
	t.Helper()
	from, to := map[uint64]bool{}, map[uint64]bool{}
	first, last := uint64(lane*g.Slots), uint64((lane+1)*g.Slots)
	for k, slot := range p.Slot {
		dst := p.Dst[k] / uint64(g.Stride())
		if slot < first || slot >= last || dst < first || dst >= last || from[slot] || to[dst] || p.Src[k] != slot*uint64(g.PageSize) {
			t.Fatalf("%+v lane %d page %d: slot %d → %d", g, lane, k, slot, dst)
		}
		if p.Dst[k]%uint64(g.Stride())+uint64(g.PageSize) > uint64(g.Stride()) {
			t.Fatalf("%+v: page %d at %d reaches beyond its slot", g, k, p.Dst[k])
		}
		from[slot], to[dst] = true, true
	}
	if len(p.Slot) != g.Pages {
		t.Fatalf("%d pages, want %d", len(p.Slot), g.Pages)
	}
}

func TestPlansAreRandomAndTheSameOnBothEnds(t *testing.T) {
	g := Geometry{PageSize: 4096, Pages: 512, Lanes: 1, Slots: 1024}
	var a, b, c Plan
	a.Fill(g, 0, 1)
	b.Fill(g, 0, 1)
	c.Fill(g, 0, 2)
	if !slices.Equal(a.Dst, b.Dst) || !slices.Equal(a.Src, b.Src) {
		t.Error("the same seed gave two plans")
	}
	same, runs := 0, 0
	for k := range a.Dst {
		if a.Dst[k] == c.Dst[k] {
			same++
		}
		if k > 0 && a.Dst[k] == a.Dst[k-1]+4096 {
			runs++
		}
	}
	if same > 10 || runs > 10 {
		t.Errorf("%d of 512 pages at the same place with another seed, %d in sequence: not random", same, runs)
	}
}
