package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nearmetal/nearmetal/bench/probe"
	"github.com/nearmetal/nearmetal/bench/scan"
	"github.com/nearmetal/nearmetal/internal/campaign"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
)

// ScanOptions are the flags of `nearmetal scan`.
type ScanOptions struct {
	Rounds    int // 0: all pairs
	AtOnce    int
	NativeBin string
	JSON      bool
}

func newScan(d Deps, runF func(context.Context, Deps, ScanOptions) error) *cobra.Command {
	var o ScanOptions
	c := &cobra.Command{
		Use:   "scan",
		Short: "latency and bandwidth between the nodes, slow ones named",
		Long: `Measures pairs of the allocation's nodes, as many at once as do not share a node, and
tells slow nodes from slow links and from links that are slow one way.

All pairs of n nodes take n-1 rounds; --rounds 16 lets each node meet 16 others, which
is enough to find the slow ones among thousands. Exit code 3 when one is found.`,
		Example: `  nearmetal scan                  # inside salloc -N 16 --ntasks-per-node=1
  nearmetal scan --rounds 16 --json > scan.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runF(c.Context(), d, o) },
	}
	f := c.Flags()
	f.IntVar(&o.Rounds, "rounds", 0, "partners of each node (0: all)")
	f.IntVar(&o.AtOnce, "at-once", 64, "pairs at a time")
	f.StringVar(&o.NativeBin, "native-bin", "", "`DIR` of the probe (default: beside nearmetal, then PATH)")
	f.BoolVar(&o.JSON, "json", false, "one JSON document")
	return c
}

func runScan(ctx context.Context, d Deps, o ScanOptions) error {
	if o.Rounds < 0 || o.AtOnce < 1 {
		return fail.Usagef("nearmetal scan --rounds 16 --at-once 64", "%d rounds, %d pairs at once: cannot be run", o.Rounds, o.AtOnce)
	}
	names, err := allocated(ctx, d)
	if err != nil {
		return err
	}
	dir, err := BenchOptions{NativeBin: o.NativeBin, Suites: []string{probe.Suite}}.nativeDir(d)
	if err != nil {
		return err
	}
	rounds := scan.Rounds(len(names))
	if o.Rounds > 0 {
		rounds = scan.Sample(len(names), o.Rounds, rand.Uint64())
	}
	w := campaign.World{Runner: d.Runner, Getenv: d.Getenv, Now: d.Now}
	plan := campaign.ScanPlan{Nodes: names, Rounds: rounds, Program: probe.Program, AtOnce: o.AtOnce, Timeout: time.Minute}
	if dir != "" {
		plan.Program = dir + "/" + probe.Program
	}
	pairs, err := campaign.Scan(ctx, w, plan, func(done, total int) {
		if d.Terminal {
			fmt.Fprintf(d.Err, "\r\033[K%d of %d pairs", done, total)
		}
	})
	if d.Terminal {
		fmt.Fprint(d.Err, "\r\033[K")
	}
	if err != nil {
		return err
	}
	return showScan(d, o, names, pairs)
}

// allocated lists the nodes of the allocation around us.
func allocated(ctx context.Context, d Deps) ([]string, error) {
	list := d.Getenv("SLURM_JOB_NODELIST")
	if list == "" {
		return nil, fail.Usagef("salloc -N 16 --ntasks-per-node=1 nearmetal scan", "scan needs an allocation around it")
	}
	out, err := runner.Output(ctx, d.Runner, "scontrol", "show", "hostnames", list)
	if err != nil {
		return nil, err
	}
	names := strings.Fields(string(out))
	if len(names) < 2 {
		return nil, fail.Usagef("salloc -N 2 --ntasks-per-node=1 nearmetal scan", "%s: a scan needs two nodes", list)
	}
	return names, nil
}

type scanPairJSON struct {
	From      string   `json:"from"`
	To        string   `json:"to"`
	Latency   *float64 `json:"latency_us"`
	Bandwidth *float64 `json:"bandwidth_mb_s"`
	Why       string   `json:"why,omitempty"`
}

type scanOutlierJSON struct {
	Kind   string   `json:"kind"`
	Nodes  []string `json:"nodes"`
	Metric string   `json:"metric"`
	Factor float64  `json:"factor"`
	Pairs  int      `json:"pairs"`
	Text   string   `json:"text"`
}

type scanJSON struct {
	Schema    string            `json:"schema"`
	Nodes     []string          `json:"nodes"`
	Latency   *float64          `json:"median_latency_us"`
	Bandwidth *float64          `json:"median_bandwidth_mb_s"`
	Failed    int               `json:"failed"`
	Outliers  []scanOutlierJSON `json:"outliers"`
	Pairs     []scanPairJSON    `json:"pairs"`
}

// showScan prints the result; slow or failed pairs are findings.
func showScan(d Deps, o ScanOptions, names []string, pairs []scan.Pair) error {
	r := scan.Analyse(len(names), pairs)
	if o.JSON {
		if err := json.NewEncoder(d.Out).Encode(scanDocument(names, pairs, r)); err != nil {
			return err
		}
	} else {
		scanText(d.Out, names, pairs, r)
	}
	if len(r.Outliers)+r.Failed > 0 {
		return fail.Exit(fail.Findings)
	}
	return nil
}

func scanDocument(names []string, pairs []scan.Pair, r scan.Report) scanJSON {
	doc := scanJSON{"nearmetal/scan/v1", names, finite(r.Latency), finite(r.Bandwidth), r.Failed, []scanOutlierJSON{}, []scanPairJSON{}}
	for _, x := range r.Outliers {
		nodes := []string{names[x.Link.From], names[x.Link.To]}
		if x.Kind == "node" {
			nodes = []string{names[x.Node]}
		}
		doc.Outliers = append(doc.Outliers, scanOutlierJSON{x.Kind, nodes, x.Metric, x.Factor, x.Pairs, x.Text(names)})
	}
	for _, p := range pairs {
		doc.Pairs = append(doc.Pairs, scanPairJSON{names[p.From], names[p.To], finite(p.Latency), finite(p.Bandwidth), p.Why})
	}
	return doc
}

// finite is null in JSON for what was not measured.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// firstFailure tells why the first pair has no value.
func firstFailure(names []string, pairs []scan.Pair) string {
	for _, p := range pairs {
		if p.Why != "" {
			return "; the first, " + names[p.From] + " to " + names[p.To] + ": " + p.Why
		}
	}
	return ""
}

// mostMap is the largest number of nodes that is drawn.
const mostMap = 32

func scanText(w io.Writer, names []string, pairs []scan.Pair, r scan.Report) {
	fmt.Fprintf(w, "%d nodes, %d pairs; median %.2f µs at 8 B, %.0f MB/s at 1 MiB\n", len(names), len(pairs), r.Latency, r.Bandwidth)
	if r.Failed > 0 {
		fmt.Fprintf(w, "! %d pairs gave no value%s\n", r.Failed, firstFailure(names, pairs))
	}
	for _, o := range r.Outliers {
		fmt.Fprintf(w, "▲ %s\n", o.Text(names))
	}
	if len(r.Outliers)+r.Failed == 0 {
		fmt.Fprintln(w, "● no node and no link is slow")
	}
	if len(names) <= mostMap {
		heatMap(w, names, pairs, r.Bandwidth)
	}
}

// heatMap draws bandwidth as tenths of the median: 9 is all of it, · was not measured.
func heatMap(w io.Writer, names []string, pairs []scan.Pair, median float64) {
	grid := make([][]byte, len(names))
	for i := range grid {
		grid[i] = []byte(strings.Repeat(".", len(names)))
		grid[i][i] = ' '
	}
	for _, p := range pairs {
		if share := p.Bandwidth / median; !math.IsNaN(share) {
			grid[p.From][p.To] = byte('0' + int(min(9, 9.5*share)))
		}
	}
	fmt.Fprintln(w, "\nbandwidth from (row) to (column), in tenths of the median; . was not measured")
	for i, row := range grid {
		fmt.Fprintf(w, "  %-16s %s\n", names[i], row)
	}
}
