package main

import (
	"context"

	"github.com/nearmetal/nearmetal/bench/xfer"
)

// makePools makes what this end needs to send and to receive.
func (s *session) makePools(sends, receives bool, seed uint64) (err error) {
	if receives {
		if s.sink, err = newSink(s.n, s.hello.Geometry, s.end, xfer.Mix(seed)); err != nil {
			return err
		}
	}
	if sends {
		s.source, err = newSource(s.n, s.hello.Geometry, s.peer.Target, func(g int) uint32 { return s.ids[g] })
	}
	return err
}

// side is this end as the peer is told of it.
func (s *session) side() xfer.Side {
	d := xfer.Side{Provider: s.n.provider, Endpoints: s.n.endpoints, Warnings: s.n.warnings}
	if s.sink != nil {
		d.Target = keysOf(s.sink.pools)
	}
	return d
}

// keepAlive pings the peer while this end is busy filling memory.
func (s *session) keepAlive() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go s.ping(ctx)
	return cancel
}
