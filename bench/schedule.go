package bench

import "math/rand/v2"

// Schedule lays out warmups and blocks: each block holds one launch of every
// arm for every case. The arms of one case stand next to each other, in random
// order, so that drift of the machine hits them alike; the cases of a block
// are shuffled too. The same seed gives the same order.
func Schedule(cases []Case, arms []string, warmups, blocks int, seed uint64) []Launch {
	rng := rand.New(rand.NewPCG(seed, 0x6e6d)) // any fixed stream; the seed is in the manifest
	var out []Launch
	for b := -warmups; b < blocks; b++ {
		for _, c := range rng.Perm(len(cases)) {
			for _, a := range rng.Perm(len(arms)) {
				out = append(out, Launch{ID: len(out), Block: max(b, WarmUp), Arm: arms[a], Case: cases[c].Name})
			}
		}
	}
	return out
}
