package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/image"
)

// InspectOptions is what `nearmetal inspect` was asked.
type InspectOptions struct {
	Image      string
	JSON       bool
	Definition bool
}

func newInspect(d Deps, runF func(Deps, InspectOptions) error) *cobra.Command {
	var o InspectOptions
	c := &cobra.Command{
		Use:   "inspect IMG.sif",
		Short: "show what is inside an image: stack, digest, labels, definition",
		Long: `Show what an image says about itself, without Apptainer: a SIF file or a
sandbox folder. The digest is of the whole file.`,
		Example: `  nearmetal inspect openmpi.sif
  nearmetal inspect openmpi.sif --json
  nearmetal inspect openmpi.sif --definition > openmpi.def`,
		Args: exactly(1, "IMG.sif"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Image = args[0]
			return runF(d, o)
		},
	}
	c.Flags().BoolVar(&o.JSON, "json", false, "one JSON document, schema "+image.Schema)
	c.Flags().BoolVar(&o.Definition, "definition", false, "the definition alone")
	return c
}

func runInspect(d Deps, o InspectOptions) error {
	img, err := image.Open(o.Image)
	if err != nil {
		return err
	}
	if o.Definition {
		if img.Definition == "" {
			return fail.New(fail.Failed, "", "%s holds no definition", o.Image)
		}
		_, err := io.WriteString(d.Out, img.Definition)
		return err
	}
	if img.Kind == image.KindSIF {
		if img.Digest, err = image.Sum(o.Image); err != nil {
			return err
		}
	}
	if o.JSON {
		e := json.NewEncoder(d.Out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(img)
	}
	return showImage(d.Out, img)
}

func showImage(w io.Writer, img image.Image) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, printable(value))
		}
	}
	row("image", img.Path)
	row("kind", kindLine(img))
	row("digest", img.Digest)
	row("uuid", img.UUID)
	row("arch", img.Arch)
	if img.Created != nil {
		row("created", img.Created.Format(time.RFC3339))
	}
	row("recipe", img.Recipe)
	row("probe", img.Probe)
	if len(img.Stack) == 0 {
		row("stack", "not said by the image's labels")
	}
	for _, s := range img.Stack {
		row("stack", s.Name+" "+s.Version)
	}
	for _, k := range slices.Sorted(maps.Keys(img.Labels)) {
		row("label", k+" = "+img.Labels[k])
	}
	row("definition", fmt.Sprintf("%d lines (--definition shows it)", strings.Count(img.Definition, "\n")))
	return t.Flush()
}

func kindLine(img image.Image) string {
	s := img.Kind
	if img.Size > 0 {
		s += ", " + megabytes(img.Size)
	}
	if img.Encrypted {
		s += ", encrypted"
	}
	if img.Signatures > 0 {
		s += fmt.Sprintf(", %d signatures (not verified)", img.Signatures)
	}
	return s
}

// printable keeps a foreign image's words from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
