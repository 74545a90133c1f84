package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/site"
)

func liveSlurm() []Check {
	return []Check{
		seen("slurm-no-pmix-plugin", noPMIx, on(56, `task launch for stepid=\S+ failed on node \S+: unspecified error`)),
		seen("munge-key-mismatch", mungeStatus("invalid credential", "cannot authenticate")),
		seen("munged-not-running", mungeStatus("failed to access", "failed to connect", "socket communication")),
		seen("munge-clock-skew", clockSkew),
		// slurmctld calls a node that answers nobody's credentials down, too.
		{Key: "slurm-node-down", Live: nodeDown, DependsOn: []string{"munge-key-mismatch", "munge-clock-skew"},
			Rules: []Rule{on(72, `failed on node \S+: communication connection failure`)}},
		// A job script with set -x shows its own mistake.
		seen("nested-mpirun-under-srun", launchersInTasks, on(86, `^\++ (?:exec )?(?:\S*/)?srun [^|;&]* (?:\S*/)?(?:mpirun|mpiexec) -n`)),
		{Code: "LIV002", Key: "nodes-silent", Layer: "slurm", Severity: Error,
			Title:  "nodes did not answer",
			Cause:  "The step that looks at the nodes was started on fewer than asked for, or was not started in time: the queue is long, or these nodes take no steps.",
			Breaks: "every job that gets these nodes",
			Fix: []Fix{user("scontrol show node NODE | grep -E 'State|Reason'; srun --exclude=NODE …   # and report the node"),
				admin("on the node: systemctl status slurmd munge; tail -n 50 /var/log/slurm/slurmd.log")},
			Source: slurmDocs + "troubleshoot.html", DependsOn: []string{any}, LiveScore: 40,
			Live: nodesSilent},
		{Code: "LIV001", Key: "pmix-gds-forced", Layer: "pmix", Severity: Error,
			Title:  "PMIX_MCA_gds names a store that does not work here",
			Cause:  "PMIX_MCA_gds is set to a data store that the program's PMIx does not have, so that PMIx, and MPI_Init with it, cannot start.",
			Breaks: "MPI_Init fails, or every rank starts alone",
			Fix: []Fix{user("unset PMIX_MCA_gds   # or: export PMIX_MCA_gds=hash, which every version has"),
				admin("grep -rn PMIX_MCA_gds /etc/profile.d /etc/slurm $(pmix_info --path sysconfdir 2>/dev/null)   # and remove it")},
			Source: "https://docs.openpmix.org/",
			Rules: []Rule{on(92, `framework:\s+gds`, `requested component was not found`),
				on(88, `usable plugins for the gds framework`), on(70, `framework:\s+gds\b`)},
			Live: each(gdsForced)},
	}
}

// noPMIx is evidence only where Slurm says what it has.
func noPMIx(nodes []site.Facts) []Evidence {
	var out []Evidence
	for _, f := range nodes {
		m := f.Slurm.MPI
		if m == nil || f.Image != "" || len(m.Value) == 0 {
			continue
		}
		if !slices.ContainsFunc(m.Value, func(s string) bool { return strings.HasPrefix(s, "pmix") }) {
			out = append(out, fact(f, m.Source, "MPI plugin types are: %s", strings.Join(m.Value, " "))...)
		}
	}
	return out
}

func mungeStatus(words ...string) func([]site.Facts) []Evidence {
	return each(func(f site.Facts) []Evidence {
		m := f.Slurm.Munge
		if m == nil || !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(m.Value), w) }) {
			return nil
		}
		return fact(f, m.Source, "STATUS: %s", m.Value)
	})
}

// skewed is from when on a clock counts as wrong, in seconds: NTP holds
// milliseconds, munged counts whole seconds, Slurm complains from 10 on.
const skewed = 3

