package check

import (
	"github.com/nearmetal/nearmetal/internal/site"
)

func liveLimits() []Check {
	return []Check{
		// ulimit -a of bash and of dash in a job's output.
		seen("memlock-limit", memlockLow, on(78, `max locked memory +\(kbytes, -l\) (?:16|32|64)\s*$`), on(78, `locked memory\(kbytes\) +(?:16|32|64)\s*$`)),
	}
}

// Registered memory counts against RLIMIT_MEMLOCK. 64 KiB was the kernel's
// default before 5.16 (8 MiB since) and holds not even one queue pair's
// buffers; with an HCA anything below a gigabyte runs out sooner or later.
const (
	memlockTiny = 64 << 10
	memlockHCA  = 1 << 30
)

func memlockLow(nodes []site.Facts) []Evidence {
	var out []Evidence
	for _, f := range native(nodes) {
		m := f.Limits.Memlock
		if m == nil {
			continue
		}
		hca := f.RDMA.HCAs != nil && len(f.RDMA.HCAs.Value) > 0
		if m.Value <= memlockTiny || hca && m.Value < memlockHCA {
			out = append(out, fact(f, m.Source, "Max locked memory %s%s", bytes(m.Value), inStep(f))...)
		}
	}
	return out
}

func inStep(f site.Facts) string {
	if f.Slurm.Step == nil || f.Login {
		return ""
	}
	return " in step " + f.Slurm.Step.Value
}
