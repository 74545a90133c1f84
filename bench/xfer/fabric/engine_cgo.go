//go:build cgo

package fabric

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -lfabric -lpthread
#include <stdlib.h>
#include <errno.h>
#include "../engine/nmx.h"

static struct nmx_rail_conf *rails_new(int n) { return calloc((size_t)n, sizeof(struct nmx_rail_conf)); }
static void rail_set(struct nmx_rail_conf *r, int i, char *provider, char *source, char *domain)
{
	r[i] = (struct nmx_rail_conf){provider, source, domain};
}

// Go may hand over pointers to its slices only as arguments of their own.
static int send_flat(nmx_engine *e, uint32_t group, struct nmx_tx t, const uint64_t *src, const uint64_t *dst, const struct nmx_key *keys)
{
	t.src = src, t.dst = dst, t.keys = keys;
	return nmx_send(e, group, &t);
}
static int expect_flat(nmx_engine *e, uint32_t group, struct nmx_rx x, const uint64_t *dst, const uint64_t *expect, uint8_t *tag)
{
	x.dst = dst, x.expect = expect;
	return nmx_expect(e, group, &x, tag);
}
static int open_flat(struct nmx_conf c, const struct nmx_rail_conf *r, const int *cpu, nmx_engine **out, char *err, size_t len)
{
	c.rail = r, c.cpu = cpu;
	return nmx_open(&c, out, err, len);
}
*/
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Available says whether this build has an engine.
const Available = true

// Engine has a worker thread for each group. Its methods may be called from
// several goroutines, but Wait from one only, and Close when all are done.
type Engine struct {
	c     *C.nmx_engine
	tags  sync.Mutex // nmx_expect
	rails int
	event [64]C.struct_nmx_event
}

// Open starts an engine. The error names the rail that could not be opened.
func Open(conf Config) (*Engine, error) {
	conf = conf.Defaults()
	if err := conf.check(); err != nil {
		return nil, err
	}
	n := len(conf.Groups) * len(conf.Groups[0])
	rails := C.rails_new(C.int(n))
	cpus := make([]C.int, len(conf.Groups))
	defer freeRails(rails, n)
	for i, g := range conf.Groups {
		cpus[i] = -1
		if i < len(conf.CPUs) {
			cpus[i] = C.int(conf.CPUs[i])
		}
		for j, r := range g {
			C.rail_set(rails, C.int(i*len(g)+j), cstring(r.Provider), cstring(r.Source), cstring(r.Domain))
		}
	}
	c := C.struct_nmx_conf{groups: C.uint32_t(len(conf.Groups)), rails: C.uint32_t(len(conf.Groups[0])), waiting: C.uint32_t(conf.Waiting),
		depth: C.uint32_t(conf.Depth), batch: C.uint32_t(conf.Batch), window: C.uint64_t(conf.Window), coalesce: C.uint64_t(conf.Coalesce), ablate: C.uint32_t(conf.Ablate),
		nap_us: C.uint32_t(conf.Nap.Microseconds())}
	e := &Engine{rails: len(conf.Groups[0])}
	var text [256]C.char
	if ret := C.open_flat(c, rails, &cpus[0], &e.c, &text[0], C.size_t(len(text))); ret != 0 {
		return nil, fmt.Errorf("%s (%w)", C.GoString(&text[0]), syscall.Errno(-ret))
	}
	return e, nil
}

func cstring(s string) *C.char {
	if s == "" {
		return nil
	}
	return C.CString(s)
}

func freeRails(rails *C.struct_nmx_rail_conf, n int) {
	for _, r := range unsafe.Slice(rails, n) {
		C.free(unsafe.Pointer(r.provider))
		C.free(unsafe.Pointer(r.source))
		C.free(unsafe.Pointer(r.domain))
	}
	C.free(unsafe.Pointer(rails))
}

// Close ends the workers and frees everything but regions' memory.
func (e *Engine) Close() {
	if e.c != nil {
		C.nmx_close(e.c)
		e.c = nil
	}
}

// Rail tells what a rail is.
func (e *Engine) Rail(group, rail int) (Opened, error) {
	var i C.struct_nmx_rail_info
	if ret := C.nmx_rail(e.c, C.uint32_t(group), C.uint32_t(rail), &i); ret != 0 {
		return Opened{}, failure(ret)
	}
	return Opened{
		Provider: C.GoString(&i.provider[0]), Fabric: C.GoString(&i.fabric[0]), Domain: C.GoString(&i.domain[0]),
		PagesPerWrite: int(i.iov_limit),
		Endpoint: Endpoint{
			Address: C.GoBytes(unsafe.Pointer(&i.addr[0]), C.int(i.addr_len)),
			Warm:    Key{uint64(i.warm.base), uint64(i.warm.key)},
		},
	}, nil
}

