package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
)

// node is this end: an engine, and who gets which of its events.
type node struct {
	engine    *fabric.Engine
	groups    int
	rails     int
	maxMemory int64
	provider  string
	fallback  bool
	warnings  []string
	endpoints [][]xfer.Endpoint

	routes sync.Map // route (uint32) → chan fabric.Event
	next   atomic.Uint32
	stop   chan struct{}
	done   chan struct{}
}

func newNode(o *engineOptions) (*node, error) {
	most, err := parseSize("--max-memory", o.maxMemory)
	if err != nil {
		return nil, err
	}
	e, fallback, err := openEngine(o)
	if err != nil {
		return nil, err
	}
	c, _ := o.config()
	n := &node{engine: e, groups: len(c.Groups), rails: len(c.Groups[0]), maxMemory: most, fallback: fallback,
		stop: make(chan struct{}), done: make(chan struct{})}
	if err := n.describe(o.provider); err != nil {
		e.Close()
		return nil, err
	}
	go n.dispatch()
	return n, nil
}

// describe reads the rails back: what libfabric chose, not what was asked.
func (n *node) describe(asked string) error {
	for g := range n.groups {
		var row []xfer.Endpoint
		for r := range n.rails {
			o, err := n.engine.Rail(g, r)
			if err != nil {
				return err
			}
			n.provider = o.Provider
			base, _, _ := strings.Cut(o.Provider, ";")
			want, _, _ := strings.Cut(asked, ";")
			if base != want && !n.fallback {
				return fmt.Errorf("libfabric chose %s for %s", o.Provider, asked)
			}
			row = append(row, xfer.Endpoint{Address: o.Endpoint.Address, Warm: xfer.Key(o.Endpoint.Warm)})
		}
		n.endpoints = append(n.endpoints, row)
	}
	if n.fallback {
		n.warnings = append(n.warnings, fmt.Sprintf("%s could not be had: fell back to %s", asked, n.provider))
	}
	return nil
}

// dispatch hands events to their routes; an id's upper half is its route.
func (n *node) dispatch() {
	defer close(n.done)
	for {
		select {
		case <-n.stop:
			return
		default:
		}
		for _, e := range n.engine.Wait(100 * time.Millisecond) {
			if c, ok := n.routes.Load(uint32(e.ID >> 32)); ok {
				c.(chan fabric.Event) <- e
			}
		}
	}
}

// route opens a channel with room for every transfer that its owner may have
// under way, so that dispatch never waits.
func (n *node) route(room int) (uint32, chan fabric.Event) {
	id, c := n.next.Add(1), make(chan fabric.Event, room)
	n.routes.Store(id, c)
	return id, c
}

func (n *node) close() {
	close(n.stop)
	<-n.done
	n.engine.Close()
}
