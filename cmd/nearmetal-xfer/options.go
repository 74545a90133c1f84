package main

import (
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nearmetal/nearmetal/bench/xfer/fabric"
	"github.com/nearmetal/nearmetal/internal/fail"
)

// engineOptions are the flags that both ends have.
type engineOptions struct {
	provider, rails, wait, cpus, coalesce, window, maxMemory string
	depth, batch                                             int
	nap                                                      time.Duration
	allowFallback                                            bool
	ablate                                                   fabric.Ablation
}

func (o *engineOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.provider, "provider", "tcp", "libfabric provider: tcp, shm, verbs, efa")
	f.StringVar(&o.rails, "rails", "", "local address of each rail; ',' between rails, ';' between groups; domain=NAME for a provider without addresses")
	f.StringVar(&o.wait, "wait", "auto", "what an idle worker does: spin, wait, adaptive, or auto: wait when both ends' workers here would need more CPUs than there are")
	f.StringVar(&o.cpus, "cpus", "", "CPU of each group's worker, ',' between them; not pinned when empty")
	f.IntVar(&o.depth, "depth", 16, "writes under way for each rail and peer")
	f.IntVar(&o.batch, "batch", 16, "writes posted between two polls")
	f.StringVar(&o.coalesce, "coalesce", "128K", "most bytes of a write that carries several pages")
	f.StringVar(&o.window, "window", "512K", "bytes under way for each rail and peer")
	f.DurationVar(&o.nap, "nap", 2*time.Millisecond, "longest sleep between two looks at a busy rail")
	f.StringVar(&o.maxMemory, "max-memory", "4G", "most memory of one pool")
	f.BoolVar(&o.allowFallback, "allow-fallback", false, "use tcp when the provider cannot be had, and say so in the result")
}

func (o *engineOptions) config() (fabric.Config, error) {
	c := fabric.Config{Depth: o.depth, Batch: o.batch, Nap: o.nap, Ablate: o.ablate}
	var err error
	if c.Groups, err = parseRails(o.provider, o.rails); err != nil {
		return c, err
	}
	if c.Waiting, err = parseWaiting(o.wait, len(c.Groups), runtime.NumCPU()); err != nil {
		return c, err
	}
	if c.CPUs, err = parseCPUs(o.cpus); err != nil {
		return c, err
	}
	if c.Coalesce, err = parseSize("--coalesce", o.coalesce); err != nil {
		return c, err
	}
	c.Window, err = parseSize("--window", o.window)
	return c, err
}

func parseRails(provider, text string) ([][]fabric.Rail, error) {
	var out [][]fabric.Rail
	for group := range strings.SplitSeq(text, ";") {
		var rails []fabric.Rail
		for name := range strings.SplitSeq(group, ",") {
			r := fabric.Rail{Provider: provider}
			name = strings.TrimSpace(name)
			domain, isDomain := strings.CutPrefix(name, "domain=")
			switch {
			case isDomain:
				r.Domain = domain
			case name != "":
				if _, err := netip.ParseAddr(name); err != nil {
					return nil, fail.Usagef("--rails 10.0.0.1,10.0.1.1;10.0.2.1,10.0.3.1", "--rails: %w", err)
				}
				r.Source = name
			}
			rails = append(rails, r)
		}
		out = append(out, rails)
	}
	return out, nil
}

// parseWaiting lets workers spin only where each has a CPU to itself, with the
// other end's on the same machine counted: spinning loses by several times else.
func parseWaiting(s string, workers, cpus int) (fabric.Waiting, error) {
	switch s {
	case "auto":
		if 2*workers > cpus {
			return fabric.Sleep, nil
		}
		return fabric.Adaptive, nil
	case "spin":
		return fabric.Spin, nil
	case "wait":
		return fabric.Sleep, nil
	case "adaptive":
		return fabric.Adaptive, nil
	}
	return 0, fail.Usagef("--wait adaptive", "--wait %q: must be spin, wait, adaptive or auto", s)
}

func parseCPUs(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var out []int
	for f := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < -1 {
			return nil, fail.Usagef("--cpus 0,1", "--cpus %q: not a CPU number", f)
		}
		out = append(out, n)
	}
	return out, nil
}

// parseSize reads 4096, 4K, 1M, 2G (powers of 1024).
func parseSize(flag, s string) (int64, error) {
	digits := strings.TrimRight(s, "KMG")
	shift := map[string]uint{"": 0, "K": 10, "M": 20, "G": 30}
	by, ok := shift[s[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !ok || n < 0 || n > math.MaxInt64>>by {
		return 0, fail.Usagef(flag+" 64K", "%s %q: must be a number of bytes, with K, M or G", flag, s)
	}
	return n << by, nil
}

// ablations are the steps of --ablate.
var ablations = []struct {
	name string
	bit  fabric.Ablation
}{
	{"stripe", fabric.NoStripe}, {"coalesce", fabric.NoCoalesce}, {"batch", fabric.NoBatch},
	{"lazy", fabric.Eager}, {"pin", fabric.NoPin}, {"warm-up", fabric.NoWarmUp},
}

// openEngine opens what was asked for, or tcp where that is allowed and said.
func openEngine(o *engineOptions) (*fabric.Engine, bool, error) {
	c, err := o.config()
	if err != nil {
		return nil, false, err
	}
	if !fabric.Available {
		return nil, false, fail.Missingf("install libfabric-dev and a C compiler, then: make xfer", "%w", fabric.ErrNoEngine)
	}
	e, err := fabric.Open(c)
	if err == nil || o.provider == "tcp" || !o.allowFallback {
		if err != nil {
			err = fail.Missingf("fi_info -p "+o.provider, "the transfer engine did not open: %w", err)
		}
		return e, false, err
	}
	for i := range c.Groups {
		for j := range c.Groups[i] {
			c.Groups[i][j].Provider, c.Groups[i][j].Domain = "tcp", ""
		}
	}
	e, second := fabric.Open(c)
	if second != nil {
		return nil, false, fmt.Errorf("%w; and the fall-back: %w", err, second)
	}
	return e, true, nil
}
