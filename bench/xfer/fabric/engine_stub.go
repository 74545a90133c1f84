//go:build !cgo

package fabric

import "time"

// Engine cannot be had without cgo.
type Engine struct{}

// Available says whether this build has an engine.
const Available = false

// Open fails with ErrNoEngine.
func Open(Config) (*Engine, error) { return nil, ErrNoEngine }

func (e *Engine) Close()                                                 {}
func (e *Engine) Rail(int, int) (Opened, error)                          { return Opened{}, ErrNoEngine }
func (e *Engine) Alloc(int, int64) (*Region, error)                      { return nil, ErrNoEngine }
func (e *Engine) Free(*Region) error                                     { return ErrNoEngine }
func (e *Engine) AddPeer(int, []Endpoint, time.Duration) (uint32, error) { return 0, ErrNoEngine }
func (e *Engine) RemovePeer(int, uint32) error                           { return ErrNoEngine }
func (e *Engine) Send(int, Transfer) error                               { return ErrNoEngine }
func (e *Engine) Expect(int, Receive) (uint8, error)                     { return 0, ErrNoEngine }
func (e *Engine) Cancel(int, uint64) error                               { return ErrNoEngine }
func (e *Engine) Wait(time.Duration) []Event                             { return nil }
func (e *Engine) Counters(int) Counters                                  { return Counters{} }

// Now is CLOCK_MONOTONIC in nanoseconds.
func Now() uint64 { return 0 }

// FillPages does nothing without an engine.
func FillPages([]byte, int64, uint64, uint64) {}

// PageHashes gives nothing without an engine.
func PageHashes(int, int64, uint64, uint64) []uint64 { return nil }

// BucketNs is 0 without an engine.
func BucketNs(int) uint64 { return 0 }
