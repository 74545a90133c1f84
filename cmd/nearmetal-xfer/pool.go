package main

import (
	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
)

// pageNumber tells the slots of all groups apart.
func pageNumber(group int, slot uint64) uint64 { return uint64(group)<<40 | slot }

// sourcePools makes and fills a pool for each group.
func (n *node) sourcePools(g xfer.Geometry) ([]*fabric.Region, error) {
	pools, err := n.pools(g.SourceBytes())
	for group, p := range pools {
		for slot := range uint64(g.Lanes) * uint64(g.Slots) {
			at := slot * uint64(g.PageSize)
			fabric.Fill(p.Bytes[at:at+uint64(g.PageSize)], g.Seed, pageNumber(group, slot))
		}
	}
	return pools, err
}

// hashes are what the sender's pages must hash to, by slot. They come from the
// agreed seed, not from the sender.
func hashes(group int, g xfer.Geometry) []uint64 {
	page := make([]byte, g.PageSize)
	out := make([]uint64, g.Lanes*g.Slots)
	for slot := range out {
		fabric.Fill(page, g.Seed, pageNumber(group, uint64(slot)))
		out[slot] = fabric.BodyHash(page)
	}
	return out
}

func (n *node) pools(size int64) ([]*fabric.Region, error) {
	const huge = 2 << 20
	var out []*fabric.Region
	for g := range n.groups {
		r, err := n.engine.Alloc(g, (size+huge-1)/huge*huge)
		if err != nil {
			n.free(out)
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// free returns what can be returned; memory that the provider still owes a
// completion for stays until the program ends.
func (n *node) free(pools []*fabric.Region) (kept int) {
	for _, p := range pools {
		if n.engine.Free(p) != nil {
			kept++
		}
	}
	return kept
}

func keysOf(pools []*fabric.Region) [][]xfer.Key {
	var out [][]xfer.Key
	for _, p := range pools {
		var row []xfer.Key
		for _, k := range p.Keys {
			row = append(row, xfer.Key(k))
		}
		out = append(out, row)
	}
	return out
}
