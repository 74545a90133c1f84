package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
)

const (
	stall        = 5 * time.Second // no page for so long is an error
	keptLatences = 100_000
)

// sink offers lanes to the peer, sees every page verified, and keeps the time.
type sink struct {
	n         *node
	g         xfer.Geometry
	end       string
	pools     []*fabric.Region
	expect    [][]uint64 // hash by slot, of each group
	account   uint32
	route     uint32
	events    chan fabric.Event
	send      func(xfer.Frame) error
	rng       *rand.Rand
	plan      xfer.Plan
	want      []uint64 // hashes of one transfer
	flying    int
	pages     atomic.Uint64 // in transfers that have ended well
	bad       atomic.Uint64
	closing   atomic.Bool
	inWindow  atomic.Bool
	latencies []float64
	senderCPU chan float64
}

func newSink(n *node, g xfer.Geometry, end string, seed uint64) (*sink, error) {
	pools, err := n.pools(g.TargetBytes())
	if err != nil {
		return nil, err
	}
	s := &sink{n: n, g: g, end: end, pools: pools, rng: rand.New(rand.NewPCG(seed, 0)), senderCPU: make(chan float64, 2)}
	for group := range n.groups {
		s.expect = append(s.expect, hashes(group, g))
	}
	s.route, s.events = n.route(2*n.groups*g.Lanes + 16)
	s.account = s.route % fabric.Accounts
	return s, nil
}

// run offers until the session's window is over and every lane has landed.
func (s *sink) run(ctx context.Context, h xfer.Hello, send func(xfer.Frame) error, progress func(xfer.Progress)) (xfer.Received, error) {
	s.send = send
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pumped := make(chan error, 1)
	go func() {
		err := s.pump(ctx)
		pumped <- err
		if err != nil {
			cancel(err)
		}
	}()
	r, err := s.window(ctx, h, progress)
	s.closing.Store(true)
	if err != nil {
		cancel(err)
	}
	if late := <-pumped; err == nil {
		err = late
	}
	r.TotalPages, r.BadPages = s.pages.Load(), s.bad.Load()
	r.TransferUs = xfer.Quantiles(s.latencies)
	return r, err
}

// pump keeps every lane offered; it ends when closing and all have landed.
func (s *sink) pump(ctx context.Context) error {
	for g := range s.n.groups {
		for lane := range s.g.Lanes {
			if err := s.offer(g, lane); err != nil {
				return err
			}
		}
	}
	quiet := time.NewTimer(stall)
	defer quiet.Stop()
	seen := s.verified()
	for s.flying > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-quiet.C:
			now := s.verified()
			if now == seen {
				return fmt.Errorf("no page arrived for %s", stall)
			}
			seen = now
			quiet.Reset(stall)
		case e := <-s.events:
			if err := s.landed(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// verified is the bytes of right pages so far.
func (s *sink) verified() (n uint64) {
	for g := range s.n.groups {
		n += s.n.engine.Counters(g).Account[s.account]
	}
	return n
}

func (s *sink) landed(e fabric.Event) error {
	s.flying--
	if e.Err != nil {
		return fmt.Errorf("receiving: %w", e.Err)
	}
	lane := int(uint32(e.ID))
	if e.BadPages > 0 {
		s.bad.Add(uint64(e.BadPages))
		return fmt.Errorf("%d wrong pages in a transfer of %d, the first is number %d: data was lost, stale or misplaced", e.BadPages, s.g.Pages, e.FirstBad)
	}
	s.pages.Add(uint64(s.g.Pages))
	if s.inWindow.Load() && len(s.latencies) < keptLatences {
		s.latencies = append(s.latencies, float64(e.End-e.Start)/1e3)
	}
	if s.closing.Load() {
		return nil
	}
	return s.offer(lane/s.g.Lanes, lane%s.g.Lanes)
}

func (s *sink) offer(group, lane int) error {
	seed := s.rng.Uint64()
	s.plan.Fill(s.g, lane, seed)
	s.want = s.want[:0]
	for _, slot := range s.plan.Slot {
		s.want = append(s.want, s.expect[group][slot])
	}
	tag, err := s.n.engine.Expect(group, fabric.Receive{
		ID: uint64(s.route)<<32 | uint64(group*s.g.Lanes+lane), Seed: seed, Region: s.pools[group], PageSize: uint32(s.g.PageSize),
		Flags: fabric.Stamp | fabric.Sum, Account: s.account, Dst: s.plan.Dst, Expect: s.want,
	})
	if err != nil {
		return err
	}
	s.flying++
	return s.send(xfer.Offer{Group: uint16(group), Lane: uint16(lane), Tag: tag, Seed: seed}.Frame())
}

func (s *sink) snapshot() xfer.Snapshot {
	x := xfer.Snapshot{Latency: make([]uint64, 0)}
	for g := range s.n.groups {
		c := s.n.engine.Counters(g)
		x.Bytes += c.Account[s.account]
		x.Writes += c.RxOps
		x.Stray, x.Duplicate, x.Retries = x.Stray+c.Stray, x.Duplicate+c.Duplicate, x.Retries+c.Again
		x.NIC = append(x.NIC, c.RxBytes...)
		for i, n := range c.Latency {
			if i == len(x.Latency) {
				x.Latency = append(x.Latency, 0)
			}
			x.Latency[i] += n
		}
	}
	x.Pages = x.Bytes / uint64(s.g.PageSize)
	x.Ns, x.CPU = fabric.Now(), cpuSeconds()
	return x
}

// cancel ends what is still expected; memory may be freed after the peer is
// removed, which closes its connections.
func (s *sink) cancel() {
	for g := range s.n.groups {
		for lane := range s.g.Lanes {
			_ = s.n.engine.Cancel(g, uint64(s.route)<<32|uint64(g*s.g.Lanes+lane))
		}
	}
}

func (s *sink) free() {
	s.n.routes.Delete(s.route)
	s.n.free(s.pools)
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

var errNoUsage = errors.New("the sender did not tell its CPU time")
