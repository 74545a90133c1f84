package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/defs"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/image"
)

// LintOptions is what `nearmetal lint` was asked.
type LintOptions struct {
	File string
	JSON bool
	Fix  bool
}

// lintReport is the JSON document.
type lintReport struct {
	Schema     string           `json:"schema"`
	File       string           `json:"file"`
	Stages     int              `json:"stages"`
	Objections []defs.Objection `json:"objections"`
}

const lintSchema = "nearmetal/lint/v1"

func newLint(d Deps, runF func(Deps, LintOptions) error) *cobra.Command {
	var o LintOptions
	c := &cobra.Command{
		Use:   "lint FILE.def|IMG.sif",
		Short: "what an expert would object to in a definition or an image",
		Long: `Read any Apptainer or Singularity definition, or the one that an image carries,
and say what an expert would object to for MPI and GPU jobs under Slurm: each
with its line, the reason and the change. Nothing is run. The exit code is 3
when there is something to object to.

--fix prints a recipe that gives the same stack without the objections, to
start from; what the definition builds of its own goes into it by hand.`,
		Example: `  nearmetal lint Singularity.def
  nearmetal lint app.sif --json
  nearmetal lint app.def --fix > app.yaml`,
		Args: exactly(1, "FILE.def|IMG.sif"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.File = args[0]
			return runF(d, o)
		},
	}
	c.Flags().BoolVar(&o.JSON, "json", false, "one JSON document, schema "+lintSchema)
	c.Flags().BoolVar(&o.Fix, "fix", false, "print a recipe for the same stack")
	return c
}

func runLint(d Deps, o LintOptions) error {
	text, err := definitionOf(o.File)
	if err != nil {
		return err
	}
	stages, err := defs.Parse(strings.NewReader(text))
	if err != nil {
		return lintError(o.File, err)
	}
	if o.Fix {
		_, err := io.WriteString(d.Out, defs.Propose(stages))
		return err
	}
	r := lintReport{lintSchema, o.File, len(stages), defs.Lint(stages)}
	if r.Objections == nil {
		r.Objections = []defs.Objection{}
	}
	if err := r.print(d, o.JSON); err != nil {
		return err
	}
	if len(r.Objections) > 0 {
		return fail.Exit(fail.Findings)
	}
	return nil
}

// definitionOf reads a definition, or takes it out of an image.
func definitionOf(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fail.Missingf("nearmetal lint FILE.def", "%w", err)
	}
	if !info.IsDir() && !isSIF(file) {
		if info.Size() > 16<<20 {
			return "", fail.Usagef("nearmetal lint FILE.def", "%s is too large for a definition, and no SIF image", file)
		}
		b, err := os.ReadFile(file)
		return string(b), err
	}
	img, err := image.Open(file)
	if err != nil {
		return "", err
	}
	if img.Definition == "" {
		return "", fail.New(fail.Failed, "nearmetal inspect "+file, "%s carries no definition", file)
	}
	return img.Definition, nil
}

// isSIF looks for the magic word that a SIF file has behind its launch script
// (sif: hdrMagic at byte 32).
func isSIF(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 42)
	n, _ := io.ReadFull(f, head) // shorter: no image
	return strings.Contains(string(head[:n]), "SIF_MAGIC")
}

func lintError(name string, err error) error {
	var faults defs.Faults
	if !errors.As(err, &faults) {
		return err
	}
	return &fail.Error{Code: fail.Usage, Msg: fmt.Sprintf("%s is no definition: %s", name, faults.Error()), Hint: "a definition begins with Bootstrap: and From:", Err: err}
}

func (r lintReport) print(d Deps, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(d.Out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	for _, o := range r.Objections {
		fmt.Fprintf(d.Out, "%s:%d: %s: %s\n    %s\n    change: %s\n", printable(r.File), o.Line, o.Code, o.Reason, printable(o.Text), o.Change)
	}
	if n := len(r.Objections); n == 0 {
		fmt.Fprintf(d.Err, "%s: nothing to object to\n", printable(r.File))
	} else {
		fmt.Fprintf(d.Err, "%d objections; nearmetal lint --fix proposes a recipe\n", n)
	}
	return nil
}
