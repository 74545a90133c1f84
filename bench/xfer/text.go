package xfer

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Text prints a result for people.
func (r Result) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "%s over %s, %d × %d rails, %d B pages, %d a transfer\n", r.Mode, r.Provider, r.Groups, r.Rails, r.Geometry.PageSize, r.Geometry.Pages)
	fmt.Fprintln(t, "receiver\tGbit/s\tpages/s\tpage p50/p99 µs\ttransfer p50/p99 µs\tverified\twrong")
	for _, x := range r.Receivers {
		fmt.Fprintf(t, "%s\t%.3f\t%.0f\t%.0f / %.0f\t%.0f / %.0f\t%d\t%d\n", x.End, x.Gbps, x.PagesPerSec, x.PageUs.P50, x.PageUs.P99,
			x.TransferUs.P50, x.TransferUs.P99, x.TotalPages, x.BadPages)
	}
	fmt.Fprintf(t, "total\t%.3f\t%.3f CPU s/GB", r.Gbps, r.CPUPerGB)
	if r.LineShare > 0 {
		fmt.Fprintf(t, "\t%.2f %% of the line", 100*r.LineShare)
	}
	if r.LimitShare > 0 {
		fmt.Fprintf(t, "\tlimit %.2f %%", 100*r.LimitShare)
	}
	fmt.Fprintln(t)
	for _, m := range r.Warnings {
		fmt.Fprintln(t, "warning:", m)
	}
	return t.Flush()
}
