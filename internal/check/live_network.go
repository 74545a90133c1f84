package check

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/site"
)

func liveNetwork() []Check {
	return []Check{
		// The bridges that docker and libvirt make everywhere (btl_base_verbose).
		seen("ompi-tcp-wrong-interface", sameAddress, on(82, `attempting to connect\(\) to \S+ address (?:172\.17\.0\.1|192\.168\.122\.1)\b`)),
		seen("hostname-not-resolved", each(unresolved)),
	}
}

// sameAddress finds addresses that several nodes have, as bridges of docker and
// libvirt do: a peer that is tried there is ourselves, or nobody. A setting that
// chooses interfaces takes the danger away.
func sameAddress(nodes []site.Facts) []Evidence {
	type owner struct {
		f site.Facts
		i site.Interface
	}
	owners := map[string][]owner{}
	var order []string
	for _, f := range native(nodes) {
		if f.Network.Interfaces == nil || chosen(f) {
			continue
		}
		for _, i := range f.Network.Interfaces.Value {
			for _, a := range i.Addrs {
				p, err := netip.ParsePrefix(a)
				if err != nil || p.Addr().IsLoopback() || p.Addr().IsLinkLocalUnicast() {
					continue
				}
				if owners[a] == nil {
					order = append(order, a)
				}
				owners[a] = append(owners[a], owner{f, i})
			}
		}
	}
	var out []Evidence
	for _, a := range order {
		if len(owners[a]) < 2 {
			continue
		}
		for _, o := range owners[a] {
			out = append(out, fact(o.f, o.f.Network.Interfaces.Source+"/"+o.i.Name, "%s has %s, as %d nodes do", o.i.Name, a, len(owners[a]))...)
		}
	}
	return out
}

// chosen says whether Open MPI was told which interfaces to use.
func chosen(f site.Facts) bool {
	for _, name := range []string{"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"} {
		if v, ok := env(f, name); ok && v != "" {
			return true
		}
	}
	return false
}

func unresolved(f site.Facts) []Evidence {
	r := f.Network.Resolves
	if r == nil || f.Image != "" {
		return nil
	}
	if len(r.Value) == 0 {
		return fact(f, r.Source, "no address")
	}
	loopback := func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.IsLoopback() }
	if !f.Login && f.Slurm.Step != nil && !slices.ContainsFunc(r.Value, func(s string) bool { return !loopback(s) }) {
		return fact(f, r.Source, "only %s: other nodes cannot reach it there", strings.Join(r.Value, ", "))
	}
	return nil
}
