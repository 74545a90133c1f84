package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// maxSessions bounds the memory that peers can ask for.
const maxSessions = 32

type serverOptions struct {
	engineOptions
	listen string
	once   bool
	s      streams
}

func newServer(s streams) *cobra.Command {
	o := &serverOptions{s: s}
	c := &cobra.Command{
		Use: "server", Short: "Wait for clients; several at once, coming and going",
		Example: "  nearmetal-xfer server --listen 10.0.0.2:7471 --rails 10.0.0.2\n" +
			"  nearmetal-xfer server --listen 127.0.0.1:7471 --provider shm",
		RunE: func(c *cobra.Command, _ []string) error { return runServer(c.Context(), o) },
	}
	o.flags(c.Flags())
	c.Flags().StringVar(&o.listen, "listen", "127.0.0.1:7471", "address and port of the control channel")
	c.Flags().BoolVar(&o.once, "once", false, "end after one client")
	return c
}

func runServer(ctx context.Context, o *serverOptions) error {
	n, err := newNode(&o.engineOptions)
	if err != nil {
		return err
	}
	defer n.close()
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fail.New(fail.Failed, "choose another port with --listen", "%w", err)
	}
	context.AfterFunc(ctx, func() { l.Close() })
	fmt.Fprintf(o.s.err, "listening on %s: %s, %d groups of %d rails\n", l.Addr(), n.provider, n.groups, n.rails)
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, maxSessions)
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			o.tell(conn, serve(ctx, n, conn))
		})
		if o.once {
			return nil
		}
	}
}

func (o *serverOptions) tell(conn net.Conn, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(o.s.err, "client %s: %v\n", conn.RemoteAddr(), err)
	}
}

// serve is one client from hello to bye. Whatever happens to it, other clients
// go on.
func serve(ctx context.Context, n *node, conn net.Conn) (err error) {
	s := newSession(n, conn, "server")
	defer s.close()
	defer func() {
		if err != nil {
			_ = s.sendJSON(xfer.TError, err.Error()) // it may be gone
		}
	}()
	if err := s.welcome(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ran := make(chan error, 1)
	go func() {
		err := s.run(ctx)
		ran <- err
		cancel(err)
	}()
	err = s.deliver(ctx)
	if err != nil {
		cancel(err)
		<-ran
		return err
	}
	return <-ran
}

// welcome answers a hello and connects after the client has.
func (s *session) welcome() error {
	f, err := s.receive(xfer.THello, peerSilence)
	if err != nil {
		return err
	}
	if err = f.Decode(&s.hello); err != nil {
		return err
	}
	h := &s.hello
	if err = errors.Join(h.Check(s.n.maxMemory), h.Side.Check(s.n.groups, s.n.rails, h.Mode != xfer.Send)); err != nil {
		return err
	}
	s.peer = h.Side
	stop := s.keepAlive()
	err = s.makePools(h.Mode != xfer.Send, h.Mode != xfer.Recv, h.Geometry.Seed)
	stop()
	if err != nil {
		return err
	}
	if err = s.sendJSON(xfer.TWelcome, s.side()); err != nil {
		return err
	}
	if _, err = s.receive(xfer.TReady, connectTime); err != nil {
		return err
	}
	close(s.ready)
	if err = s.connect(); err != nil {
		return err
	}
	return s.send(xfer.Frame{Type: xfer.TReady})
}

// deliver runs the server's sink and sends its half of the result.
func (s *session) deliver(ctx context.Context) error {
	if s.sink == nil {
		return nil
	}
	progress := func(p xfer.Progress) { _ = s.sendJSON(xfer.TProgress, p) } // for show
	r, err := s.sink.run(ctx, s.hello, s.send, progress)
	if err != nil {
		return err
	}
	return s.sendJSON(xfer.TResult, r)
}
