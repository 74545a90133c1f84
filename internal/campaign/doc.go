// Package campaign carries out a comparison: it joins the suites of bench with
// the plans of slurm, starts each launch through runner and keeps it in store.
//
//	New ──→ run directory ──Execute──→ raw launches ──Load──→ samples, environment ──→ compare
//	                      └─Submit, Allocate──→ the same inside a Slurm job
//
// Everything that a launch gave is on disk before the next one starts; Execute
// on a directory that was left half-way does what is missing and nothing twice.
package campaign
