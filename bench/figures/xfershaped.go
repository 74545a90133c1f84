package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nearmetal/nearmetal/internal/runner"
)

// shaped100 is the scale model of p5 at 100 Mbit/s for each of 32 rails.
func (b *xferBench) shaped100(ctx context.Context) ([]Figure, error) {
	if err := b.net.shape(ctx, "100mbit"); err != nil {
		return nil, err
	}
	all, err1 := b.share(ctx, figure("xfer.shaped32x100m"), 32, 3.2)
	one, err2 := b.share(ctx, figure("xfer.shaped1x100m"), 1, 0.1)
	return []Figure{all, one}, errors.Join(err1, err2)
}

func (b *xferBench) shaped500(ctx context.Context) ([]Figure, error) {
	if err := b.net.shape(ctx, "500mbit"); err != nil {
		return nil, err
	}
	f, err := b.share(ctx, figure("xfer.shaped32x500m"), 32, 16)
	return []Figure{f}, err
}

// share is verified payload over the shaped rate.
func (b *xferBench) share(ctx context.Context, f Figure, links int, gbps float64) (Figure, error) {
	var v []float64
	limit := 0.0
	for range b.n {
		r, err := b.run(ctx, links, "--wait", "wait", "--rate", strconv.FormatFloat(gbps, 'g', -1, 64), "--shaped", "--mtu", "9000")
		if err != nil {
			return missing(f, err.Error()), err
		}
		v, limit = append(v, r.LineShare), r.LimitShare
	}
	mid, lo, hi := medianCI(v)
	f.Value, f.Lo, f.Hi, f.N, f.Peer = ptr(mid), ptr(lo), ptr(hi), len(v), ptr(limit)
	f.Note = fmt.Sprintf("%d links of %.0f Mbit/s; the peer column is the computed limit", links, gbps*1e3/float64(links))
	return f, nil
}

// shaped1000 is bound by the CPU: 32 links of 1 Gbit/s beside 32 iperf3.
func (b *xferBench) shaped1000(ctx context.Context) ([]Figure, error) {
	rate, cpu := figure("xfer.cpu32x1g_vs_iperf3"), figure("xfer.cpu_s_per_gb_vs_iperf3")
	version, err := runner.Output(ctx, b.runner, "iperf3", "--version")
	if err != nil {
		why := "iperf3 is not installed"
		return []Figure{missing(rate, why), missing(cpu, why)}, nil
	}
	if err := b.net.shape(ctx, "1gbit"); err != nil {
		return nil, err
	}
	var used []pair
	var p pair
	pairs, err := b.blocks(ctx, func(ctx context.Context) (float64, error) {
		r, err := b.run(ctx, 32, "--wait", "wait", "--page", "64K")
		p.ours = r.CPUPerGB
		used = keep(used, &p)
		return r.Gbps, err
	}, func(ctx context.Context) (float64, error) {
		gbps, perGB, err := b.iperf3(ctx)
		p.peer = perGB
		used = keep(used, &p)
		return gbps, err
	})
	if err != nil {
		return []Figure{missing(rate, err.Error()), missing(cpu, err.Error())}, err
	}
	name := strings.Join(strings.Fields(string(version))[:2], " ")
	rate.Note, cpu.Note = "peer: 32 × "+name, "peer: 32 × "+name
	return []Figure{ratio(rate, pairs, "Gbit/s"), ratio(cpu, used[1:], "CPU s/GB")}, nil // the first is the warm-up
}

// keep adds a block once both halves are there.
func keep(all []pair, p *pair) []pair {
	if p.ours == 0 || p.peer == 0 {
		return all
	}
	all = append(all, *p)
	*p = pair{}
	return all
}

// iperf3 runs one process for each link on each end, all at once.
func (b *xferBench) iperf3(ctx context.Context) (gbps, cpuPerGB float64, err error) {
	seconds := strconv.Itoa(int(b.window.Round(time.Second) / time.Second))
	var all sync.WaitGroup
	results, errs := make([]iperfResult, b.net.links), make([]error, b.net.links)
	for i := range b.net.links {
		all.Go(func() {
			server := on(hostB, "iperf3", "-s", "-1", "-B", addrB(i))
			client := on(hostA, "sh", "-c", `sleep 2; exec "$@"`, "sh", "iperf3", "-J", "-O", "2", "-t", seconds, "-c", addrB(i))
			var out []byte
			if out, errs[i] = both(ctx, b.runner, server, client); errs[i] == nil {
				errs[i] = json.Unmarshal(out, &results[i])
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, 0, err
	}
	cpu := 0.0
	for _, r := range results {
		gbps += r.End.Received.BitsPerSecond / 1e9
		cpu += (r.End.CPU.Host + r.End.CPU.Remote) / 100
	}
	return gbps, cpu / (gbps / 8), nil
}

type iperfResult struct {
	End struct {
		Received struct {
			BitsPerSecond float64 `json:"bits_per_second"`
		} `json:"sum_received"`
		CPU struct {
			Host   float64 `json:"host_total"`
			Remote float64 `json:"remote_total"`
		} `json:"cpu_utilization_percent"`
	} `json:"end"`
}

// sharedMemory compares the shm provider with plain copies of pages of the same
// size from a pool of the same size.
func (b *xferBench) sharedMemory(ctx context.Context) ([]Figure, error) {
	f := figure("xfer.shm1m_vs_copy")
	path := map[string]int{}
	pairs, err := b.blocks(ctx, func(ctx context.Context) (float64, error) {
		r, err := b.run(ctx, 0, "--page", "1M")
		return r.Gbps / 8, err
	}, func(ctx context.Context) (float64, error) {
		out, err := runner.Output(ctx, b.runner, filepath.Join(b.bin, "nmx-copy"), "-s", "1048576", "-p", "268435456", "-t", strconv.Itoa(int(b.window.Seconds())))
		if err != nil {
			return 0, err
		}
		name, rate, err := parseCopy(string(out))
		path[name]++
		return rate, err
	})
	if err != nil {
		return []Figure{missing(f, err.Error())}, err
	}
	f = ratio(f, pairs, "GB/s")
	f.Note += fmt.Sprintf("; the better one was %v", path)
	return []Figure{f}, nil
}

// parseCopy reads nmx-copy's lines "NAME GB/s" and gives the best.
func parseCopy(out string) (name string, rate float64, err error) {
	for l := range strings.Lines(out) {
		f := strings.Fields(l)
		if len(f) != 2 {
			return "", 0, fmt.Errorf("nmx-copy: %q", l)
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return "", 0, fmt.Errorf("nmx-copy: %q: %w", l, err)
		}
		if v > rate {
			name, rate = f[0], v
		}
	}
	if rate == 0 {
		err = errors.New("nmx-copy: no figure")
	}
	return name, rate, err
}
