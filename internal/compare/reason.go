package compare

// Reason is a difference between what the arms' libraries say that can explain
// a difference of the numbers. Package attrib finds it.
type Reason struct {
	Code      string       `json:"code"`      // stable: "single-copy"
	Placement string       `json:"placement"` // "1 node, 2 ranks"
	Text      string       `json:"text"`      // a sentence
	Fact      string       `json:"fact"`      // what differs: "single copy, same node"
	Base      string       `json:"base"`
	Other     string       `json:"other"`
	Explains  []FamilyName `json:"explains"` // families that differ and that this can explain; empty: it explains nothing that was measured
	Fix       string       `json:"fix"`
	Evidence  []Evidence   `json:"evidence"`
}

// FamilyName names a family of cells.
type FamilyName struct {
	Benchmark string `json:"benchmark"`
	Placement string `json:"placement"`
	Metric    string `json:"metric"`
}

// Evidence is a line of an arm's launch that is not timed.
type Evidence struct {
	Arm  string `json:"arm"`
	File string `json:"file"` // below the run directory
	Line int    `json:"line"`
	Text string `json:"text"`
}

// FactRow is what the libraries of both arms say about one thing; nil is not
// observed.
type FactRow struct {
	Placement string  `json:"placement"`
	Key       string  `json:"key"`
	Base      *string `json:"base"`
	Other     *string `json:"other"`
}

// Differs says whether any size of the family was found different.
func (f Family) Differs() bool {
	return f.DifferentSomewhere || len(f.SlowerSizes)+len(f.FasterSizes) > 0
}
