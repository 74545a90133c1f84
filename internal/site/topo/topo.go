// Package topo tells which NICs belong to which GPU: those that hang below the
// same PCIe switch, so that a write from the GPU's memory crosses no other.
//
//	sysfs (fs.FS) ──Read──┐
//	lspci -tv, ls -l ──Parse──→ []Device ──Groups──→ []Group: GPUs, NICs, NUMA node, CPUs
//	NCCL topology XML ──ParseXML──┘
//
// A nil NUMA node or an empty CPU list means that it was not observed.
package topo

import (
	"cmp"
	"slices"
	"strings"
)

// Kind of a PCI device.
type Kind string

// GPUs, NICs that remote memory access goes through, other NICs, all else.
const (
	GPU   Kind = "gpu"
	NIC   Kind = "nic" // RDMA: InfiniBand, RoCE, EFA
	Plain Kind = "ethernet"
	Other Kind = "other"
)

// Device is one PCI function.
type Device struct {
	Addr string   `json:"addr"`           // "0000:c6:00.0"
	Path []string `json:"path"`           // bridges from the root complex down, without the device
	Kind Kind     `json:"kind"`           //
	Name string   `json:"name,omitempty"` // "GH100 [H100 SXM5 80GB]", "mlx5_0", "eth0"
	NUMA *int     `json:"numa"`           // numa_node; nil: not told (-1 in sysfs)
	CPUs string   `json:"cpus,omitempty"` // local_cpulist
}

// Group is the GPUs and the NICs that are nearest to each other.
type Group struct {
	Bridge string   `json:"bridge"` // the deepest bridge above all of them
	NUMA   *int     `json:"numa"`
	CPUs   string   `json:"cpus,omitempty"`
	GPUs   []Device `json:"gpus"`
	NICs   []Device `json:"nics"`
}

// Groups puts every NIC to the GPUs with which it shares the longest way from
// the root complex; GPUs that get the same NICs form one group. Without GPUs the
// NICs of a NUMA node, or of a root complex, are a group. RDMA NICs are taken
// where there are any, else plain ones.
func Groups(devices []Device) []Group {
	gpus := pick(devices, GPU)
	nics := pick(devices, NIC)
	if len(nics) == 0 {
		nics = pick(devices, Plain)
	}
	if len(gpus) == 0 {
		return byRoot(nics)
	}
	var out []Group
	for _, g := range gpus {
		i := slices.IndexFunc(out, func(o Group) bool { return sameSwitch(o.GPUs[0], g, nics) })
		if i < 0 {
			out = append(out, Group{NUMA: g.NUMA, CPUs: g.CPUs})
			i = len(out) - 1
		}
		out[i].GPUs = append(out[i].GPUs, g)
	}
	for _, n := range nics {
		best := slices.MaxFunc(out, func(a, b Group) int { return shared(a.GPUs[0], n) - shared(b.GPUs[0], n) })
		for i := range out {
			if out[i].GPUs[0].Addr == best.GPUs[0].Addr && shared(best.GPUs[0], n) > 0 {
				out[i].NICs = append(out[i].NICs, n)
			}
		}
	}
	for i := range out {
		out[i].Bridge = bridge(append(slices.Clone(out[i].GPUs), out[i].NICs...))
	}
	return out
}

// sameSwitch says whether two GPUs are equally near to every NIC.
func sameSwitch(a, b Device, nics []Device) bool {
	for _, n := range nics {
		if shared(a, n) != shared(b, n) {
			return false
		}
	}
	return common(a.Path, b.Path) == len(a.Path) && len(a.Path) == len(b.Path) || len(nics) > 0 && shared(a, b) >= nearest(a, nics)
}

func nearest(d Device, nics []Device) int {
	best := 0
	for _, n := range nics {
		best = max(best, shared(d, n))
	}
	return best
}

func byRoot(nics []Device) []Group {
	var out []Group
	for _, n := range nics {
		i := slices.IndexFunc(out, func(g Group) bool { return near(g.NICs[0], n) })
		if i < 0 {
			out = append(out, Group{NUMA: n.NUMA, CPUs: n.CPUs, GPUs: []Device{}})
			i = len(out) - 1
		}
		out[i].NICs = append(out[i].NICs, n)
	}
	for i := range out {
		out[i].Bridge = bridge(out[i].NICs)
	}
	return out
}

func near(a, b Device) bool {
	if a.NUMA != nil && b.NUMA != nil {
		return *a.NUMA == *b.NUMA
	}
	return shared(a, b) > 0
}

func pick(devices []Device, k Kind) []Device {
	var out []Device
	for _, d := range devices {
		if d.Kind == k {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b Device) int { return cmp.Compare(a.Addr, b.Addr) })
	return out
}

func shared(a, b Device) int { return common(a.Path, b.Path) }

func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// bridge is the deepest one above all devices, "" when they share none.
func bridge(devices []Device) string {
	n := len(devices[0].Path)
	for _, d := range devices[1:] {
		n = min(n, common(devices[0].Path, d.Path))
	}
	if n == 0 {
		return ""
	}
	return devices[0].Path[n-1]
}

// kindOf goes by the PCI class (pci.ids: 0300 and 0302 display, 02xx network)
// and the name, for listings that have no class.
func kindOf(class, name string) Kind {
	switch {
	case strings.HasPrefix(class, "0x0302"), strings.HasPrefix(class, "0x0300") && strings.Contains(name, "NVIDIA"):
		return GPU
	case strings.HasPrefix(class, "0x0207"): // InfiniBand
		return NIC
	case strings.HasPrefix(class, "0x02"):
		return Plain
	}
	return Other
}
