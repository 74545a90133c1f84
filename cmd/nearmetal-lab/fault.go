package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/lab"
)

func newFault(s streams) *cobra.Command {
	p := place{s: s}
	c := &cobra.Command{
		Use:   "fault [NAME on|off [NODE]...]",
		Short: "Put something wrong into the lab on purpose, or list what there is",
		Example: `  nearmetal-lab fault
  nearmetal-lab fault memlock on n2
  nearmetal-lab fault memlock off`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) > 1 && args[1] != "on" && args[1] != "off" {
				return fail.Usagef("nearmetal-lab fault memlock on n2", "give a fault, then on or off, then nodes")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			l, err := p.open()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listFaults(s, l)
			}
			return l.Plant(c.Context(), args[0], args[1] == "on", args[2:]...)
		},
	}
	p.flags(c)
	return c
}

// listFaults shows the catalogue and where each is planted.
func listFaults(s streams, l *lab.Lab) error {
	planted, err := l.Planted()
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FAULT\tON\tWHAT")
	for _, f := range lab.Faults() {
		var on []string
		for _, name := range planted {
			if node, ok := strings.CutPrefix(name, f.Name+"."); ok {
				on = append(on, node)
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Name, strings.Join(on, ","), f.What)
	}
	return t.Flush()
}
