package main

import (
	"context"
	"path/filepath"
)

// measureCLI times whole processes beside true(1), which is what starting any
// process costs here.
func measureCLI(ctx context.Context, s setup) ([]Figure, error) {
	bin := filepath.Join(s.bin, "nearmetal")
	lines := []struct {
		name string
		argv []string
	}{
		{"cli.help_ms", []string{bin, "--help"}},
		{"def.render_ms", []string{bin, "def", "openmpi-debian"}},
	}
	var out []Figure
	for _, l := range lines {
		pairs, err := interleave(ctx, s.runner, s.n, l.argv, []string{"true"})
		if err != nil {
			return out, err
		}
		out = append(out, millis(figure(l.name), pairs))
	}
	return out, nil
}

func millis(f Figure, pairs []pair) Figure {
	ours := make([]float64, len(pairs))
	for i, p := range pairs {
		ours[i] = p.ours * 1e3
	}
	mid, lo, hi := medianCI(ours)
	base, _, _ := medianCI(peers(pairs))
	f.Value, f.Lo, f.Hi, f.Peer, f.N = ptr(mid), ptr(lo), ptr(hi), ptr(base*1e3), len(pairs)
	return f
}
