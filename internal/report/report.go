package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/compare"
)

// Schema names the JSON document of a whole report.
const Schema = "nearmetal/report/v1"

// Report is everything that a view may show. Only Comparison is needed; what
// else is empty is left out of the views.
type Report struct {
	Schema      string                       `json:"schema"`
	Run         Run                          `json:"run"`
	Comparison  compare.Comparison           `json:"comparison"`
	Environment map[string]map[string]string `json:"environment,omitempty"` // by arm, by key; arms named as in Comparison
	Samples     []bench.Sample               `json:"-"`                     // for distributions and download; arms named as in Comparison
}

// Run says where the numbers come from.
type Run struct {
	Name      string    `json:"name,omitempty"`      // of the run directory
	Against   string    `json:"against,omitempty"`   // of the second run directory, when two are compared
	Started   time.Time `json:"started,omitzero"`    // of the first launch
	Finished  time.Time `json:"finished,omitzero"`   // of the last launch
	Launches  int       `json:"launches,omitempty"`  // that count
	Failed    int       `json:"failed,omitempty"`    // launches that gave no result
	Nodes     []string  `json:"nodes,omitempty"`     // node names
	Version   string    `json:"version,omitempty"`   // of nearmetal that wrote the report
	Command   string    `json:"command,omitempty"`   // that analyses the run again; can be pasted
	Measure   string    `json:"measure,omitempty"`   // that measures again; can be pasted
	Notes     []string  `json:"notes,omitempty"`     // about launches that failed or are missing
	Synthetic bool      `json:"synthetic,omitempty"` // made-up numbers, for tests: the views say so
}

// Format is a view of a report.
type Format string

// The views.
const (
	FormatHTML     Format = "html"
	FormatMarkdown Format = "md"
	FormatJSON     Format = "json"
	FormatTerm     Format = "term"
)

// Formats lists the views.
func Formats() []Format { return []Format{FormatHTML, FormatMarkdown, FormatJSON, FormatTerm} }

// Style says what the terminal can show.
type Style struct {
	Color bool // ANSI colours; never the only carrier of a meaning
	Width int  // columns; columns of the table are left out until it fits
}

// Write writes one view. An unknown format is an error.
func (r Report) Write(w io.Writer, f Format, s Style) error {
	switch f {
	case FormatHTML:
		return r.HTML(w)
	case FormatMarkdown:
		return r.Markdown(w)
	case FormatJSON:
		return r.JSON(w)
	case FormatTerm:
		return r.Term(w, s)
	}
	return fmt.Errorf("unknown report format %q", f)
}

// JSON writes the report as one document.
func (r Report) JSON(w io.Writer) error {
	r.Schema = Schema
	return writeJSON(w, r)
}

// ComparisonJSON writes the comparison alone, schema nearmetal/comparison/v1.
func ComparisonJSON(w io.Writer, c compare.Comparison) error { return writeJSON(w, c) }

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
