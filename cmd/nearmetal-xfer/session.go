package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
)

const (
	pingEvery   = time.Second
	peerSilence = 4 * time.Second  // a peer that says nothing for so long is lost
	connectTime = 20 * time.Second // for every rail of a group
	serverStart = 10 * time.Second
	setUpTime   = 2 * time.Minute // filling and hashing pools of many GB
)

// session is one peer: its control channel and what is done with it.
type session struct {
	n     *node
	conn  net.Conn
	end   string // "client" or "server"
	hello xfer.Hello
	peer  xfer.Side
	ids   []uint32 // the peer in each group's engine

	write  sync.Mutex
	source *source
	sink   *sink
	ready  chan struct{}      // the peer has connected its rails
	result chan xfer.Received // the peer's half
	bye    chan struct{}
	show   func(xfer.Progress) // the peer's progress; may be nil
}

func newSession(n *node, conn net.Conn, end string) *session {
	return &session{n: n, conn: conn, end: end, ready: make(chan struct{}), result: make(chan xfer.Received, 1), bye: make(chan struct{})}
}

func (s *session) send(f xfer.Frame) error {
	s.write.Lock()
	defer s.write.Unlock()
	s.conn.SetWriteDeadline(time.Now().Add(peerSilence))
	_, err := s.conn.Write(f.Append(nil))
	return err
}

func (s *session) sendJSON(t xfer.Type, v any) error {
	f, err := xfer.Encode(t, v)
	if err != nil {
		return err
	}
	return s.send(f)
}

// receive reads a frame of one type; an error frame becomes an error.
func (s *session) receive(t xfer.Type, within time.Duration) (xfer.Frame, error) {
	for {
		s.conn.SetReadDeadline(time.Now().Add(within))
		f, err := xfer.ReadFrame(s.conn)
		switch {
		case err != nil:
			return f, err
		case f.Type == xfer.TPing:
		case f.Type == xfer.TError:
			return f, peerError(f)
		case f.Type != t:
			return f, fmt.Errorf("%w: type %d where %d was due", xfer.ErrFrame, f.Type, t)
		default:
			return f, nil
		}
	}
}

func peerError(f xfer.Frame) error {
	var text string
	if err := f.Decode(&text); err != nil {
		return err
	}
	return fmt.Errorf("the peer gave up: %q", text)
}

// connect makes the peer's rails known to the engine and warms them up.
func (s *session) connect() error {
	for g, row := range s.peer.Endpoints {
		var rails []fabric.Endpoint
		for _, e := range row {
			rails = append(rails, fabric.Endpoint{Address: e.Address, Warm: fabric.Key(e.Warm)})
		}
		id, err := s.n.engine.AddPeer(g, rails, connectTime)
		if err != nil {
			return fmt.Errorf("connecting the rails of group %d: %w", g, err)
		}
		s.ids = append(s.ids, id)
	}
	return nil
}

// close undoes all that a session did to the engine.
func (s *session) close() {
	s.conn.Close()
	if s.sink != nil {
		s.sink.cancel()
	}
	for g, id := range s.ids {
		_ = s.n.engine.RemovePeer(g, id) // it may be gone already
	}
	if s.source != nil {
		s.source.free()
	}
	if s.sink != nil {
		s.sink.free()
	}
}

// run serves the control channel until the peer says bye, is lost, or ctx ends.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	context.AfterFunc(ctx, func() { s.conn.SetReadDeadline(time.Unix(1, 0)) })
	go s.ping(ctx)
	if s.source != nil {
		go func() {
			if err := s.source.watch(ctx); err != nil {
				cancel(err)
			}
		}()
	}
	for {
		s.conn.SetReadDeadline(time.Now().Add(peerSilence))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, err := xfer.ReadFrame(s.conn)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return lost(err)
		}
		if done, err := s.handle(f); done || err != nil {
			return err
		}
	}
}

func lost(err error) error {
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		return fmt.Errorf("peer lost: nothing heard for %s", peerSilence)
	case errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed):
		return fmt.Errorf("peer lost: it closed the control channel")
	}
	return fmt.Errorf("peer lost: %w", err)
}

func (s *session) ping(ctx context.Context) {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if s.send(xfer.Frame{Type: xfer.TPing}) != nil {
				return // the reader sees it too
			}
		}
	}
}

// handle acts on one frame.
func (s *session) handle(f xfer.Frame) (done bool, err error) {
	switch f.Type {
	case xfer.TPing:
	case xfer.TReady:
		err = s.peerReady()
	case xfer.TOffer:
		err = s.offered(f)
	case xfer.TMark:
		err = s.marked(f)
	case xfer.TUsage:
		err = s.usage(f)
	case xfer.TProgress:
		var p xfer.Progress
		if err = f.Decode(&p); err == nil && s.show != nil {
			s.show(p)
		}
	case xfer.TResult:
		err = s.resulted(f)
	case xfer.TError:
		err = peerError(f)
	case xfer.TBye:
		close(s.bye)
		return true, nil
	default:
		err = fmt.Errorf("%w: type %d in a running session", xfer.ErrFrame, f.Type)
	}
	return false, err
}

func (s *session) peerReady() error {
	select {
	case <-s.ready:
		return fmt.Errorf("%w: ready twice", xfer.ErrFrame)
	default:
		close(s.ready)
		return nil
	}
}

func (s *session) offered(f xfer.Frame) error {
	if s.source == nil {
		return fmt.Errorf("%w: an offer to an end that does not send", xfer.ErrFrame)
	}
	o, err := xfer.ParseOffer(f.Payload, s.n.groups, s.hello.Geometry.Lanes)
	if err != nil {
		return err
	}
	return s.source.start(o)
}

func (s *session) marked(f xfer.Frame) error {
	var m xfer.Mark
	if err := f.Decode(&m); err != nil {
		return err
	}
	return s.sendJSON(xfer.TUsage, xfer.Usage{Open: m.Open, CPUSeconds: cpuSeconds()})
}

func (s *session) usage(f xfer.Frame) error {
	var u xfer.Usage
	if err := f.Decode(&u); err != nil {
		return err
	}
	if s.sink != nil {
		select {
		case s.sink.senderCPU <- u.CPUSeconds:
		default:
			return fmt.Errorf("%w: a usage that nobody asked for", xfer.ErrFrame)
		}
	}
	return nil
}

func (s *session) resulted(f xfer.Frame) error {
	var r xfer.Received
	if err := f.Decode(&r); err != nil {
		return err
	}
	select {
	case s.result <- r:
		return nil
	default:
		return fmt.Errorf("%w: a second result", xfer.ErrFrame)
	}
}
