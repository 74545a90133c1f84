package main

import (
	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
)

// firstPage numbers the slots of each group apart.
func firstPage(group int) uint64 { return uint64(group) << 40 }

// sourcePools makes and fills a pool for each group.
func (n *node) sourcePools(g xfer.Geometry) ([]*fabric.Region, error) {
	pools, err := n.pools(g.SourceBytes())
	for group, p := range pools {
		fabric.FillPages(p.Bytes[:g.SourceBytes()], g.PageSize, g.Seed, firstPage(group))
	}
	return pools, err
}

// hashes are what the sender's pages must hash to, by slot. They come from the
// agreed seed, not from the sender.
func hashes(group int, g xfer.Geometry) []uint64 {
	return fabric.PageHashes(g.Lanes*g.Slots, g.PageSize, g.Seed, firstPage(group))
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

// free ends pools whose transfers are done or failed; what cannot be freed stays
// until the engine is closed.
func (n *node) free(pools []*fabric.Region) {
	for _, p := range pools {
		_ = n.engine.Free(p)
	}
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
