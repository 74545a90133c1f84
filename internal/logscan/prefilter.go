package logscan

import (
	"encoding/binary"
	"math"
)

// The prefilter finds literals by the method of Wu and Manber ("A fast
// algorithm for multi-pattern searching", TR-94-17, University of Arizona,
// 1994): a window of as many bytes as the shortest literal slides over the text; the
// window's last four bytes tell how far it can be moved at once.
//
// Bytes are compared with bit 5 set, so letters match in both cases; what else
// that confuses is sorted out by the expressions.
const (
	window   = minLiteral
	block    = 4
	farthest = window - block + 1
	hashBits = 16
	fold32   = 0x20202020
	fold64   = 0x2020202020202020
)

// literal is one needle: a window of it, at an offset, stands for the whole.
type literal struct {
	text   string // folded
	key    uint64 // folded bytes of the window
	offset int    // of the window in text
	ids    []int  // patterns that it may start
}

type prefilter struct {
	shift   [1 << hashBits]uint8
	buckets [][]literal // by the hash of a window's last block, through index
	index   [1 << hashBits]uint16
}

func hash(v uint32) uint32 { return (v * 0x9E3779B1) >> (32 - hashBits) }

func fold(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] |= 0x20
	}
	return string(b)
}

func newPrefilter(lits map[string][]int) *prefilter {
	p := &prefilter{buckets: make([][]literal, 1)}
	for i := range p.shift {
		p.shift[i] = farthest
	}
	freq := frequencies(lits)
	for text, ids := range lits {
		p.add(literal{text: fold(text), ids: ids, offset: rarest(fold(text), freq)})
	}
	return p
}

func (p *prefilter) add(l literal) {
	w := []byte(l.text[l.offset : l.offset+window])
	l.key = binary.LittleEndian.Uint64(w)
	for j := 0; j <= window-block; j++ {
		h := hash(binary.LittleEndian.Uint32(w[j:]))
		p.shift[h] = min(p.shift[h], uint8(window-block-j))
	}
	h := hash(binary.LittleEndian.Uint32(w[window-block:]))
	if p.index[h] == 0 {
		p.index[h] = uint16(len(p.buckets))
		p.buckets = append(p.buckets, nil)
	}
	k := p.index[h]
	p.buckets[k] = append(p.buckets[k], l)
}

// find calls at for each place where a literal stands, in rising order of its
// window. Literals across the end of text are not seen.
func (p *prefilter) find(text []byte, at func(l *literal, pos int)) {
	for i := 0; i+window <= len(text); {
		v := binary.LittleEndian.Uint32(text[i+window-block:]) | fold32
		h := hash(v)
		if s := p.shift[h]; s > 0 {
			i += int(s)
			continue
		}
		key := binary.LittleEndian.Uint64(text[i:]) | fold64
		bucket := p.buckets[p.index[h]]
		for k := range bucket {
			if l := &bucket[k]; l.key == key && l.standsAt(text, i-l.offset) {
				at(l, i-l.offset)
			}
		}
		i++
	}
}

func (l *literal) standsAt(text []byte, pos int) bool {
	if pos < 0 || pos+len(l.text) > len(text) {
		return false
	}
	for j := range len(l.text) {
		if text[pos+j]|0x20 != l.text[j] {
			return false
		}
	}
	return true
}

// ordinary is text of the kind that fills debug logs. Windows of literals are
// chosen to be rare in it.
const ordinary = `node01:2228637:2230195 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>
NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read via NET/IB/0/GDRDMA Connected all rings trees NCCL WARN
NCCL INFO comm 0x rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 1000 commId 0x - Init COMPLETE Trees [0] 1/-1/-1->0->-1
NCCL INFO AllReduce: opCount 0 sendbuff recvbuff count datatype op root comm stream 0x transport/net.cc proxy.cc
[1716594409.541417] [node01:1581053:0]      ucp_worker.c:1783 UCX  INFO  ep_cfg[4]: tag(tcp/ib0) UCX  DEBUG created interface
UCX  TRACE UCX  ERROR failed: UCX  WARN  libfabric:core:core: <info> <warn> ofi_ fi_getinfo: provider mlx5_0:1
slurmstepd: error: srun: error: task 0: Exited with exit code not found cannot open shared object file: No such file or directory
failed with error: Permission denied Cannot allocate memory device could not initialize available transport connection version
`

func frequencies(lits map[string][]int) map[string]int {
	freq := map[string]int{}
	count := func(s string, weight int) {
		for i := 0; i+block <= len(s); i++ {
			freq[s[i:i+block]] += weight
		}
	}
	count(fold(ordinary), 3)
	for s := range lits {
		count(fold(s), 1)
	}
	return freq
}

// rarest is the offset of the window whose last block is rarest, then whose
// blocks together are.
func rarest(s string, freq map[string]int) int {
	best, cost := 0, math.MaxInt
	for o := 0; o+window <= len(s); o++ {
		c := freq[s[o+window-block:o+window]] * 4
		for j := o; j+block <= o+window; j++ {
			c += freq[s[j:j+block]]
		}
		if c < cost {
			best, cost = o, c
		}
	}
	return best
}
