// Package xfer is what both ends of the transfer benchmark agree on, and what
// its results mean; it moves nothing itself.
//
//	Geometry + seed ──Plan──→ source and destination of every page (the same on both ends)
//	Frame ──→ bytes ──→ Frame       the control channel: versioned, length-checked
//	Snapshot × 2 ──→ Result         nearmetal/xfer/v1
//	Result ──Parse──→ []bench.Sample
//
// The engine is bench/xfer/engine, its Go face bench/xfer/fabric, the program
// cmd/nearmetal-xfer.
package xfer
