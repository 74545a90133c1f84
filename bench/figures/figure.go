package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/google/renameio/v2"
)

const schema = "nearmetal/figures/v1"

// Figure is one measured claim. A figure that could not be measured has a nil
// Value and a Note that says why.
type Figure struct {
	Name  string   `json:"name"`
	Group string   `json:"group"`
	Value *float64 `json:"value"`
	Lo    *float64 `json:"lo"` // 95 % interval
	Hi    *float64 `json:"hi"`
	Unit  string   `json:"unit"`
	N     int      `json:"n"`     // launches, or repeats of a whole process
	Peer  *float64 `json:"peer"`  // the peer's figure in the same unit, measured in the same run
	Limit *float64 `json:"limit"` // the bound we hold ourselves to, or the physical one
	Note  string   `json:"note"`
}

type document struct {
	Schema  string   `json:"schema"`
	Figures []Figure `json:"figures"`
}

func ptr(v float64) *float64 { return &v }

// load reads the figures of an earlier group, none when there is no file.
func load(path string) ([]Figure, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d.Figures, nil
}

// save puts fresh over old by name and writes all, in the catalogue's order.
func save(path string, old, fresh []Figure) error {
	all := slices.Clone(fresh)
	for _, f := range old {
		if !slices.ContainsFunc(all, func(g Figure) bool { return g.Name == f.Name }) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Figure) int { return rank(a.Name) - rank(b.Name) })
	b, err := json.MarshalIndent(document{schema, all}, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, append(b, '\n'), 0o644)
}

// table prints figures for people.
func table(w io.Writer, figures []Figure) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "name\tfigure\tunit\t95 % interval\tlaunches\tpeer\tlimit\tnote")
	for _, f := range figures {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", f.Name, num(f.Value), f.Unit, interval(f), f.N, num(f.Peer), num(f.Limit), f.Note)
	}
	return t.Flush()
}

func interval(f Figure) string {
	if f.Lo == nil || f.Hi == nil {
		return "–"
	}
	return num(f.Lo) + " … " + num(f.Hi)
}

func num(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}
