package attrib

import (
	"regexp"
	"slices"
	"strings"
)

// ucxLine is "[time] [host:pid:thread] file:line UCX LEVEL text"; who tells
// the processes apart whose lines are mixed.
var ucxLine = regexp.MustCompile(`\[\d+\.\d+\]\s+\[(\S+?)\s*:[^\]]*\]\s+(.*)$`)

// ucxConfig names the lanes of a peer (ucp_worker.c): "ucp_context_0
// intra-node cfg#1 tag(sysv/memory cma/memory)".
var ucxConfig = regexp.MustCompile(`(intra-node|inter-node) cfg#\d+ (\w+\(.*\))\s*$`)

// ucxHead opens a table of protocols (UCX_PROTO_INFO).
var ucxHead = regexp.MustCompile(`^\|\s*\S+ (intra-node|inter-node) cfg#\d+\s*\| tagged message by ucp_tag_send\* from (?:host memory|cuda/\S+)`)

// ucxRow is one size class: "| 93..5422 | eager copy-in copy-out | sysv/memory |".
var ucxRow = regexp.MustCompile(`^\|\s*(\d\S*\.\.\S+)\s*\|\s*(.*?)\s*\|\s*(.*?)\s*\|$`)

// protoTable is a table being read.
type protoTable struct {
	key   string
	src   Source
	rows  []string
	rules int // lines of +-----+ since the head
}

func (e *extractor) ucx(src Source) {
	m := ucxLine.FindStringSubmatch(src.Text)
	if m == nil {
		return
	}
	who, text := m[1], strings.TrimSpace(m[2])
	if c := ucxConfig.FindStringSubmatch(text); c != nil && strings.Contains(text, "UCX") {
		e.add(byPeer(c[1], UCXSame, UCXOther), lanes(c[2]), src)
		return
	}
	e.protocols(who, text, src)
}

func byPeer(word, same, other string) string {
	if word == "intra-node" {
		return same
	}
	return other
}

// protocols follows one process's table: head, rule, rows, rule.
func (e *extractor) protocols(who, text string, src Source) {
	t := e.tables[who]
	if h := ucxHead.FindStringSubmatch(text); h != nil {
		if len(e.tables) < 4096 {
			e.tables[who] = &protoTable{key: byPeer(h[1], UCXProtSame, UCXProtOther), src: src}
		}
		return
	}
	if t == nil {
		return
	}
	if row := ucxRow.FindStringSubmatch(text); row != nil && len(t.rows) < 32 {
		t.rows = append(t.rows, row[1]+" "+strings.TrimPrefix(row[2], "(?) ")+" "+row[3])
		return
	}
	if t.rules++; t.rules == 2 {
		e.longest(t.key, strings.Join(t.rows, "; "), t.src)
		delete(e.tables, who)
	}
}

// longest keeps the fullest table: ranks that write at once cut each other's.
func (e *extractor) longest(key, value string, src Source) {
	if old := e.sets[key]; old != nil && len(old.String()) >= len(value) {
		return
	}
	e.sets[key] = &set{}
	e.sets[key].add(value, src)
}

// lanes is the transports of all kinds, each once: "tag(a b) rma(b)" → "a b".
func lanes(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == '(' || r == ')' || r == ' ' })
	words = slices.DeleteFunc(words, func(w string) bool { return !strings.Contains(w, "/") })
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

// ucxCopy is the single-copy transport among the lanes.
func ucxCopy(lanes string, refused bool) string {
	for _, w := range strings.Fields(lanes) {
		kind, _, _ := strings.Cut(w, "/")
		switch kind {
		case "cma", "xpmem", "knem":
			return kind
		}
	}
	if refused {
		return "none: the ranks are in different user namespaces"
	}
	return "none"
}

// devices is the part behind the slash: "rc_mlx5/mlx5_0:1" → "mlx5_0:1".
func devices(lanes string) string {
	var out []string
	for _, w := range strings.Fields(lanes) {
		if _, dev, ok := strings.Cut(w, "/"); ok && !slices.Contains(out, dev) {
			out = append(out, strings.TrimRight(dev, ","))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
