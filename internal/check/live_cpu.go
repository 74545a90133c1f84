package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/logscan"
	"github.com/nearmetal/nearmetal/internal/site"
)

const slurmBinding = "https://slurm.schedmd.com/srun.html#OPT_cpu-bind"

func liveCPU() []Check {
	return []Check{
		{Code: "LIV030", Key: "ranks-on-one-core", Layer: "binding", Severity: Error,
			Title:  "several ranks share one core",
			Cause:  "Ranks of the step are bound to the same core and take turns: each waits, spinning, for one that cannot run.",
			Breaks: "speed, by a factor of ten to a thousand in small messages",
			Fix:    []Fix{user("srun --cpu-bind=verbose,cores -c CORES …   # and unset SLURM_CPU_BIND; do not give map_cpu the same core twice"), admin("look for taskset or SLURM_CPU_BIND in TaskProlog and /etc/profile.d")},
			Source: slurmBinding,
			Rules:  []Rule{{Score: 90, All: []Line{{Re: `cpu-bind=\S+\s+- (\S+), task\s+\d+\s+\d+ \[\d+\]: mask (0x0*[1248]0*) set`, Min: 2, Together: sameCore}}}},
			Live:   oneCore},
		{Code: "LIV031", Key: "node-slow", Layer: "performance", Severity: Warning,
			Title:  "one node is slower than the others",
			Cause:  "The same piece of work takes much longer on this node: a CPU quota, a stray process, heat or power limits.",
			Breaks: "every job with this node runs at its speed",
			Fix: []Fix{user("srun --exclude=NODE …   # and report the node"),
				admin("on the node: top -b -n1 | head -20; cat /sys/fs/cgroup/cpu*/*/cpu.stat | grep throttled; turbostat --quiet -i 1 -n 3; dmesg | grep -i 'throttl\\|mce'")},
			Source: "https://docs.kernel.org/scheduler/sched-bwc.html",
			Live:   nodeSlow},
		{Code: "LIV032", Key: "numa-balancing-on", Layer: "performance", Severity: Info,
			Title:  "automatic NUMA balancing is on",
			Cause:  "The kernel moves pages between NUMA nodes behind the back of ranks that are bound anyway.",
			Breaks: "a few percent and steadiness of timings; harmless otherwise",
			Fix:    []Fix{admin("sysctl kernel.numa_balancing=0")},
			Source: "https://docs.kernel.org/admin-guide/sysctl/kernel.html#numa-balancing",
			Live: each(func(f site.Facts) []Evidence {
				if u := f.CPU; f.Image == "" && !f.Login && u.NUMANodes != nil && u.NUMANodes.Value > 1 && is(u.NUMABalancing, 1) {
					return fact(f, u.NUMABalancing.Source, "1, with %d NUMA nodes", u.NUMANodes.Value)
				}
				return nil
			})},
		{Code: "LIV033", Key: "cpu-governor-powersave", Layer: "performance", Severity: Info,
			Title:  "the CPU governor saves power",
			Cause:  "The clock goes down whenever a rank waits. With intel_pstate in active mode 'powersave' is the usual choice and harmless.",
			Breaks: "latency of small messages, on acpi-cpufreq",
			Fix:    []Fix{admin("cpupower frequency-set -g performance")},
			Source: "https://docs.kernel.org/admin-guide/pm/cpufreq.html",
			Live: each(func(f site.Facts) []Evidence {
				if g := f.CPU.Governor; f.Image == "" && !f.Login && g != nil && (g.Value == "powersave" || g.Value == "ondemand") {
					return fact(f, g.Source, "%s", g.Value)
				}
				return nil
			})},
	}
}

// sameCore keeps the tasks of one node that have one mask (submatches 1 and 2).
func sameCore(hits []logscan.Hit) []logscan.Hit {
	count := map[string]int{}
	mask := func(h logscan.Hit) string { return h.Groups[1] + " " + h.Groups[2] }
	for _, h := range hits {
		if len(h.Groups) > 2 {
			count[mask(h)]++
		}
	}
	return slices.DeleteFunc(slices.Clone(hits), func(h logscan.Hit) bool { return len(h.Groups) < 3 || count[mask(h)] < 2 })
}

// oneCore finds ranks of one step on one node that are bound to the same single
// core.
func oneCore(nodes []site.Facts) []Evidence {
	var out []Evidence
	for _, f := range native(nodes) {
		if f.Ranks == nil {
			continue
		}
		bound := map[string][]site.Rank{}
		for _, r := range f.Ranks.Value {
			if r.CPUs == "" || strings.ContainsAny(r.CPUs, ",-") || r.Tasks < 2 {
				continue
			}
			key := r.Step + " on core " + r.CPUs
			if !slices.ContainsFunc(bound[key], func(o site.Rank) bool { return o.Rank == r.Rank }) {
				bound[key] = append(bound[key], r)
			}
		}
		for _, key := range slices.Sorted(keys(bound)) {
			if rs := bound[key]; len(rs) > 1 {
				out = append(out, fact(f, fmt.Sprintf("/proc/%d/status", rs[0].PID), "%d ranks of step %s: %s", len(rs), key, rs[0].Program)...)
			}
		}
	}
	return out
}

// From when on a node counts as slow. Nodes of one kind differ by a few percent
// in CPU time; wall time also holds whatever else ran just then.
const (
	slowCPU  = 1.3
	slowWall = 2.5
)

// nodeSlow compares nodes with the same processor. With two the faster one is
// the measure.
func nodeSlow(nodes []site.Facts) []Evidence {
	kinds := map[string][]site.Facts{}
	for _, f := range native(nodes) {
		if u := f.CPU; u.SpinMS != nil && u.SpinBest != nil && u.Model != nil {
			kinds[u.Model.Value] = append(kinds[u.Model.Value], f)
		}
	}
	var out []Evidence
	for _, model := range slices.Sorted(keys(kinds)) {
		fs := kinds[model]
		wall := usual(fs, func(u site.CPU) float64 { return u.SpinMS.Value })
		cpu := usual(fs, func(u site.CPU) float64 { return u.SpinBest.Value })
		for _, f := range fs {
			if w := f.CPU.SpinMS; w.Value > wall*slowWall {
				out = append(out, fact(f, w.Source, "%.1f ms, %.1f times the usual %.1f ms%s", w.Value, w.Value/wall, wall, hadCPU(f))...)
			} else if c := f.CPU.SpinBest; c.Value > cpu*slowCPU {
				out = append(out, fact(f, c.Source, "%.1f ms of CPU time, %.1f times the usual %.1f ms", c.Value, c.Value/cpu, cpu)...)
			}
		}
	}
	return out
}

// usual is the lower median.
func usual(fs []site.Facts, of func(site.CPU) float64) float64 {
	var v []float64
	for _, f := range fs {
		v = append(v, of(f.CPU))
	}
	slices.Sort(v)
	return v[(len(v)-1)/2]
}

func hadCPU(f site.Facts) string {
	if s := f.CPU.SpinCPU; s != nil && s.Value < 0.8 {
		return fmt.Sprintf("; it had a CPU for %.0f %% of that time", s.Value*100)
	}
	return ""
}