// Alloc maps memory, of huge pages where the kernel has them, and registers it
// with every rail of the group under random keys.
func (e *Engine) Alloc(group int, size int64) (*Region, error) {
	b, err := mapMemory(size)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of memory: %w", size, err)
	}
	want := make([]C.uint64_t, e.rails)
	for i := range want {
		var raw [8]byte
		rand.Read(raw[:])
		want[i] = C.uint64_t(binary.LittleEndian.Uint64(raw[:]))
	}
	keys := make([]C.struct_nmx_key, e.rails)
	var id C.uint32_t
	ret := C.nmx_register(e.c, C.uint32_t(group), unsafe.Pointer(&b[0]), C.uint64_t(size), &want[0], &id, &keys[0])
	if ret != 0 {
		syscall.Munmap(b)
		return nil, fmt.Errorf("registering %d bytes: %w", size, failure(ret))
	}
	r := &Region{Bytes: b, group: group, id: uint32(id)}
	for _, k := range keys {
		r.Keys = append(r.Keys, Key{uint64(k.base), uint64(k.key)})
	}
	return r, nil
}

func mapMemory(size int64) ([]byte, error) {
	const flags = syscall.MAP_PRIVATE | syscall.MAP_ANONYMOUS
	const prot = syscall.PROT_READ | syscall.PROT_WRITE
	if size%(2<<20) == 0 {
		if b, err := syscall.Mmap(-1, 0, int(size), prot, flags|syscall.MAP_HUGETLB); err == nil {
			return b, nil
		}
	}
	b, err := syscall.Mmap(-1, 0, int(size), prot, flags)
	if err == nil {
		_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) // a wish
	}
	return b, err
}

// Free ends a region. It fails while a transfer from it is under way. The
// addresses are not used again, so that a peer's late write meets nothing.
func (e *Engine) Free(r *Region) error {
	if ret := C.nmx_unregister(e.c, C.uint32_t(r.group), C.uint32_t(r.id)); ret != 0 {
		return failure(ret)
	}
	b := r.Bytes
	r.Bytes = nil
	return failure(C.nmx_unmap(unsafe.Pointer(&b[0]), C.uint64_t(len(b))))
}

// AddPeer makes a peer known by its rails' endpoints, and connects every rail.
func (e *Engine) AddPeer(group int, rails []Endpoint, within time.Duration) (uint32, error) {
	if len(rails) != e.rails {
		return 0, fmt.Errorf("the peer has %d rails in group %d, we have %d", len(rails), group, e.rails)
	}
	addrs := make([]byte, e.rails*maxAddress)
	lens := make([]C.uint32_t, e.rails)
	warm := make([]C.struct_nmx_key, e.rails)
	for i, r := range rails {
		if len(r.Address) == 0 || len(r.Address) > maxAddress {
			return 0, fmt.Errorf("rail %d: an address of %d bytes", i, len(r.Address))
		}
		copy(addrs[i*maxAddress:], r.Address)
		lens[i] = C.uint32_t(len(r.Address))
		warm[i] = C.struct_nmx_key{base: C.uint64_t(r.Warm.Base), key: C.uint64_t(r.Warm.Key)}
	}
	var id C.uint32_t
	ret := C.nmx_peer_add(e.c, C.uint32_t(group), (*C.uint8_t)(&addrs[0]), &lens[0], &warm[0], C.int(within.Milliseconds()), &id)
	return uint32(id), failure(ret)
}

// RemovePeer fails the transfers to a peer and forgets it.
func (e *Engine) RemovePeer(group int, peer uint32) error {
	return failure(C.nmx_peer_remove(e.c, C.uint32_t(group), C.uint32_t(peer)))
}

// Send starts a transfer; Wait tells its end.
func (e *Engine) Send(group int, t Transfer) error {
	if len(t.Src) == 0 || len(t.Src) > maxPages || len(t.Dst) != len(t.Src) || len(t.Keys) != e.rails {
		return fmt.Errorf("a transfer of %d sources, %d destinations and %d keys", len(t.Src), len(t.Dst), len(t.Keys))
	}
	keys := make([]C.struct_nmx_key, len(t.Keys))
	for i, k := range t.Keys {
		keys[i] = C.struct_nmx_key{base: C.uint64_t(k.Base), key: C.uint64_t(k.Key)}
	}
	c := C.struct_nmx_tx{id: C.uint64_t(t.ID), seed: C.uint64_t(t.Seed), region: C.uint32_t(t.Region.id), peer: C.uint32_t(t.Peer),
		pages: C.uint32_t(len(t.Src)), page_size: C.uint32_t(t.PageSize), flags: C.uint32_t(t.Flags), tag: C.uint8_t(t.Tag)}
	return failure(C.send_flat(e.c, C.uint32_t(group), c, words(t.Src), words(t.Dst), &keys[0]))
}

