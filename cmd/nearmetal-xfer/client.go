package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/internal/fail"
)

type clientOptions struct {
	engineOptions
	connect, mode, page, pool, gap, rate string
	pages, lanes                         int
	mtu                                  int64
	shaper                               bool
	duration, warmUp                     time.Duration
	count, seed                          uint64
	ladder, json                         bool
	s                                    streams
}

func newClient(s streams) *cobra.Command {
	o := &clientOptions{s: s}
	c := &cobra.Command{
		Use: "client", Short: "Move pages to or from a server and print what arrived",
		Example: "  nearmetal-xfer client --connect 10.0.0.2:7471 --rails 10.0.0.1 --page 64K --duration 10s\n" +
			"  nearmetal-xfer client --connect 127.0.0.1:7471 --provider shm --mode both --page 1M\n" +
			"  nearmetal-xfer client --connect 10.0.0.2:7471 --rails 10.0.0.1 --ablate",
		RunE: func(c *cobra.Command, _ []string) error { return runClient(c.Context(), o) },
	}
	o.flags(c.Flags())
	f := c.Flags()
	f.StringVar(&o.connect, "connect", "127.0.0.1:7471", "the server's --listen")
	f.StringVar(&o.mode, "mode", "send", "which way pages go: send, recv or both")
	f.StringVar(&o.page, "page", "64K", "page size")
	f.IntVar(&o.pages, "pages", 0, "pages of a transfer; 0: 4 MiB, 2 MiB for each rail where a group has more than two, at most the pool's share")
	f.IntVar(&o.lanes, "lanes", 4, "transfers at a time in each group")
	f.StringVar(&o.pool, "pool", "256M", "memory of all groups on each end; at least four times the last-level cache says more than less does")
	f.StringVar(&o.gap, "gap", "0", "most bytes of random gap before a page, a multiple of 64")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "length of the window; 0: until --count")
	f.DurationVar(&o.warmUp, "warm-up", time.Second, "time before the window opens")
	f.Uint64Var(&o.count, "count", 0, "end when so many pages are verified")
	f.Uint64Var(&o.seed, "seed", 1, "of contents and order")
	f.StringVar(&o.rate, "rate", "", "line rate of all rails together in Gbit/s, for the percentage")
	f.Int64Var(&o.mtu, "mtu", 0, "MTU of the rails, for the computed limit")
	f.BoolVar(&o.shaper, "shaped", false, "the rate is a tc shaper's: it counts other bytes than the wire")
	f.BoolVar(&o.ladder, "ablate", false, "run once with everything and once without each optimization")
	f.BoolVar(&o.json, "json", false, "print the result as JSON ("+xfer.Schema+")")
	return c
}

func (o *clientOptions) hello(groups, rails int) (xfer.Hello, error) {
	page, err1 := parseSize("--page", o.page)
	pool, err2 := parseSize("--pool", o.pool)
	gap, err3 := parseSize("--gap", o.gap)
	if err := errors.Join(err1, err2, err3, checkRate(o.rate)); err != nil {
		return xfer.Hello{}, err
	}
	if page == 0 {
		return xfer.Hello{}, fail.Usagef("--page 64K", "--page 0: a page has at least one byte")
	}
	g := xfer.Geometry{PageSize: page, Pages: o.pages, Lanes: o.lanes, Gap: gap, Seed: o.seed}
	if g.Pages == 0 {
		g.Pages = int(min(max(4<<20*int64(max(rails/2, 1))/page, 1), pool/int64(groups*max(o.lanes, 1))/page))
		g.Pages = max(g.Pages, 1)
	}
	if g.Lanes > 0 {
		g.Slots = int(min(max(pool/int64(groups*g.Lanes)/page, int64(g.Pages)), xfer.MaxPages))
	}
	h := xfer.Hello{Mode: xfer.Mode(o.mode), Geometry: g, WarmUp: o.warmUp, Duration: o.duration, Count: o.count}
	if o.count > 0 {
		h.Duration = 0
	}
	most, err := parseSize("--max-memory", o.maxMemory)
	if err == nil {
		err = h.Check(most)
	}
	if err != nil {
		err = fail.Usagef("nearmetal-xfer client --help", "%w", err)
	}
	return h, err
}

