package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/nearmetal/nearmetal/internal/runner"
)

// pair is one block of an interleaved measurement, in seconds.
type pair struct{ ours, peer float64 }

// interleave runs both command lines n times, alternating which goes first, after
// one warm-up of each. A command that fails ends the measurement.
func interleave(ctx context.Context, r runner.Runner, n int, ours, peer []string) ([]pair, error) {
	var out []pair
	for i := -1; i < n; i++ {
		p, err := block(ctx, r, ours, peer, i%2 == 0)
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

func block(ctx context.Context, r runner.Runner, ours, peer []string, peerFirst bool) (p pair, err error) {
	steps := []func() error{
		func() error { p.ours, err = wall(ctx, r, ours); return err },
		func() error { p.peer, err = wall(ctx, r, peer); return err },
	}
	if peerFirst {
		slices.Reverse(steps)
	}
	for _, s := range steps {
		if err := s(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// wall runs a command once and gives its wall time in seconds.
func wall(ctx context.Context, r runner.Runner, argv []string) (float64, error) {
	res, err := r.Run(ctx, runner.Cmd{Argv: argv, Stdout: io.Discard, Stderr: io.Discard})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("exit status %d", res.ExitCode)
	}
	if err != nil {
		return 0, fmt.Errorf("%q: %w", argv, err)
	}
	return res.Wall().Seconds(), nil
}

// timeCalls gives the seconds that n calls of f take, each.
func timeCalls(n int, f func()) []float64 {
	out := make([]float64, n)
	for i := range out {
		start := time.Now()
		f()
		out[i] = time.Since(start).Seconds()
	}
	return out
}

// medianCI is the median with the distribution-free 95 % interval of order
// statistics (Hahn & Meeker, Statistical Intervals, 5.2): the widest is
// min … max, which reaches 95 % from n = 6.
func medianCI(v []float64) (mid, lo, hi float64) {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	k := 0 // the interval is s[k] … s[n-1-k]
	for tail := 0.0; ; k++ {
		tail += binomial(n, k) * math.Pow(0.5, float64(n))
		if 2*tail > 0.05 || k >= n/2 {
			break
		}
	}
	k = max(k-1, 0)
	return (s[(n-1)/2] + s[n/2]) / 2, s[k], s[n-1-k]
}

func binomial(n, k int) float64 {
	l, _ := math.Lgamma(float64(n + 1))
	a, _ := math.Lgamma(float64(k + 1))
	b, _ := math.Lgamma(float64(n - k + 1))
	return math.Round(math.Exp(l - a - b))
}
