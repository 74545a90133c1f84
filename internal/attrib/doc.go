// Package attrib finds the reason for a difference between two arms in what
// their libraries say.
//
//	verbose launch (not timed) ──Extract──→ Facts ┐
//	verbose launch of the other arm ─────→ Facts ─┼─Explain──→ []compare.Reason
//	comparison ───────────────────────────────────┘
//
// Settings turns on what Open MPI, UCX, libfabric and NCCL can tell; Extract
// reduces each arm's text to a small table of facts (transport by peer, single
// copy, network interface, CPUs, /dev/shm …); Explain walks the catalogue of
// rules and gives the differences that can explain the numbers, the surest
// first, each with the line that shows it and what to do. A fact that was not
// observed is never taken for a difference. The package does no effects.
package attrib
