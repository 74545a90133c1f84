// Package logscan reads job output of any size once and says which known
// phrases it holds, with file, line, rank and host of each.
//
//	patterns ──Compile──→ Scanner
//	text ──Scan──→ Signals   (hits per pattern, benchmark tables, head of the text)
//
// A pattern is a regular expression. The literals that it needs are found by
// Compile and searched for together (literal.go, prefilter.go); the expression
// itself runs on the few lines that hold one of them. Memory is bounded
// whatever the input: lines are cut, hits per pattern are counted and the first
// few kept.
//
// The package does no effects.
package logscan

// Limits on what a scan keeps, so that its memory does not grow with the input.
const (
	MaxHits     = 16       // hits kept for each pattern; further ones are not counted one by one
	MaxText     = 300      // bytes of a line kept as evidence
	MaxHead     = 64 << 10 // bytes of the text's beginning kept for clues
	MaxTables   = 64       // benchmark tables kept
	MaxRows     = 128      // rows kept of each table
	maxLine     = 4 << 10  // bytes around a hit that an expression sees
	blockSize   = 256 << 10
	minLiteral  = 8 // bytes that every alternative of a pattern must hold as plain text
	maxLiterals = 48
)

// Hit is one line that matches a pattern.
type Hit struct {
	Pattern string
	File    string
	Line    int      // from 1
	Text    string   // the line without colours and prefixes, cut at MaxText
	Rank    string   // from srun --label, mpirun --tag-output, NCCL's GPU; "" when not said
	Host    string   // "" when not said
	Groups  []string // the expression's submatches; Groups[0] is the whole match
}

// Row is one line of a benchmark table.
type Row struct {
	Size   int64 // bytes
	Values []float64
}

// Table is a benchmark's result found in the text.
type Table struct {
	Kind string // "osu" or "nccl-tests"
	Name string // the benchmark's title, such as "OSU MPI Latency Test v7.2"
	File string
	Line int // of the header, or of the first row
	Rows []Row
}

// Signals is what a scan found. The zero value is an empty log.
type Signals struct {
	Hits   map[string][]Hit // by pattern, in order of appearance
	Tables []Table
	Head   string // beginning of the text, without colours
	Lines  int
	Bytes  int64
}

// Merge adds what another file's scan found.
func (s *Signals) Merge(o Signals) {
	if s.Hits == nil {
		s.Hits = map[string][]Hit{}
	}
	for k, h := range o.Hits {
		s.Hits[k] = append(s.Hits[k], h...)
	}
	s.Tables = append(s.Tables, o.Tables...)
	s.Head += "\n" + o.Head
	s.Lines += o.Lines
	s.Bytes += o.Bytes
}
