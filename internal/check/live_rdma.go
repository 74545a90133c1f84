package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/site"
)

func liveRDMA() []Check {
	return []Check{
		seen("infiniband-not-bound", notBound),
		seen("ib-port-down", ports(portDown)),
		seen("ib-link-degraded", ports(linkDegraded)),
		seen("ib-errors-counters", ports(linkErrors)),
		seen("roce-wrong-gid-index", gidIndex),
		seen("gdr-module-missing", each(noPeermem)),
		seen("hca-firmware-old", firmwareDiffers),
	}
}

// notBound compares a node with what its image sees.
func notBound(nodes []site.Facts) []Evidence {
	has := map[string]bool{}
	for _, f := range nodes {
		if f.Image == "" && f.RDMA.UVerbs != nil {
			has[f.Node] = true
		}
	}
	var out []Evidence
	for _, f := range nodes {
		if f.Image != "" && has[f.Node] && f.RDMA.UVerbs == nil {
			out = append(out, fact(f, "/dev/infiniband", "not in the image; the node has it")...)
		}
	}
	return out
}

// ports applies a rule to each port of each node.
func ports(bad func(site.HCAPort) string) func([]site.Facts) []Evidence {
	return func(nodes []site.Facts) []Evidence {
		var out []Evidence
		for _, f := range native(nodes) {
			if f.RDMA.HCAs == nil {
				continue
			}
			for _, h := range f.RDMA.HCAs.Value {
				if why := bad(h); why != "" {
					out = append(out, fact(f, f.RDMA.HCAs.Source+"/"+h.HCA, "%s port %d: %s", h.HCA, h.Port, why)...)
				}
			}
		}
		return out
	}
}

func portDown(h site.HCAPort) string {
	if strings.EqualFold(h.State, "ACTIVE") || h.State == "" {
		return ""
	}
	return "state " + h.State + ", physical " + h.Phys
}

func linkDegraded(h site.HCAPort) string {
	if h.PCIeNow == h.PCIeMax || h.PCIeNow == "" || h.PCIeMax == "" {
		return ""
	}
	return "PCIe runs at " + h.PCIeNow + " of " + h.PCIeMax
}

// linkErrors are those that a good link does not have; a link is downed and
// has symbol errors when a cable is plugged in.
func linkErrors(h site.HCAPort) string {
	for _, name := range []string{"link_error_recovery", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "port_rcv_errors", "symbol_error"} {
		if n := h.Errors[name]; n > 1000 || n > 0 && name != "symbol_error" && name != "port_rcv_errors" {
			return name + " " + strconv.FormatUint(n, 10)
		}
	}
	return ""
}

var gidVariables = []string{"NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "OMPI_MCA_btl_openib_gid_index"}

// gidIndex looks whether a chosen index is a RoCE v2 one on every Ethernet port.
func gidIndex(nodes []site.Facts) []Evidence {
	var out []Evidence
	for _, f := range native(nodes) {
		for _, name := range gidVariables {
			v, ok := env(f, name)
			if !ok || v == "auto" || f.RDMA.HCAs == nil {
				continue
			}
			for _, h := range f.RDMA.HCAs.Value {
				if why := badGID(h, v); why != "" {
					out = append(out, fact(f, f.RDMA.HCAs.Source+"/"+h.HCA, "%s=%s: %s", name, v, why)...)
				}
			}
		}
	}
	return out
}

func badGID(h site.HCAPort, index string) string {
	if h.LinkLayer != "Ethernet" {
		return ""
	}
	i := slices.IndexFunc(h.GIDs, func(g string) bool { return strings.HasPrefix(g, index+" ") })
	switch {
	case i < 0:
		return "no such GID on " + h.HCA
	case i < len(h.GIDTypes) && h.GIDTypes[i] != "" && !strings.Contains(h.GIDTypes[i], "v2"):
		return "it is " + h.GIDTypes[i] + " on " + h.HCA
	}
	return ""
}

// noPeermem: from Linux 5.12 dma-buf does the same without a module.
func noPeermem(f site.Facts) []Evidence {
	mods := f.System.Modules
	if mods == nil || f.GPU.Driver == nil || f.RDMA.HCAs == nil || len(f.RDMA.HCAs.Value) == 0 || f.System.Kernel == nil || atLeast(f.System.Kernel.Value, 5, 12) {
		return nil
	}
	for _, m := range []string{"nvidia_peermem", "nv_peer_mem"} {
		if slices.Contains(mods.Value, m) {
			return nil
		}
	}
	return fact(f, mods.Source, "neither nvidia_peermem nor nv_peer_mem is loaded")
}

func atLeast(version string, major, minor int) bool {
	f := strings.SplitN(version, ".", 3)
	if len(f) < 2 {
		return false
	}
	a, err1 := strconv.Atoi(f[0])
	b, err2 := strconv.Atoi(f[1])
	return err1 == nil && err2 == nil && (a > major || a == major && b >= minor)
}

// firmwareDiffers: boards of one kind should run one firmware.
func firmwareDiffers(nodes []site.Facts) []Evidence {
	byBoard := map[string]map[string]bool{}
	var out []Evidence
	for _, f := range native(nodes) {
		if f.RDMA.HCAs == nil {
			continue
		}
		for _, h := range f.RDMA.HCAs.Value {
			if h.Board == "" || h.Firmware == "" {
				continue
			}
			if byBoard[h.Board] == nil {
				byBoard[h.Board] = map[string]bool{}
			}
			if !byBoard[h.Board][h.Firmware] {
				byBoard[h.Board][h.Firmware] = true
				out = append(out, fact(f, f.RDMA.HCAs.Source+"/"+h.HCA, "board %s has firmware %s", h.Board, h.Firmware)...)
			}
		}
	}
	if len(out) == len(byBoard) {
		return nil
	}
	return out
}
