package attrib

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/bench/probe"
)

// rankFacts is where one rank says it is; "" is not observed.
type rankFacts struct {
	node, cpus, userNS, shmKiB, shmDev string
	probe                              bool
	src                                Source
}

// rank reads a line of the preamble, or the probe's own account, which is the
// later one and wins.
func (e *extractor) rank(src Source) {
	if i := strings.Index(src.Text, factMark); i >= 0 {
		e.ranks = append(e.ranks, preambleRank(src.Text[i+len(factMark):], src))
		return
	}
	if i := strings.Index(src.Text, `{"type":"env"`); i >= 0 {
		e.probeRanks(src.Text[i:], src)
	}
}

func preambleRank(text string, src Source) rankFacts {
	r := rankFacts{src: src}
	for _, f := range strings.Fields(text) {
		k, v, _ := strings.Cut(f, "=")
		switch k {
		case "node":
			r.node = v
		case "cpus":
			r.cpus = v
		case "user":
			r.userNS = v
		case "shm_kib":
			r.shmKiB = v
		case "shm_dev":
			r.shmDev = v
		}
	}
	return r
}

func (e *extractor) probeRanks(text string, src Source) {
	var env probe.Env
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&env); err != nil {
		return
	}
	src.Text = "" // one long line of JSON is no evidence for people
	for _, p := range env.Ranks {
		r := rankFacts{node: p.Host, cpus: p.CPUs, probe: true, src: src}
		if p.UserNS != 0 {
			r.userNS = strconv.FormatUint(p.UserNS, 10)
		}
		e.ranks = append(e.ranks, r)
	}
}

// places reduces the ranks to facts about the worst node. Where a text holds
// both accounts of a launch, the probe's is the later one and the preamble
// adds /dev/shm.
func (e *extractor) places(out Facts) {
	w := worst{out, map[string]int{}}
	nodes := nodesOf(e.ranks)
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[name]
		w.least(CPUs, len(n.cpus), plural(len(n.cpus), "CPU")+" for "+plural(n.ranks, "rank"), n)
		w.least(UserNS, -len(n.userNS), strconv.Itoa(len(n.userNS)), n)
		for kib := range n.shmKiB {
			if v, err := strconv.Atoi(kib); err == nil {
				w.least(ShmSize, v, bytesText(int64(v)<<10), n)
			}
		}
		if len(n.shmDev) > 0 && n.ranks > 1 {
			w.least(ShmShared, -len(n.shmDev), map[bool]string{true: "shared by the ranks of a node", false: "one for each rank"}[len(n.shmDev) == 1], n)
		}
	}
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// worst keeps each fact of the node with the least number.
type worst struct {
	out  Facts
	seen map[string]int
}

// least takes a number that was observed, which is not 0.
func (w worst) least(key string, v int, text string, n node) {
	if was, ok := w.seen[key]; v != 0 && (!ok || v < was) {
		w.seen[key], w.out[key] = v, Fact{text, n.src}
	}
}

// node is what the ranks of a node have in all.
type node struct {
	ranks                  int
	cpus                   map[int]bool
	userNS, shmDev, shmKiB map[string]bool
	src                    Source
}

func nodesOf(ranks []rankFacts) map[string]node {
	probed := slices.ContainsFunc(ranks, func(r rankFacts) bool { return r.probe })
	out := map[string]node{}
	for _, r := range ranks {
		n, ok := out[r.node]
		if !ok {
			n = node{cpus: map[int]bool{}, userNS: map[string]bool{}, shmDev: map[string]bool{}, shmKiB: map[string]bool{}, src: r.src}
		}
		if r.probe == probed {
			n.ranks++
			n.src = r.src
			for _, c := range cpuList(r.cpus) {
				n.cpus[c] = true
			}
			note(n.userNS, r.userNS)
		}
		note(n.shmDev, r.shmDev)
		note(n.shmKiB, r.shmKiB)
		out[r.node] = n
	}
	return out
}

func note(m map[string]bool, v string) {
	if v != "" {
		m[v] = true
	}
}

// cpuList reads a mask in the kernel's list form: "0-3,8".
func cpuList(s string) (out []int) {
	for _, part := range strings.Split(s, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			continue
		}
		b := a
		if ranged {
			if b, err = strconv.Atoi(hi); err != nil {
				continue
			}
		}
		for c := a; c <= b && c-a < 4096; c++ {
			out = append(out, c)
		}
	}
	return out
}

// bytesText is a size for people: "64 KiB", "3.1 GiB".
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return strconv.FormatFloat(v, 'f', map[bool]int{true: 0, false: 1}[v == float64(int64(v)) || v >= 100], 64) + " " + units[i]
}
