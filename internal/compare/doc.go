// Package compare turns samples of two arms into a claim that can be defended.
//
//	[]bench.Sample ─gather→ cells ─reduce→ one value a launch ─pair→ log ratio a block
//	   ─signed rank→ Effect ─margin→ Cell ─Holm, intersection→ Family → Comparison
//
// A cell is one (suite, benchmark, placement, metric, size). Its estimate is the
// Hodges–Lehmann centre of the blocks' log ratios other ÷ base with the exact
// signed-rank interval; two runs that share no blocks are compared by the
// two-sample shift and the exact Mann–Whitney interval instead.
//
// A ratio is always other ÷ base of the metric as measured: 1.05 on a latency
// is 5 % slower, 1.05 on a bandwidth 5 % faster. Cell.Better and the verdicts
// say which.
//
// The package is pure: no effects, no clock, no random numbers. The method and
// its measured error rates are in docs/statistics.md.
package compare