// Expect announces pages that will land; the sender needs the tag.
func (e *Engine) Expect(group int, r Receive) (uint8, error) {
	if len(r.Dst) == 0 || len(r.Dst) > maxPages || r.Expect != nil && len(r.Expect) != len(r.Dst) {
		return 0, fmt.Errorf("a receipt of %d destinations and %d hashes", len(r.Dst), len(r.Expect))
	}
	c := C.struct_nmx_rx{id: C.uint64_t(r.ID), seed: C.uint64_t(r.Seed), region: C.uint32_t(r.Region.id), pages: C.uint32_t(len(r.Dst)),
		page_size: C.uint32_t(r.PageSize), flags: C.uint32_t(r.Flags), account: C.uint32_t(r.Account)}
	var tag C.uint8_t
	e.tags.Lock()
	defer e.tags.Unlock()
	ret := C.expect_flat(e.c, C.uint32_t(group), c, words(r.Dst), words(r.Expect), &tag)
	if ret == -C.EAGAIN {
		return 0, ErrNoTag
	}
	return uint8(tag), failure(ret)
}

func words(s []uint64) *C.uint64_t { return (*C.uint64_t)(unsafe.SliceData(s)) }

// Cancel ends the transfers with an id, on either side, with ErrCanceled.
func (e *Engine) Cancel(group int, id uint64) error {
	return failure(C.nmx_cancel(e.c, C.uint32_t(group), C.uint64_t(id)))
}

// Wait gives the ends of transfers, none when the time is over.
func (e *Engine) Wait(within time.Duration) []Event {
	n := int(C.nmx_wait(e.c, &e.event[0], C.int(len(e.event)), C.int(within.Milliseconds())))
	out := make([]Event, 0, n)
	for _, v := range e.event[:n] {
		out = append(out, Event{Kind: Kind(v.kind), ID: uint64(v.id), Group: int(v.group), Bytes: uint64(v.bytes), Digest: uint64(v.digest),
			Start: uint64(v.start_ns), End: uint64(v.end_ns), BadPages: uint32(v.bad_pages), FirstBad: uint32(v.first_bad),
			Tag: uint8(v.tag), Err: failure(C.int(v.status))})
	}
	return out
}

// failure gives the engine's negative errno as an error.
func failure(ret C.int) error {
	switch {
	case ret == 0:
		return nil
	case ret == -C.ECANCELED:
		return ErrCanceled
	case ret == -C.ETIMEDOUT:
		return ErrTimeout
	}
	return syscall.Errno(-ret)
}

// Counters reads a group's counters while its worker goes on.
func (e *Engine) Counters(group int) Counters {
	var c C.struct_nmx_counters
	C.nmx_counters(e.c, C.uint32_t(group), &c)
	out := Counters{TxOps: uint64(c.tx_ops), RxOps: uint64(c.rx_ops), TxPages: uint64(c.tx_pages), RxPages: uint64(c.rx_pages),
		Again: uint64(c.again), Stray: uint64(c.stray), Duplicate: uint64(c.duplicate), BadPages: uint64(c.bad_pages),
		Errors: uint64(c.errors), Sleeps: uint64(c.sleeps), Polls: uint64(c.polls)}
	for i := range e.rails {
		out.TxBytes = append(out.TxBytes, uint64(c.tx_bytes[i]))
		out.RxBytes = append(out.RxBytes, uint64(c.rx_bytes[i]))
	}
	for i := range out.Account {
		out.Account[i] = uint64(c.account[i])
	}
	for _, n := range c.latency {
		out.Latency = append(out.Latency, uint64(n))
	}
	return out
}

// Now is CLOCK_MONOTONIC in nanoseconds.
func Now() uint64 { return uint64(C.nmx_now()) }

// FillPages fills pages of size bytes from the start of b with the patterns of
// seed and first, first + 1 …; PageHashes gives their body hashes alone.
func FillPages(b []byte, size int64, seed, first uint64) {
	if n := int64(len(b)) / size; n > 0 {
		C.nmx_fill_pages(unsafe.Pointer(&b[0]), C.size_t(size), C.uint64_t(n), C.uint64_t(seed), C.uint64_t(first), nil, nil)
	}
}

// PageHashes gives what n such pages hash to, but for their stamps.
func PageHashes(n int, size int64, seed, first uint64) []uint64 {
	out, scratch := make([]uint64, n), make([]byte, size)
	C.nmx_fill_pages(nil, C.size_t(size), C.uint64_t(n), C.uint64_t(seed), C.uint64_t(first), words(out), unsafe.Pointer(&scratch[0]))
	return out
}

// BucketNs is the upper end of a bucket of Counters.Latency.
func BucketNs(bucket int) uint64 { return uint64(C.nmx_bucket_ns(C.uint32_t(bucket))) }
