package xfer

import (
	"fmt"
	"time"
)

// Mode is which way pages go, seen from the client.
type Mode string

// The client sends, receives, or both at once.
const (
	Send Mode = "send"
	Recv Mode = "recv"
	Both Mode = "both"
)

// Limits of what a peer may ask for.
const (
	MaxGroups   = 16
	MaxRails    = 32
	MaxLanes    = 64
	MaxPages    = 1 << 20
	MaxPageSize = 64 << 20
	MaxDuration = 24 * time.Hour
)

// Geometry of one direction of a group: Lanes transfers at a time, each of
// Pages pages taken at random from its own part of a pool.
type Geometry struct {
	PageSize int64  `json:"page_size"` // bytes
	Pages    int    `json:"pages"`     // of a transfer
	Lanes    int    `json:"lanes"`     // transfers at a time
	Slots    int    `json:"slots"`     // places for a page in each lane's part of the pool
	Gap      int64  `json:"gap"`       // most bytes, a multiple of 64, between a slot's start and its page
	Seed     uint64 `json:"seed"`      // of the pool's contents
}

// Stride is the bytes from slot to slot of the receiver's pool.
func (g Geometry) Stride() int64 { return g.PageSize + g.Gap }

// SourceBytes and TargetBytes are the sizes of the pools.
func (g Geometry) SourceBytes() int64 { return int64(g.Lanes) * int64(g.Slots) * g.PageSize }

// TargetBytes is the size of the receiver's pool.
func (g Geometry) TargetBytes() int64 { return int64(g.Lanes) * int64(g.Slots) * g.Stride() }

// Check holds a geometry to its limits; most is the memory that may be used.
func (g Geometry) Check(most int64) error {
	switch {
	case g.PageSize < 1 || g.PageSize > MaxPageSize:
		return fmt.Errorf("page size %d, must be 1 to %d", g.PageSize, MaxPageSize)
	case g.Lanes < 1 || g.Lanes > MaxLanes:
		return fmt.Errorf("%d lanes, must be 1 to %d", g.Lanes, MaxLanes)
	case g.Pages < 1 || g.Pages > MaxPages || g.Slots < g.Pages || g.Slots > MaxPages:
		return fmt.Errorf("%d pages from %d slots: at least one page, at least as many slots, at most %d", g.Pages, g.Slots, MaxPages)
	case g.Gap < 0 || g.Gap%64 != 0 || g.Gap > MaxPageSize:
		return fmt.Errorf("gap %d, must be a multiple of 64", g.Gap)
	case g.TargetBytes() > most:
		return fmt.Errorf("a pool of %d bytes, at most %d here", g.TargetBytes(), most)
	}
	return nil
}

// Key is what a peer needs to write into a region over one rail.
type Key struct {
	Base uint64 `json:"base"`
	Key  uint64 `json:"key"`
}

// Endpoint is a rail as peers see it.
type Endpoint struct {
	Address []byte `json:"address"`
	Warm    Key    `json:"warm"`
}

// Side is one end's rails and regions, [group][rail].
type Side struct {
	Provider  string       `json:"provider"` // what libfabric chose
	Endpoints [][]Endpoint `json:"endpoints"`
	Target    [][]Key      `json:"target,omitempty"` // keys of the pool that may be written; nil: none
	Warnings  []string     `json:"warnings,omitempty"`
}

// Check holds a side to a number of groups and rails.
func (s Side) Check(groups, rails int, target bool) error {
	if len(s.Endpoints) != groups || target && len(s.Target) != groups {
		return fmt.Errorf("the peer has %d groups (%d pools), we have %d: give both ends the same rails", len(s.Endpoints), len(s.Target), groups)
	}
	for i, g := range s.Endpoints {
		if len(g) != rails || target && len(s.Target[i]) != rails {
			return fmt.Errorf("the peer has %d rails in group %d, we have %d: give both ends the same rails", len(g), i, rails)
		}
	}
	return nil
}

// Hello is the client's wish.
type Hello struct {
	Mode     Mode          `json:"mode"`
	Geometry Geometry      `json:"geometry"`
	WarmUp   time.Duration `json:"warm_up_ns"`
	Duration time.Duration `json:"duration_ns"` // 0: until Count
	Count    uint64        `json:"count"`       // pages to verify, 0: until Duration
	Side     Side          `json:"side"`
}

// Check holds a wish to its limits; most is the memory of one pool.
func (h Hello) Check(most int64) error {
	switch {
	case h.Mode != Send && h.Mode != Recv && h.Mode != Both:
		return fmt.Errorf("mode %q, must be send, recv or both", h.Mode)
	case h.WarmUp < 0 || h.WarmUp > MaxDuration || h.Duration < 0 || h.Duration > MaxDuration:
		return fmt.Errorf("warm-up %s, duration %s: must be 0 to %s", h.WarmUp, h.Duration, MaxDuration)
	case h.Duration == 0 && h.Count == 0:
		return fmt.Errorf("neither a duration nor a count of pages")
	}
	return h.Geometry.Check(most)
}

// Mark is a window's edge.
type Mark struct {
	Open bool `json:"open"`
}

// Usage is the CPU time that the answering process had used at a mark.
type Usage struct {
	Open       bool    `json:"open"`
	CPUSeconds float64 `json:"cpu_s"`
}

// Progress is one second of one receiver.
type Progress struct {
	Second float64 `json:"second"` // since the window opened; below 0: warming up
	Bytes  uint64  `json:"bytes"`  // verified in this second
	Bad    uint64  `json:"bad_pages"`
}
