package check

import (
	"fmt"
	"slices"

	"github.com/nearmetal/nearmetal/internal/site"
)

// live are the checks that facts decide; one file live_*.go each. An entry whose
// key a family has too gives that check eyes, rules for what the same fault
// writes into a job's log (seen in the lab), and causes.
func live() []Check {
	return slices.Concat(
		liveLimits(), liveSlurm(), liveDisks(), liveContainer(), liveNetwork(), liveRDMA(), liveCPU(), liveGPU(), liveCompare(),
	)
}

// withLive joins the families' checks with those that see.
func withLive(families, seers []Check) []Check {
	out := slices.Clone(families)
	for _, s := range seers {
		i := slices.IndexFunc(out, func(c Check) bool { return c.Key == s.Key })
		if i < 0 {
			out = append(out, s)
			continue
		}
		if s.Live != nil {
			out[i].Live, out[i].LiveScore = s.Live, s.LiveScore
		}
		out[i].DependsOn = append(slices.Clone(out[i].DependsOn), s.DependsOn...)
		out[i].Rules = append(slices.Clone(out[i].Rules), s.Rules...)
	}
	return out
}

// seen gives eyes to a family's check.
func seen(key string, see func([]site.Facts) []Evidence, rules ...Rule) Check {
	return Check{Key: key, Live: see, Rules: rules}
}

// each looks at every node by itself.
func each(see func(site.Facts) []Evidence) func([]site.Facts) []Evidence {
	return func(nodes []site.Facts) []Evidence {
		var out []Evidence
		for _, f := range nodes {
			out = append(out, see(f)...)
		}
		return out
	}
}

// place is where a fact was seen: "n1:/proc/self/limits".
func place(f site.Facts, source string) string {
	if f.Image != "" {
		return f.Node + " in " + f.Image + ":" + source
	}
	return f.Node + ":" + source
}

// fact makes evidence of one fact.
func fact(f site.Facts, source, format string, args ...interface{}) []Evidence {
	return []Evidence{{File: place(f, source), Text: fmt.Sprintf(format, args...)}}
}

// is says whether a fact was observed with this value.
func is[T comparable](f *site.Fact[T], v T) bool { return f != nil && f.Value == v }

// native are the compute nodes' own facts; without compute nodes the login
// node's.
func native(nodes []site.Facts) []site.Facts {
	var out, login []site.Facts
	for _, f := range nodes {
		switch {
		case f.Image != "":
		case f.Login:
			login = append(login, f)
		default:
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return login
	}
	return out
}

// bytes writes a size for people.
func bytes(n uint64) string {
	const k = 1024
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	v, i := float64(n), 0
	for v >= k && i < len(units)-1 {
		v, i = v/k, i+1
	}
	return fmt.Sprintf("%.4g %s", v, units[i])
}
