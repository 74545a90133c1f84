package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/bench/xfer"
)

// xferBench measures nearmetal-xfer beside its peers.
type xferBench struct {
	setup
	net *xferNet
}

const xferGroups = 8 // as on p5: 8 groups of 4 rails

// measureXfer needs root, for the namespaces. A figure that fails is null and
// says why; the others go on.
func measureXfer(ctx context.Context, s setup) ([]Figure, error) {
	s.n = max(s.n/2, 1) // 10 blocks by default: each is two windows
	net, err := newXferNet(ctx, s.runner, 32)
	if err != nil {
		return nil, err
	}
	defer net.close()
	b := &xferBench{s, net}
	var out []Figure
	var failed error
	for _, step := range []func(context.Context) ([]Figure, error){b.unshaped, b.sharedMemory, b.shaped100, b.shaped500, b.shaped1000} {
		figures, err := step(ctx)
		failed = errors.Join(failed, err)
		out = append(out, figures...)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
	}
	return out, failed
}

// rails are the addresses of the first n links, in groups.
func rails(addr func(int) string, n, groups int) string {
	var out []string
	for g := range groups {
		var row []string
		for i := range n / groups {
			row = append(row, addr(g*n/groups+i))
		}
		out = append(out, strings.Join(row, ","))
	}
	return strings.Join(out, ";")
}

// run is one launch of ours over the first links of the model; with links 0
// over shared memory of this machine.
func (b *xferBench) run(ctx context.Context, links int, flags ...string) (xfer.Result, error) {
	bin := filepath.Join(b.bin, "nearmetal-xfer")
	server := []string{bin, "server", "--once", "--listen", "127.0.0.1:7471", "--provider", "shm"}
	client := []string{bin, "client", "--json", "--connect", "127.0.0.1:7471", "--provider", "shm"}
	if links > 0 {
		groups := max(1, links*xferGroups/32)
		at := addrB(0) + ":7471"
		server = on(hostB, bin, "server", "--once", "--listen", at, "--rails", rails(addrB, links, groups))
		client = on(hostA, bin, "client", "--json", "--connect", at, "--rails", rails(addrA, links, groups))
	}
	client = append(client, "--duration", b.window.String(), "--warm-up", "2s")
	out, err := both(ctx, b.runner, server, append(client, flags...))
	if err != nil {
		return xfer.Result{}, err
	}
	r, err := xfer.ReadResult(bytes.NewReader(out))
	if err == nil && !r.Verified {
		err = errors.New("a page was wrong")
	}
	return r, err
}

// blocks alternates ours and the peer's, after one warm-up of each.
func (b *xferBench) blocks(ctx context.Context, ours, peer func(context.Context) (float64, error)) ([]pair, error) {
	var out []pair
	for i := -1; i < b.n; i++ {
		var p pair
		var err1, err2 error
		if i%2 == 0 {
			p.peer, err1 = peer(ctx)
			p.ours, err2 = ours(ctx)
		} else {
			p.ours, err1 = ours(ctx)
			p.peer, err2 = peer(ctx)
		}
		if err := errors.Join(err1, err2); err != nil {
			return out, err
		}
		if i >= 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// ratio is the median of the blocks' ratios.
func ratio(f Figure, pairs []pair, unit string) Figure {
	var v []float64
	for _, p := range pairs {
		v = append(v, p.ours/p.peer)
	}
	mid, lo, hi := medianCI(v)
	ours := make([]float64, len(pairs))
	for i, p := range pairs {
		ours[i] = p.ours
	}
	mine, _, _ := medianCI(ours)
	theirs, _, _ := medianCI(peers(pairs))
	f.Value, f.Lo, f.Hi, f.N, f.Peer = ptr(mid), ptr(lo), ptr(hi), len(pairs), ptr(1)
	f.Note += fmt.Sprintf("; medians %.4g and %.4g %s", mine, theirs, unit)
	return f
}

func missing(f Figure, why string) Figure {
	f.Note = why
	return f
}

// unshaped compares page rates on one veth pair with fi_rma_bw writedata, which
// writes one buffer again and again and verifies nothing.
func (b *xferBench) unshaped(ctx context.Context) ([]Figure, error) {
	var out []Figure
	var failed error
	for _, c := range []struct {
		f    Figure
		size string
		n    int
	}{{figure("xfer.tcp4k_vs_fi_rma_bw"), "4K", 4096}, {figure("xfer.tcp64k_vs_fi_rma_bw"), "64K", 65536}, {figure("xfer.tcp1m_vs_fi_rma_bw"), "1M", 1 << 20}} {
		if b.peers == "" {
			out = append(out, missing(c.f, "set PEERS_DIR to a folder with fi_rma_bw"))
			continue
		}
		provider := ""
		ours := func(ctx context.Context) (float64, error) {
			r, err := b.run(ctx, 1, "--page", c.size)
			provider = r.Provider
			return r.Gbps / 8, err
		}
		pairs, err := b.blocks(ctx, ours, func(ctx context.Context) (float64, error) { return b.rmaBW(ctx, provider, c.n) })
		if err != nil {
			failed = errors.Join(failed, err)
			out = append(out, missing(c.f, err.Error()))
			continue
		}
		out = append(out, ratio(c.f, pairs, "GB/s"))
	}
	return out, failed
}

// rmaBW gives fi_rma_bw's GB/s for as long as the window: a short run tells how
// many writes that takes.
func (b *xferBench) rmaBW(ctx context.Context, provider string, size int) (float64, error) {
	rate, err := b.rmaOnce(ctx, provider, size, 2000)
	if err != nil {
		return 0, err
	}
	return b.rmaOnce(ctx, provider, size, max(2000, int(rate*1e9/float64(size)*b.window.Seconds())))
}

func (b *xferBench) rmaOnce(ctx context.Context, provider string, size, writes int) (float64, error) {
	argv := []string{filepath.Join(b.peers, "fi_rma_bw"), "-p", provider, "-o", "writedata", "-S", strconv.Itoa(size), "-I", strconv.Itoa(writes)}
	server := on(hostB, append(argv, "-s", addrB(0))...)
	client := on(hostA, append([]string{"sh", "-c", `sleep 1; exec "$@"`, "sh"}, append(argv, "-s", addrA(0), addrB(0))...)...)
	out, err := both(ctx, b.runner, server, client)
	if err != nil {
		return 0, err
	}
	return parseRmaBW(string(out))
}

// parseRmaBW reads the MB/sec column (10⁶ bytes) of the last row.
func parseRmaBW(out string) (float64, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	f := strings.Fields(lines[len(lines)-1])
	if len(f) != 7 {
		return 0, fmt.Errorf("fi_rma_bw: no result in %q", lines[len(lines)-1])
	}
	v, err := strconv.ParseFloat(f[4], 64)
	return v / 1e3, err
}
