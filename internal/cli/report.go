package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/report"
)

// ReportOptions is what `nearmetal report` was asked.
type ReportOptions struct {
	CompareOptions
	Output string // "" and "-": stdout
	Format string // "": by Output's ending
}

func newReport(d Deps, runF func(Deps, ReportOptions) error) *cobra.Command {
	var o ReportOptions
	c := &cobra.Command{
		Use:   "report RUN [RUN]",
		Short: "one self-contained page of a run (also md, json, term)",
		Long: `Write what compare finds as a page to keep or to send: it loads nothing and runs
no script. Without -o, and without --format, the terminal table is shown.`,
		Example: `  nearmetal report run1 -o report.html
  nearmetal report run1 --format md > comment.md
  nearmetal report before after -o report.html --margin 5%`,
		Args: between(1, 2, "RUN [RUN]"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Runs = args
			return runF(d, o)
		},
	}
	compareFlags(c, &o.CompareOptions)
	c.Flags().StringVarP(&o.Output, "output", "o", "", "write to `FILE` instead of stdout")
	c.Flags().StringVar(&o.Format, "format", "", "`FORMAT`: html, md, json or term (default: by the ending of -o, else term)")
	return c
}

func runReport(d Deps, o ReportOptions) error {
	f, err := o.format()
	if err != nil {
		return err
	}
	r, err := loadReport(o.CompareOptions)
	if err != nil {
		return err
	}
	if o.Output == "" || o.Output == "-" {
		return r.Write(d.Out, f, termStyle(d))
	}
	var text bytes.Buffer
	if err := r.Write(&text, f, report.Style{Width: 80}); err != nil {
		return err
	}
	if err := writeFile(o.Output, text.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(d.Err, "%s: %s\n", o.Output, report.Plain(r.Comparison.Sentence))
	return nil
}

// format is the view asked for, by name or by the file's ending.
func (o ReportOptions) format() (report.Format, error) {
	name := o.Format
	if name == "" {
		name = byEnding(o.Output)
	}
	if o.JSON {
		name = string(report.FormatJSON)
	}
	if !slices.Contains(report.Formats(), report.Format(name)) {
		return "", fail.Usagef("nearmetal report RUN --format html", "unknown format %q: html, md, json or term", name)
	}
	return report.Format(name), nil
}

func byEnding(file string) string {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".html", ".htm":
		return string(report.FormatHTML)
	case ".md", ".markdown":
		return string(report.FormatMarkdown)
	case ".json":
		return string(report.FormatJSON)
	case "", ".txt":
		return string(report.FormatTerm)
	}
	return strings.TrimPrefix(filepath.Ext(file), ".")
}
