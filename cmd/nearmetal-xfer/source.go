package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
)

// aheadPerLane is how many transfers of a lane may be unsettled here: one that
// has landed may still lack its local completion when the next is offered.
// A peer that offers more is made to wait, since its frames are not read.
const aheadPerLane = 4

// source sends what the peer offers to take.
type source struct {
	n      *node
	g      xfer.Geometry
	pools  []*fabric.Region
	keys   [][]fabric.Key // the peer's, [group][rail]
	peers  func(group int) uint32
	route  uint32
	events chan fabric.Event
	plan   xfer.Plan
	flying []atomic.Int32 // [group × lanes + lane]
}

func newSource(n *node, g xfer.Geometry, target [][]xfer.Key, peers func(int) uint32) (*source, error) {
	pools, err := n.sourcePools(g)
	if err != nil {
		return nil, err
	}
	s := &source{n: n, g: g, pools: pools, peers: peers, flying: make([]atomic.Int32, n.groups*g.Lanes)}
	s.route, s.events = n.route(n.groups*g.Lanes*(aheadPerLane+1) + 16)
	s.keys = asFabric(target)
	return s, nil
}

func asFabric(keys [][]xfer.Key) [][]fabric.Key {
	var out [][]fabric.Key
	for _, g := range keys {
		var row []fabric.Key
		for _, k := range g {
			row = append(row, fabric.Key(k))
		}
		out = append(out, row)
	}
	return out
}

// start sends an offered lane. Called by the session's reader only.
func (s *source) start(o xfer.Offer) error {
	lane := int(o.Group)*s.g.Lanes + int(o.Lane)
	if err := s.settle(lane); err != nil {
		return err
	}
	s.flying[lane].Add(1)
	s.plan.Fill(s.g, int(o.Lane), o.Seed)
	return s.n.engine.Send(int(o.Group), fabric.Transfer{
		ID: uint64(s.route)<<32 | uint64(lane), Seed: o.Seed, Region: s.pools[o.Group], Peer: s.peers(int(o.Group)), Tag: o.Tag,
		PageSize: uint32(s.g.PageSize), Flags: fabric.Stamp, Src: s.plan.Src, Dst: s.plan.Dst, Keys: s.keys[o.Group],
	})
}

func (s *source) settle(lane int) error {
	for end := time.Now().Add(peerSilence); s.flying[lane].Load() >= aheadPerLane; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%d transfers of a lane did not complete in %s", aheadPerLane, peerSilence)
		}
	}
	return nil
}

// watch gives the first error of a transfer.
func (s *source) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-s.events:
			s.flying[uint32(e.ID)].Add(-1)
			if e.Err != nil && !errors.Is(e.Err, fabric.ErrCanceled) {
				return fmt.Errorf("sending to the peer: %w", e.Err)
			}
		}
	}
}

func (s *source) free() {
	s.n.routes.Delete(s.route)
	s.n.free(s.pools)
}
