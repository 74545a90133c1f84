// Package check knows the causes of failed, hung and slow MPI and GPU jobs.
//
//	log ──logscan──→ Signals ┐
//	context (free text) ─────┼─ Run ──→ []Finding, root cause first
//	nodes ──collect──→ Facts ┘
//
// A Check is data: what text means the cause, what else makes it likelier, what
// to do about it. Where text cannot decide, a small function does. Consequences
// name the causes they follow from and are put behind them.
//
// To add one: one entry in a family's file and a fixture of each kind in
// testdata/fixtures. The package does no effects.
package check

import (
	"github.com/nearmetal/nearmetal/internal/logscan"
	"github.com/nearmetal/nearmetal/internal/site"
)

// Input is what is known. Any part may be missing.
type Input struct {
	Signals logscan.Signals
	Context string       // what is known besides the log: command line, versions, environment; free text or "key: value" lines
	Nodes   []site.Facts // live facts; inside a fact nil means not observed
}

// Check is one cause.
type Check struct {
	Code     string // stable: family and number, such as "UCX003"
	Key      string // stable: the cause in kebab case
	Layer    string // slurm, pmix, openmpi …
	Severity Severity
	Title    string // what is wrong, in a few words
	Cause    string // a sentence
	Breaks   string // what it breaks if left
	Fix      []Fix
	Source   string // link to upstream documentation or a public thread
	// Apart is the command that tells this cause from others of the same text.
	Apart string
	// DependsOn are keys of causes that this one follows from when they are found too.
	DependsOn []string

	Rules []Rule // text that means this cause; the best one that holds counts
	Clues []Clue // what makes it likelier or less likely once a rule holds
	// Live finds the cause in nodes' facts (nil: not to be seen live). It
	// returns one Evidence per place, none when the nodes are fine; a fact not
	// observed is never evidence. The finding's score is LiveScore, 90 when 0.
	Live      func(nodes []site.Facts) []Evidence
	LiveScore int
}

// Rule is a set of lines that together mean a cause.
type Rule struct {
	Score int      // 1 to 100: how surely this text alone means the cause
	All   []Line   // each must be seen somewhere in the log
	Need  []string // expressions over context and head of the log that must all match
	None  []string // expressions over context and head of the log of which none may match
	// See, when set, must find evidence in all that the scan found, such as
	// benchmark tables.
	See func(s logscan.Signals) []Evidence
}

// Line is an expression over one line of the log. Every alternative of it must
// hold at least eight bytes of plain text (logscan.Compile says so).
type Line struct {
	Re   string
	Min  int                    // least number of hits, 1 when 0
	Test func(logscan.Hit) bool // further condition on a hit, nil: none
	// Together picks the hits that count by looking at all of them; nil: all do.
	Together func([]logscan.Hit) []logscan.Hit
}

// Clue shifts the score when its expression matches the context or the head of
// the log.
type Clue struct {
	Re  string
	Add int
}
