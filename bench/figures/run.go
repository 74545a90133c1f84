package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nearmetal/nearmetal/internal/runner"
)

// measureRun compares `nearmetal run` with the very srun line that it prints,
// run through sh so that the printed quoting is what is tested.
func measureRun(ctx context.Context, s setup) ([]Figure, error) {
	ours := []string{filepath.Join(s.bin, "nearmetal"), "run", "-N", "2", "-n", "2", "--", "true"}
	line, err := dryRun(ctx, s.runner, ours)
	if err != nil {
		return nil, err
	}
	pairs, err := interleave(ctx, s.runner, s.n, ours, []string{"sh", "-c", line})
	if err != nil {
		return nil, err
	}
	f := figure("run.overhead_ms")
	f.N = len(pairs)
	mid, lo, hi := medianCI(differences(pairs))
	f.Value, f.Lo, f.Hi = ptr(mid*1e3), ptr(lo*1e3), ptr(hi*1e3)
	base, _, _ := medianCI(peers(pairs))
	f.Note = fmt.Sprintf("over %q, which takes %.1f ms", line, base*1e3)
	return []Figure{f}, nil
}

// dryRun gives the line that nearmetal says it would run.
func dryRun(ctx context.Context, r runner.Runner, argv []string) (string, error) {
	dry := append([]string{argv[0], argv[1], "--dry-run"}, argv[2:]...)
	out, err := runner.Output(ctx, r, dry...)
	return strings.TrimSpace(string(bytes.TrimSpace(out))), err
}

func differences(pairs []pair) []float64 {
	out := make([]float64, len(pairs))
	for i, p := range pairs {
		out[i] = p.ours - p.peer
	}
	return out
}

func peers(pairs []pair) []float64 {
	out := make([]float64, len(pairs))
	for i, p := range pairs {
		out[i] = p.peer
	}
	return out
}
