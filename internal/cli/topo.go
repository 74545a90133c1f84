package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/site/topo"
)

// TopoOptions are the flags of `nearmetal topo`.
type TopoOptions struct {
	Sysfs string // where sysfs lies: /sys, or a copy of a node's
	NCCL  string // NCCL topology file instead
	JSON  bool
}

func newTopo(d Deps, runF func(context.Context, Deps, TopoOptions) error) *cobra.Command {
	o := TopoOptions{Sysfs: "/sys"}
	c := &cobra.Command{
		Use:   "topo",
		Short: "GPUs, NICs, NUMA, PCIe: which NIC and cores belong to which GPU",
		Long: `Show which NICs hang below the same PCIe switch as which GPU, with their NUMA
node and cores: the groups of rails that nearmetal-xfer --rails and --cpus take.`,
		Example: `  nearmetal topo
  srun -N1 nearmetal topo --json
  nearmetal topo --nccl topo.xml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runF(c.Context(), d, o) },
	}
	c.Flags().StringVar(&o.Sysfs, "sysfs", o.Sysfs, "sysfs, or a copy of a node's")
	c.Flags().StringVar(&o.NCCL, "nccl", "", "an NCCL topology file instead of sysfs")
	c.Flags().BoolVar(&o.JSON, "json", false, "one JSON document")
	return c
}

type topoDocument struct {
	Schema string       `json:"schema"`
	Source string       `json:"source"`
	Groups []topo.Group `json:"groups"`
}

func runTopo(_ context.Context, d Deps, o TopoOptions) error {
	devices, source, err := readTopo(o)
	if err != nil {
		return fail.New(fail.Failed, "nearmetal topo --help", "%w", err)
	}
	doc := topoDocument{"nearmetal/topo/v1", source, topo.Groups(devices)}
	if doc.Groups == nil {
		doc.Groups = []topo.Group{}
	}
	if o.JSON {
		return writeJSON(d.Out, doc)
	}
	return topoTable(d.Out, doc)
}

func readTopo(o TopoOptions) ([]topo.Device, string, error) {
	if o.NCCL == "" {
		devices, err := topo.Read(os.DirFS(o.Sysfs))
		return devices, o.Sysfs, err
	}
	f, err := os.Open(o.NCCL)
	if err != nil {
		return nil, o.NCCL, err
	}
	defer f.Close()
	devices, err := topo.ParseXML(f)
	return devices, o.NCCL, err
}

func topoTable(w io.Writer, doc topoDocument) error {
	if len(doc.Groups) == 0 {
		_, err := fmt.Fprintf(w, "%s lists neither GPUs nor NICs on PCI\n", doc.Source)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "group\tGPUs\tNICs\tbridge\tNUMA\tcores")
	for i, g := range doc.Groups {
		numa := "–"
		if g.NUMA != nil {
			numa = strconv.Itoa(*g.NUMA)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", i, deviceNames(g.GPUs), deviceNames(g.NICs), dash(g.Bridge), numa, dash(g.CPUs))
	}
	return t.Flush()
}

func deviceNames(devices []topo.Device) string {
	var out []string
	for _, d := range devices {
		name := d.Addr
		if d.Name != "" {
			name += " " + d.Name
		}
		out = append(out, name)
	}
	return dash(strings.Join(out, ", "))
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
