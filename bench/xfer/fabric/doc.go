// Package fabric moves scattered pages between processes with libfabric, over
// every rail (NIC) that a group (a GPU, or a NUMA node) has: the engine of
// nearmetal-xfer, for others to embed.
//
//	receiver: Expect(Receive) ──tag, destinations──→ (your control channel) ──→ sender: Send(Transfer)
//	          Wait ←── pages landed, counted and hashed                        Wait ←── handed over
//
// The engine is the C library in ../engine; the worker threads are its own and
// never call back into Go. One cgo call submits a whole transfer, one waits for
// a batch of events. Built without cgo, Open says what is missing.
//
// Sizes and offsets are in bytes, times in nanoseconds of CLOCK_MONOTONIC.
package fabric
