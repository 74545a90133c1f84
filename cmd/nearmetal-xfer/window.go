package main

import (
	"context"
	"time"

	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
)

// window waits for the first page and the warm-up, opens the window, tells
// every second how it goes, and closes it. With a count of pages instead of a
// duration it closes when they are verified.
func (s *sink) window(ctx context.Context, h xfer.Hello, progress func(xfer.Progress)) (xfer.Received, error) {
	if err := s.until(ctx, func() bool { return s.verified() > 0 }); err != nil {
		return xfer.Received{}, err
	}
	if err := pause(ctx, h.WarmUp); err != nil {
		return xfer.Received{}, err
	}
	open, sent0, err := s.mark(ctx, true)
	if err != nil {
		return xfer.Received{}, err
	}
	s.inWindow.Store(true)
	err = s.watch(ctx, h, open, progress)
	s.inWindow.Store(false)
	if err != nil {
		return xfer.Received{}, err
	}
	shut, sent1, err := s.mark(ctx, false)
	if err != nil {
		return xfer.Received{}, err
	}
	r := xfer.Window(open, shut, fabric.BucketNs)
	r.End, r.SenderCPU = s.end, sent1-sent0
	return r, nil
}

// mark takes a snapshot and asks the sender for its CPU time.
func (s *sink) mark(ctx context.Context, open bool) (xfer.Snapshot, float64, error) {
	x := s.snapshot()
	f, err := xfer.Encode(xfer.TMark, xfer.Mark{Open: open})
	if err == nil {
		err = s.send(f)
	}
	if err != nil {
		return x, 0, err
	}
	select {
	case v := <-s.senderCPU:
		return x, v, nil
	case <-ctx.Done():
		return x, 0, context.Cause(ctx)
	case <-time.After(peerSilence):
		return x, 0, errNoUsage
	}
}

// watch lasts as long as the window and reports each of its seconds.
func (s *sink) watch(ctx context.Context, h xfer.Hello, open xfer.Snapshot, progress func(xfer.Progress)) error {
	start, last := time.Now(), open.Bytes
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	if h.Count == 0 {
		poll.Stop()
	}
	end := make(<-chan time.Time)
	if h.Duration > 0 {
		end = time.After(h.Duration)
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return nil
		case <-poll.C:
			if s.pages.Load() >= h.Count {
				return nil
			}
		case <-tick.C:
			now := s.verified()
			progress(xfer.Progress{Second: time.Since(start).Seconds(), Bytes: now - last, Bad: s.bad.Load()})
			last = now
		}
	}
}

func (s *sink) until(ctx context.Context, ok func() bool) error {
	for !ok() {
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
