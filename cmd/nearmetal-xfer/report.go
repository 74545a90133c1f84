package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/nearmetal/nearmetal/bench/xfer"
	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// lineGbps is --rate, 0 when it was not given; hello has checked it.
func (o *clientOptions) lineGbps() float64 {
	v, _ := strconv.ParseFloat(o.rate, 64)
	return v
}

func checkRate(s string) error {
	if v, err := strconv.ParseFloat(s, 64); s != "" && (err != nil || !(v > 0)) {
		return fail.Usagef("--rate 3.2", "--rate %q: must be a number of Gbit/s", s)
	}
	return nil
}

// result puts both ends together.
func (o *clientOptions) result(s *session, got []xfer.Received) xfer.Result {
	r := xfer.Result{
		Provider: s.n.provider, Fallback: s.n.fallback, Memory: "host", Mode: s.hello.Mode, Groups: s.n.groups, Rails: s.n.rails,
		Waiting: o.wait, Geometry: s.hello.Geometry, LineGbps: o.lineGbps(), Receivers: got,
		Warnings: append(append([]string{}, s.n.warnings...), s.peer.Warnings...),
	}
	if o.mtu > 0 {
		r.LimitShare = xfer.GoodputLimit(xfer.Link{MTU: o.mtu, Shaper: o.shaper}, r.Geometry.PageSize, 1)
	}
	r.Sum()
	return r
}

// rung is one line of the ablation ladder.
type rung struct {
	Without string      `json:"without"` // "" for the run with everything
	Gbps    float64     `json:"gbps"`
	Share   float64     `json:"share"` // of the run with everything
	Result  xfer.Result `json:"result"`
}

// runLadder measures what each optimization is worth on the sending end.
func runLadder(ctx context.Context, o *clientOptions) error {
	var ladder []rung
	steps := append([]struct {
		name string
		bit  fabric.Ablation
	}{{"", 0}}, ablations...)
	for _, step := range steps {
		o.ablate = step.bit
		r, err := transfer(ctx, o)
		if err != nil {
			return fmt.Errorf("without %s: %w", step.name, err)
		}
		r.Ablated = step.name
		ladder = append(ladder, rung{step.name, r.Gbps, 0, r})
		ladder[len(ladder)-1].Share = r.Gbps / ladder[0].Gbps
	}
	if o.json {
		return json.NewEncoder(o.s.out).Encode(map[string]any{"schema": "nearmetal/xfer-ladder/v1", "ladder": ladder})
	}
	t := tabwriter.NewWriter(o.s.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "without\tGbit/s\tof all\tCPU s/GB")
	for _, l := range ladder {
		fmt.Fprintf(t, "%s\t%.3f\t%.1f %%\t%.3f\n", l.Without, l.Gbps, 100*l.Share, l.Result.CPUPerGB)
	}
	return t.Flush()
}
