// Package report turns a comparison into something a person reads: a terminal
// table, one self-contained HTML page, Markdown for a pull request, JSON.
//
//	compare.Comparison + []bench.Sample + Run ──Report──→ layout ─┬─ Term
//	                                                              ├─ Markdown
//	                                                              └─ HTML: gonum/plot → canvas → []shape → html/template
//
// The views are pure: they write to the writer they are given and nothing
// else, and the same report gives the same bytes. Whatever comes from outside
// (arm names, placements, environment values) is text, never markup: HTML goes
// through html/template alone, terminal text loses its control characters.
package report