func clockSkew(nodes []site.Facts) []Evidence {
	out := mungeStatus("rewound credential", "expired credential")(nodes)
	for _, f := range nodes {
		for _, s := range []*site.Fact[float64]{f.System.Skew, f.Slurm.MungeSkew} {
			if s != nil && (s.Value > skewed || s.Value < -skewed) {
				out = append(out, fact(f, s.Source, "%+.0f s from the login node's clock", s.Value)...)
			}
		}
	}
	return out
}

// nodeDown names nodes only when the step got fewer than it asked for: a large
// cluster always has some that are down.
func nodeDown(nodes []site.Facts) []Evidence {
	var out []Evidence
	for _, f := range nodes {
		if f.Launch == nil || f.Launch.Answered >= f.Launch.Asked || f.Slurm.States == nil {
			continue
		}
		for _, s := range f.Slurm.States.Value {
			gone := strings.HasSuffix(s.State, "*") || strings.Contains(s.State, "down") || strings.Contains(s.State, "fail") || strings.Contains(s.State, "drain")
			if gone {
				out = append(out, fact(f, f.Slurm.States.Source, "%s is %s %s", s.Node, s.State, s.Reason)...)
			}
		}
	}
	return out
}

func nodesSilent(nodes []site.Facts) []Evidence {
	var out []Evidence
	for _, f := range nodes {
		l := f.Launch
		if l == nil || l.Answered >= l.Asked {
			continue
		}
		out = append(out, fact(f, l.Command, "%d of %d nodes answered, exit code %d", l.Answered, l.Asked, l.ExitCode)...)
		for _, n := range l.Silent {
			out = append(out, fact(f, l.Command, "nothing could be started on %s", n)...)
		}
		if n := len(l.Said); n > 0 {
			out = append(out, fact(f, l.Command, "%s", l.Said[n-1])...)
		}
	}
	return out
}

// launchers start ranks of their own.
var launchers = []string{"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun"}

// launchersInTasks finds launchers as tasks of a step with several.
func launchersInTasks(nodes []site.Facts) []Evidence {
	steps := map[string][]Evidence{}
	ranks := map[string]map[int]bool{}
	for _, f := range native(nodes) {
		if f.Ranks == nil {
			continue
		}
		for _, r := range f.Ranks.Value {
			if !isLauncher(r.Program) {
				continue
			}
			if ranks[r.Step] == nil {
				ranks[r.Step] = map[int]bool{}
			}
			if !ranks[r.Step][r.Rank] {
				steps[r.Step] = append(steps[r.Step], fact(f, fmt.Sprintf("/proc/%d/cmdline", r.PID), "step %s, task %d of %d: %s", r.Step, r.Rank, r.Tasks, r.Program)...)
			}
			ranks[r.Step][r.Rank] = true
		}
	}
	var out []Evidence
	for _, step := range slices.Sorted(keys(steps)) {
		if len(ranks[step]) > 1 {
			out = append(out, steps[step]...)
		}
	}
	return out
}

func keys[V interface{}](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func isLauncher(program string) bool {
	f := strings.Fields(program)
	return len(f) > 0 && slices.Contains(launchers, path.Base(f[0]))
}

// stores are the gds components of PMIx 2 to 6; hash is in all of them.
var stores = []string{"hash"}

// gdsForced: another store than hash fails wherever the program's PMIx lacks it
// or cannot attach the server's segment.
func gdsForced(f site.Facts) []Evidence {
	v, ok := env(f, "PMIX_MCA_gds")
	if !ok || v == "" || strings.HasPrefix(v, "^") {
		return nil
	}
	if slices.ContainsFunc(strings.Split(v, ","), func(s string) bool { return slices.Contains(stores, s) }) {
		return nil
	}
	return fact(f, "environment", "PMIX_MCA_gds=%s", v)
}

// env is a variable of the process that looked.
func env(f site.Facts, name string) (string, bool) {
	if f.Env == nil {
		return "", false
	}
	for _, kv := range f.Env.Value {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}
