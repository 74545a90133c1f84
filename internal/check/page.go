package check

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Page writes the catalogue as Markdown, by layer.
func Page(w io.Writer, checks []Check) error {
	layers := map[string][]Check{}
	for _, c := range checks {
		layers[c.Layer] = append(layers[c.Layer], c)
	}
	names := make([]string, 0, len(layers))
	for n := range layers {
		names = append(names, n)
	}
	slices.Sort(names)
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d causes in %d layers. `nearmetal doctor explain CODE` shows how each is recognised.\n", len(checks), len(names))
	for _, n := range names {
		fmt.Fprintf(b, "\n### %s\n", n)
		slices.SortFunc(layers[n], func(a, b Check) int { return cmp.Compare(a.Code, b.Code) })
		for _, c := range layers[n] {
			pageEntry(b, c)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func pageEntry(b *strings.Builder, c Check) {
	fmt.Fprintf(b, "\n**%s `%s`** (%s): %s  \n%s If left: %s.\n\n", c.Code, c.Key, c.Severity, c.Title, c.Cause, strings.TrimSuffix(c.Breaks, "."))
	for _, f := range c.Fix {
		fmt.Fprintf(b, "- %s: ``%s``\n", f.Role, f.Command)
	}
	if c.Apart != "" {
		fmt.Fprintf(b, "- to tell apart: ``%s``\n", c.Apart)
	}
	fmt.Fprintf(b, "- <%s>\n", c.Source)
}