func runClient(ctx context.Context, o *clientOptions) error {
	if o.ladder {
		return runLadder(ctx, o)
	}
	r, err := transfer(ctx, o)
	if err != nil {
		return err
	}
	return o.print(r)
}

// transfer is one run with an engine of its own.
func transfer(ctx context.Context, o *clientOptions) (xfer.Result, error) {
	c, err := o.config()
	if err != nil {
		return xfer.Result{}, err
	}
	h, err := o.hello(len(c.Groups), len(c.Groups[0]))
	if err != nil {
		return xfer.Result{}, err
	}
	n, err := newNode(&o.engineOptions)
	if err != nil {
		return xfer.Result{}, err
	}
	defer n.close()
	conn, err := dial(ctx, o.connect)
	if err != nil {
		return xfer.Result{}, fail.New(fail.Failed, "nearmetal-xfer server --listen "+o.connect+" …", "no server: %w", err)
	}
	s := newSession(n, conn, "client")
	defer s.close()
	s.hello, s.show = h, o.progress
	got, err := s.measure(ctx)
	if err != nil {
		_ = s.sendJSON(xfer.TError, err.Error()) // it may be gone
		return xfer.Result{}, err
	}
	return o.result(s, got), nil
}

// dial gives a server that is just starting time to open its rails.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: peerSilence}
	for end := time.Now().Add(serverStart); ; {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(end) {
			return conn, err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// greet tells the server what is wanted and connects the rails.
func (s *session) greet() error {
	m := s.hello.Mode
	if err := s.makePools(false, m != xfer.Send, s.hello.Geometry.Seed+1); err != nil {
		return err
	}
	s.hello.Side = s.side()
	if err := s.sendJSON(xfer.THello, s.hello); err != nil {
		return err
	}
	f, err := s.receive(xfer.TWelcome, setUpTime)
	if err != nil {
		return err
	}
	if err = f.Decode(&s.peer); err == nil {
		err = s.peer.Check(s.n.groups, s.n.rails, m != xfer.Recv)
	}
	if err != nil {
		return err
	}
	stop := s.keepAlive()
	defer stop()
	if err = s.makePools(m != xfer.Recv, false, 0); err == nil {
		err = s.connect()
	}
	if err != nil {
		return err
	}
	return s.send(xfer.Frame{Type: xfer.TReady})
}

// measure runs the session and gathers the receivers' figures.
func (s *session) measure(ctx context.Context) (out []xfer.Received, err error) {
	if err := s.greet(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ran := make(chan error, 1)
	go func() {
		err := s.run(ctx)
		if err == nil {
			err = errors.New("the server said bye")
		}
		ran <- err
		cancel(err)
	}()
	if err := s.await(ctx, s.ready); err != nil {
		return nil, err
	}
	if s.sink != nil {
		r, err := s.sink.run(ctx, s.hello, s.send, s.show)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if s.source != nil {
		select {
		case r := <-s.result:
			out = append(out, r)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return out, s.send(xfer.Frame{Type: xfer.TBye})
}

func (s *session) await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (o *clientOptions) print(r xfer.Result) error {
	if o.json {
		e := json.NewEncoder(o.s.out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return r.Text(o.s.out)
}

func (o *clientOptions) progress(p xfer.Progress) {
	gbps := float64(p.Bytes) * 8 / 1e9
	line := fmt.Sprintf("%6.0f s  %8.3f Gbit/s", p.Second, gbps)
	if rate := o.lineGbps(); rate > 0 {
		line += fmt.Sprintf("  %5.1f %%", 100*gbps/rate)
	}
	fmt.Fprintln(o.s.err, line)
}
