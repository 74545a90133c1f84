package fabric

import (
	"errors"
	"fmt"
	"time"
)

// Waiting is what a worker does while nothing happens.
type Waiting uint32

// Spin polls without end, Sleep sleeps on the queues' descriptors, Adaptive
// spins 30 µs before it sleeps.
const (
	Spin Waiting = iota
	Sleep
	Adaptive
)

// Ablation switches an optimization off, to measure what it is worth.
type Ablation uint32

// The switches of Config.Ablate, or'ed.
const (
	NoWarmUp   Ablation = 1 << iota // connect with the first page
	NoPin                           // workers float
	NoCoalesce                      // one page a write
	NoBatch                         // one write, then poll
	Eager                           // post before polling, until the provider refuses
	NoStripe                        // a transfer stays on one rail
)

// Flags of a transfer.
const (
	Stamp = 1 // the first and last 8 bytes of each page carry seed and number
	Sum   = 2 // every page is hashed
)

// Accounts is the number of Receive.Account values.
const Accounts = 64

// Rail names one NIC.
type Rail struct {
	Provider string // "tcp", "shm", "verbs", "efa"
	Source   string // local address; "": any
	Domain   string // libfabric domain; "": the first
}

// Config of an engine. Every group has the same number of rails.
type Config struct {
	Groups   [][]Rail
	CPUs     []int // of each group's worker; -1 or absent: not pinned
	Waiting  Waiting
	Depth    int           // writes under way for each rail and peer
	Window   int64         // bytes under way for each rail and peer, at least two writes
	Batch    int           // writes between two polls
	Coalesce int64         // most bytes of a write that carries several pages
	Nap      time.Duration // longest sleep between two looks at busy rails
	Ablate   Ablation
}

// Defaults fills in what is zero.
func (c Config) Defaults() Config {
	if c.Depth == 0 {
		c.Depth = 16
	}
	if c.Batch == 0 {
		c.Batch = 16
	}
	if c.Coalesce == 0 {
		c.Coalesce = 128 << 10
	}
	if c.Window == 0 {
		c.Window = 512 << 10
	}
	if c.Nap == 0 {
		c.Nap = 2 * time.Millisecond
	}
	return c
}

// check says what is wrong before C sees it.
func (c Config) check() error {
	switch {
	case len(c.Groups) == 0 || len(c.Groups) > maxGroups:
		return fmt.Errorf("%d groups of rails, must be 1 to %d", len(c.Groups), maxGroups)
	case len(c.Groups[0]) == 0 || len(c.Groups[0]) > maxRails:
		return fmt.Errorf("%d rails in a group, must be 1 to %d", len(c.Groups[0]), maxRails)
	case c.Depth < 1 || c.Depth > 1024 || c.Batch < 1 || c.Batch > 1024:
		return fmt.Errorf("depth %d, batch %d: must be 1 to 1024", c.Depth, c.Batch)
	case c.Coalesce < 1 || c.Window < 1 || c.Nap < 0 || c.Nap > time.Second || c.Waiting > Adaptive:
		return fmt.Errorf("coalesce %d, nap %s or waiting %d out of range", c.Coalesce, c.Nap, c.Waiting)
	}
	for i, g := range c.Groups {
		if len(g) != len(c.Groups[0]) {
			return fmt.Errorf("group %d has %d rails, group 0 has %d: all must have as many", i, len(g), len(c.Groups[0]))
		}
	}
	return nil
}

const (
	maxGroups  = 16
	maxRails   = 32
	maxAddress = 64
	maxPages   = 1 << 21
)

// Key is what a peer needs to write into a region over one rail.
type Key struct {
	Base uint64 `json:"base"`
	Key  uint64 `json:"key"`
}

// Endpoint is a rail as peers see it.
type Endpoint struct {
	Address []byte `json:"address"`
	Warm    Key    `json:"warm"` // 8 bytes to write to when connecting
}

// Opened tells what libfabric chose for a rail.
type Opened struct {
	Provider, Fabric, Domain string
	PagesPerWrite            int
	Endpoint                 Endpoint
}

// Region is registered memory of a group.
type Region struct {
	Bytes []byte // not from Go's heap
	Keys  []Key  // of each rail
	//lint:ignore U1000 the build with cgo uses it
	group int
	//lint:ignore U1000 the build with cgo uses it
	id uint32
}

// Transfer is pages to send. Page k is at Src[k] of Region and goes to Dst[k]
// of the receiver's region.
type Transfer struct {
	ID, Seed uint64
	Region   *Region
	Peer     uint32
	Tag      uint8
	PageSize uint32
	Flags    uint32
	Src, Dst []uint64
	Keys     []Key // the receiver's, of each rail
}

// Receive is pages to wait for.
type Receive struct {
	ID, Seed uint64
	Region   *Region
	PageSize uint32
	Flags    uint32
	Account  uint32
	Dst      []uint64
	Expect   []uint64 // BodyHash of each page; nil: not compared
}

// Kind of an event.
type Kind int32

// Sent: handed over to the provider; Received: every page landed.
const (
	Sent     Kind = 1
	Received Kind = 2
)

// Event ends a transfer.
type Event struct {
	Kind     Kind
	ID       uint64
	Group    int
	Bytes    uint64
	Digest   uint64 // sum over the pages' hashes, the same on both sides with Sum
	Start    uint64
	End      uint64
	BadPages uint32
	FirstBad uint32
	Tag      uint8
	Err      error // nil, ErrCanceled, or the provider's error
}

// Counters of a group since it was opened.
type Counters struct {
	TxBytes, RxBytes                  []uint64 // of each rail
	TxOps, RxOps, TxPages, RxPages    uint64
	Again, Stray, Duplicate, BadPages uint64
	Errors, Sleeps, Polls             uint64
	Account                           [Accounts]uint64 // bytes of right pages
	Latency                           []uint64         // pages by BucketNs
}

// Errors that callers tell apart.
var (
	ErrCanceled = errors.New("transfer canceled")
	ErrTimeout  = errors.New("peer did not connect in time")
	ErrNoEngine = errors.New("built without cgo and libfabric: no transfer engine")
	ErrNoTag    = errors.New("256 receipts are under way already")
)
