package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nearmetal/nearmetal/internal/check"
)

// logBytes is the size of the debug log that doctor reads: 1 GiB.
const logBytes = 1 << 30

// measureDoctor times doctor on a generated NCCL and UCX debug log beside grep
// searching for the same literals, both pinned to one core.
func measureDoctor(ctx context.Context, s setup) ([]Figure, error) {
	return measureDoctorOn(ctx, s, logBytes)
}

func measureDoctorOn(ctx context.Context, s setup, size int) ([]Figure, error) {
	dir, err := os.MkdirTemp("", "nearmetal-doctor")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	log, lits := filepath.Join(dir, "log"), filepath.Join(dir, "literals")
	n, err := prepareDoctor(log, lits, size)
	if err != nil {
		return nil, err
	}
	pin := func(argv ...string) []string { return append([]string{"taskset", "-c", "0"}, argv...) }
	ours := pin(filepath.Join(s.bin, "nearmetal"), "doctor", "--log", log)
	if _, err := wall(ctx, s.runner, ours); err != nil { // before grep: the children's peak is ours
		return nil, err
	}
	rss := childrenPeak()
	pairs, err := interleave(ctx, s.runner, max(s.n/3, 6), ours, pin("grep", "-cF", "-f", lits, log))
	if err != nil {
		return nil, err
	}
	return doctorFigures(pairs, float64(size)/1e6, rss, n), nil
}

// doctorFigures turns wall times into speeds; mb is the log's size in MB, rss our peak in MB.
func doctorFigures(pairs []pair, mb, rss float64, literals int) []Figure {
	speeds, ratios := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		speeds[i], ratios[i] = mb/p.ours, p.peer/p.ours
	}
	speed, ratio, mem := figure("doctor.scan_mb_s"), figure("doctor.scan_vs_grep"), figure("doctor.rss_mb")
	mid, lo, hi := medianCI(speeds)
	speed.Value, speed.Lo, speed.Hi, speed.N = ptr(mid), ptr(lo), ptr(hi), len(pairs)
	base, _, _ := medianCI(peers(pairs))
	speed.Peer = ptr(mb / base)
	speed.Note = fmt.Sprintf("peer: grep -cF -f with the same %d literals; %.0f MB, one core", literals, mb)
	mid, lo, hi = medianCI(ratios)
	ratio.Value, ratio.Lo, ratio.Hi, ratio.N = ptr(mid), ptr(lo), ptr(hi), len(pairs)
	mem.Value, mem.N, mem.Note = ptr(rss), 1, "peak resident memory"
	return []Figure{speed, ratio, mem}
}

// childrenPeak is the largest resident set of a finished child so far, in MB.
func childrenPeak() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) * 1024 / 1e6
}

// prepareDoctor writes log and literals and gives the number of literals.
func prepareDoctor(log, lits string, size int) (int, error) {
	doc, err := check.New(check.All())
	if err != nil {
		return 0, err
	}
	text := strings.Join(doc.Literals(), "\n") + "\n"
	return len(doc.Literals()), errors.Join(os.WriteFile(lits, []byte(text), 0o600), writeDebugLog(log, size))
}

// debugLines are what NCCL_DEBUG=INFO, UCX_LOG_LEVEL=debug and FI_LOG_LEVEL=info print.
var debugLines = []string{
	"node%02d:2228%03d:2230%03d [%d] NCCL INFO Channel %02d/0 : %d[0] -> %d[1] via P2P/CUMEM/read\n",
	"node%02d:2228%03d:2230%03d [%d] NCCL INFO Channel %02d/0 : %d[7] -> %d[0] [send] via NET/IB/0/GDRDMA\n",
	"node%02d:2228%03d:2230%03d [%d] NCCL INFO AllReduce: opCount %x sendbuff 0x7f%06x recvbuff 0x7f%06x count 262144 datatype 7 op 0 root 0\n",
	"[1716594409.5%02d417] [node01:1581%03d:0]      ucp_worker.c:%d UCX  DEBUG created interface[%d]=0x%x using rc_mlx5/mlx5_%d:1 on worker 0x%x\n",
	"[1716594409.5%02d428] [node02:1581%03d:0]          wireup.c:%d UCX  DEBUG ep 0x1550%d: am_lane %d wireup_msg_lane %d cm_lane <none> keepalive_lane %d\n",
	"libfabric:%d:%d:efa:ep_data:efa_rdm_ep_progress():%d<info> completed %d packets of %d, credits %d, window %d\n",
}

func writeDebugLog(path string, size int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	rng := rand.New(rand.NewPCG(7, 11))
	for n := 0; n < size; {
		v := func() int { return rng.IntN(100) }
		k, err := fmt.Fprintf(w, debugLines[rng.IntN(len(debugLines))], v(), v(), v(), v(), v(), v(), v())
		if err != nil {
			return err
		}
		n += k
	}
	return w.Flush()
}
