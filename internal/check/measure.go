package check

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/logscan"
)

var number = regexp.MustCompile(`\d+(?:\.\d+)?`)

// lastNumber is the last number of a hit's match; false when there is none.
func lastNumber(h logscan.Hit) (float64, bool) {
	all := number.FindAllString(h.Groups[0], -1)
	if len(all) == 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(all[len(all)-1], 64)
	return v, err == nil
}

// lowMemlock holds for a limit of locked memory below 4 GiB: RDMA needs it
// unlimited, and what systemd gives by default is 64 KiB or 8 MiB.
func lowMemlock(h logscan.Hit) bool {
	text := strings.ToLower(h.Groups[0])
	if strings.Contains(text, "kbytes") {
		kib, ok := lastNumber(h)
		return ok && !strings.HasSuffix(text, "unlimited") && kib < 4<<20
	}
	f := strings.Fields(text) // "max locked memory SOFT HARD bytes"
	if len(f) < 5 {
		return false
	}
	soft, err := strconv.ParseFloat(f[3], 64)
	return err == nil && soft < 4<<30
}

// slowBus holds for an average bus bandwidth of nccl-tests that is above that
// of no exchange at all (one GPU prints 0) and below what PCIe 3 gives (GB/s).
func slowBus(h logscan.Hit) bool {
	v, ok := lastNumber(h)
	return ok && v > 0 && v < 10
}

// positiveTail holds when a counter is not zero.
func positiveTail(h logscan.Hit) bool {
	v, ok := lastNumber(h)
	return ok && v > 0
}

// slowIntraNode gives the rows of latency tables whose small messages take 5 to
// 200 µs. Shared memory takes 0.2 to 1.
func slowIntraNode(s logscan.Signals) []Evidence {
	var ev []Evidence
	for _, t := range s.Tables {
		if t.Kind != "osu" || !strings.Contains(strings.ToLower(t.Name), "latency test") {
			continue
		}
		for _, r := range t.Rows {
			if r.Size >= 1 && r.Size <= 8 && len(r.Values) > 0 && r.Values[0] > 5 && r.Values[0] < 200 {
				ev = append(ev, Evidence{File: t.File, Line: t.Line, Text: fmt.Sprintf("%s: %d bytes take %.2f us", t.Name, r.Size, r.Values[0])})
				break
			}
		}
	}
	return ev
}

// differ gives the hits of an expression when their last numbers differ.
func differ(re string) func(logscan.Signals) []Evidence {
	return func(s logscan.Signals) []Evidence {
		var ev []Evidence
		seen := map[float64]bool{}
		for _, h := range s.Hits[Line{Re: re}.pattern()] {
			if v, ok := lastNumber(h); ok && !seen[v] {
				seen[v] = true
				ev = append(ev, Evidence{File: h.File, Line: h.Line, Text: h.Text})
			}
		}
		if len(seen) < 2 {
			return nil
		}
		return ev
	}
}
