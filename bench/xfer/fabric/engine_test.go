//go:build cgo

package fabric

import (
	"errors"
	"testing"
	"time"
)

type end struct {
	*Engine
	region *Region
	rail   Opened
	peer   uint32
}

func openEnd(t *testing.T) *end {
	t.Helper()
	e, err := Open(Config{Groups: [][]Rail{{{Provider: "tcp", Source: "127.0.0.1"}}}, Waiting: Sleep})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	r, err := e.Alloc(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	o, err := e.Rail(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &end{e, r, o, 0}
}

func pair(t *testing.T) (a, b *end) {
	t.Helper()
	a, b = openEnd(t), openEnd(t)
	var err error
	if a.peer, err = a.AddPeer(0, []Endpoint{b.rail.Endpoint}, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	return a, b
}

func waitOne(t *testing.T, e *end) Event {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if got := e.Wait(time.Second); len(got) > 0 {
			return got[0]
		}
	}
	t.Fatal("no event")
	return Event{}
}

// The digest of all pages is the same on both ends, without an agreed pattern.
func TestScatteredPagesArriveWithTheirDigest(t *testing.T) {
	a, b := pair(t)
	for i := range a.region.Bytes {
		a.region.Bytes[i] = byte(i * i)
	}
	src, dst := []uint64{8192, 0, 65536}, []uint64{1 << 19, 4096, 0}
	tag, err := b.Expect(0, Receive{ID: 5, Seed: 9, Region: b.region, PageSize: 4096, Flags: Sum, Dst: dst})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Send(0, Transfer{ID: 6, Seed: 9, Region: a.region, Peer: a.peer, Tag: tag, PageSize: 4096, Flags: Sum, Src: src, Dst: dst, Keys: b.region.Keys}); err != nil {
		t.Fatal(err)
	}
	sent, got := waitOne(t, a), waitOne(t, b)
	if sent.Kind != Sent || got.Kind != Received || sent.Err != nil || got.Err != nil || got.ID != 5 || got.Bytes != 3*4096 {
		t.Errorf("%+v %+v", sent, got)
	}
	if sent.Digest != got.Digest || sent.Digest == 0 {
		t.Errorf("digests %x and %x", sent.Digest, got.Digest)
	}
	for k := range src {
		if string(a.region.Bytes[src[k]:src[k]+4096]) != string(b.region.Bytes[dst[k]:dst[k]+4096]) {
			t.Errorf("page %d is another", k)
		}
	}
	if c := b.Counters(0); c.RxPages != 3 || c.Account[0] != 3*4096 || c.BadPages+c.Stray+c.Duplicate != 0 {
		t.Errorf("%+v", c)
	}
}

func TestOutOfBoundsAndCanceled(t *testing.T) {
	a, b := pair(t)
	if _, err := b.Expect(0, Receive{Region: b.region, PageSize: 4096, Dst: []uint64{1<<20 - 4095}}); err == nil {
		t.Error("a destination that ends beyond the region was taken")
	}
	if err := a.Send(0, Transfer{ID: 1, Region: a.region, Peer: a.peer, PageSize: 4096, Src: []uint64{1 << 20}, Dst: []uint64{0}, Keys: b.region.Keys}); err != nil {
		t.Fatal(err)
	}
	if e := waitOne(t, a); e.Err == nil || e.Bytes != 0 {
		t.Errorf("%+v", e)
	}
	if _, err := b.Expect(0, Receive{ID: 7, Region: b.region, PageSize: 4096, Dst: []uint64{0}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Cancel(0, 7); err != nil {
		t.Fatal(err)
	}
	if e := waitOne(t, b); !errors.Is(e.Err, ErrCanceled) {
		t.Errorf("%+v", e)
	}
	if err := a.RemovePeer(0, a.peer); err != nil {
		t.Error(err)
	}
	if err := a.RemovePeer(0, a.peer); err == nil {
		t.Error("a peer can be removed twice")
	}
}

// All 256 tags in use is an error that can be told, and ends with the next one free.
func TestTagsRunOut(t *testing.T) {
	e := openEnd(t)
	for i := range 256 {
		if _, err := e.Expect(0, Receive{ID: uint64(i), Region: e.region, PageSize: 1, Dst: []uint64{0}}); err != nil {
			t.Fatalf("receipt %d: %v", i, err)
		}
	}
	if _, err := e.Expect(0, Receive{Region: e.region, PageSize: 1, Dst: []uint64{0}}); !errors.Is(err, ErrNoTag) {
		t.Errorf("the 257th: %v", err)
	}
}

func TestNoSuchProvider(t *testing.T) {
	if _, err := Open(Config{Groups: [][]Rail{{{Provider: "telepathy"}}}}); err == nil {
		t.Error("opened")
	}
}
