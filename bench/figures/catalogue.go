package main

import "slices"

// entry is a figure we hold ourselves to. Every name is printed on every run
// of its group, measured or not.
type entry struct {
	name, group, unit string
	limit             float64 // 0: none
	peer              string  // what the peer is
}

var catalogue = []entry{
	{"run.overhead_ms", "run", "ms", 20, "the bare srun line"},
	{"launch.init_ratio.2", "launch", "ratio", 1.2, "native"},
	{"launch.init_ratio.8", "launch", "ratio", 1.2, "native"},
	{"launch.init_ratio.16", "launch", "ratio", 1.2, "native"},
	{"launch.step_ratio.2", "launch", "ratio", 1.05, "native"},
	{"launch.step_ratio.8", "launch", "ratio", 1.05, "native"},
	{"launch.step_ratio.16", "launch", "ratio", 1.05, "native"},
	{"launch.init_ratio_2nodes.2", "launch", "ratio", 1.2, "native"},
	{"launch.init_ratio_2nodes.16", "launch", "ratio", 1.2, "native"},
	{"launch.step_ratio_2nodes.2", "launch", "ratio", 1.05, "native"},
	{"launch.step_ratio_2nodes.16", "launch", "ratio", 1.05, "native"},
	{"launch.init_first_ratio.2", "launch", "ratio", 2, "native"},
	{"launch.step_first_ratio.2", "launch", "ratio", 1.5, "native"},
	{"launch.plain_init_ratio.2", "launch", "ratio", 0, "native"},
	{"launch.cgroup.init_ratio.2", "launch-cgroup", "ratio", 1.2, "native"},
	{"launch.cgroup.step_ratio.2", "launch-cgroup", "ratio", 1.05, "native"},
	{"launch.cgroup.init_ratio_2nodes.2", "launch-cgroup", "ratio", 1.2, "native"},
	{"launch.cgroup.step_ratio_2nodes.2", "launch-cgroup", "ratio", 1.05, "native"},
	{"launch.cgroup.init_first_ratio.2", "launch-cgroup", "ratio", 2, "native"},
	{"launch.cgroup.step_first_ratio.2", "launch-cgroup", "ratio", 1.5, "native"},
	{"launch.cgroup.plain_init_ratio.2", "launch-cgroup", "ratio", 0, "native"},
	{"bench.latency_equiv_share", "bench", "share", 0.9, ""},
	{"bench.bw_equiv_share", "bench", "share", 0.9, ""},
	{"xfer.shaped32x100m", "xfer", "share", 0.985, "shaped rate"},
	{"xfer.shaped1x100m", "xfer", "share", 0.985, "shaped rate"},
	{"xfer.shaped32x500m", "xfer", "share", 0.971, "shaped rate"},
	{"xfer.cpu32x1g_vs_iperf3", "xfer", "ratio", 0.9, "32 iperf3"},
	{"xfer.cpu_s_per_gb_vs_iperf3", "xfer", "ratio", 0, "32 iperf3"},
	{"xfer.tcp4k_vs_fi_rma_bw", "xfer", "ratio", 1, "fi_rma_bw"},
	{"xfer.tcp64k_vs_fi_rma_bw", "xfer", "ratio", 1, "fi_rma_bw"},
	{"xfer.tcp1m_vs_fi_rma_bw", "xfer", "ratio", 1, "fi_rma_bw"},
	{"xfer.shm1m_vs_copy", "xfer", "ratio", 0.9, "the better of process_vm_writev and a two-step copy"},
	{"xfer.container_ratio", "xfer", "ratio", 0, "native"},
	{"doctor.scan_mb_s", "doctor", "MB/s", 300, ""},
	{"doctor.scan_vs_grep", "doctor", "ratio", 1, "grep -cF -f"},
	{"doctor.rss_mb", "doctor", "MB", 100, ""},
	{"compare.million_s", "compare", "s", 2, ""},
	{"report.100k_s", "compare", "s", 3, ""},
	{"cli.help_ms", "cli", "ms", 30, "true(1)"},
	{"def.render_ms", "cli", "ms", 20, "true(1)"},
	{"build.incremental_fraction", "build", "share", 0.15, "full build"},
	{"build.slurm2_ratio", "build", "ratio", 0.65, "one node"},
	{"image.size_ratio", "build", "ratio", 0.6, "single-stage image"},
}

func rank(name string) int {
	return slices.IndexFunc(catalogue, func(e entry) bool { return e.name == name })
}

// figure starts a figure from the catalogue; TestNamesAreInTheCatalogue holds
// that each name in use is there.
func figure(name string) Figure {
	i := rank(name)
	if i < 0 {
		return Figure{Name: name, Note: "not in the catalogue"}
	}
	e := catalogue[i]
	f := Figure{Name: e.name, Group: e.group, Unit: e.unit}
	if e.limit != 0 {
		f.Limit = ptr(e.limit)
	}
	if e.peer != "" {
		f.Note = "peer: " + e.peer
	}
	return f
}

// unmeasured are the group's figures that measured lacks.
func unmeasured(group string, measured []Figure, why string) []Figure {
	var out []Figure
	for _, e := range catalogue {
		if e.group != group || slices.ContainsFunc(measured, func(f Figure) bool { return f.Name == e.name }) {
			continue
		}
		f := figure(e.name)
		f.Note = why
		out = append(out, f)
	}
	return out
}
