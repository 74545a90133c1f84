package xfer

// Plan tells where the pages of one transfer come from and go to. Both ends
// compute it from the seed, so an offer is 13 bytes however many pages it has.
type Plan struct {
	Slot []uint64 // source slot of each page, within the whole pool
	Src  []uint64 // source offset in bytes
	Dst  []uint64 // destination offset in bytes
}

// Fill plans a lane's transfer: Pages distinct source slots and Pages distinct
// destination slots of the lane's part, both in random order, each destination
// at a random multiple of 64 bytes within the gap. Slices are reused.
func (p *Plan) Fill(g Geometry, lane int, seed uint64) {
	from, to := newShuffle(uint64(g.Slots), Mix(seed^1)), newShuffle(uint64(g.Slots), Mix(seed^2))
	p.Slot, p.Src, p.Dst = p.Slot[:0], p.Src[:0], p.Dst[:0]
	first := uint64(lane) * uint64(g.Slots)
	rooms := uint64(g.Gap/64) + 1
	for k := range uint64(g.Pages) {
		slot := first + from.at(k)
		p.Slot = append(p.Slot, slot)
		p.Src = append(p.Src, slot*uint64(g.PageSize))
		p.Dst = append(p.Dst, (first+to.at(k))*uint64(g.Stride())+Mix(seed+k)%rooms*64)
	}
}

// Mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// shuffle is a random permutation of 0 … n-1 that needs no memory: a Feistel
// network over the next even power of two, walked until it falls below n
// (Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002).
type shuffle struct {
	n, mask uint64
	half    uint
	key     [4]uint64
}

func newShuffle(n, seed uint64) shuffle {
	s := shuffle{n: n, half: 1}
	for uint64(1)<<(2*s.half) < n {
		s.half++
	}
	s.mask = 1<<s.half - 1
	for i := range s.key {
		seed = Mix(seed)
		s.key[i] = seed
	}
	return s
}

func (s shuffle) at(k uint64) uint64 {
	for {
		l, r := k>>s.half, k&s.mask
		for _, key := range s.key {
			l, r = r, l^(((r^key)*0x9e3779b97f4a7c15)>>32)&s.mask
		}
		if k = l<<s.half | r; k < s.n {
			return k
		}
	}
}
