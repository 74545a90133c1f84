package collect

import (
	"context"
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs/sysfs"

	"github.com/nearmetal/nearmetal/internal/site"
)

// network lists the interfaces. Only the real root can be asked for addresses:
// they are not in sysfs.
func (c *Collector) network() site.Network {
	var out site.Network
	var list []site.Interface
	for _, name := range c.names("sys/class/net") {
		dir := "sys/class/net/" + name
		carrier, _ := c.text(dir + "/carrier")
		state, _ := c.text(dir + "/operstate")
		i := site.Interface{Name: name, Carrier: carrier == "1", Up: state == "up" || state == "unknown"}
		i.MTU, i.Speed = c.number(dir+"/mtu"), max(c.number(dir+"/speed"), 0)
		i.Virtual = len(c.names(dir+"/device")) == 0
		list = append(list, i)
	}
	if c.Root == "/" {
		addresses(list)
		if addrs, err := net.DefaultResolver.LookupHost(context.Background(), c.name()); err == nil {
			out.Resolves = site.Of(addrs, "getaddrinfo "+c.name())
		} else {
			out.Resolves = site.Of([]string{}, "getaddrinfo "+c.name())
		}
	}
	if list != nil {
		out.Interfaces = site.Of(list, "/sys/class/net")
	}
	return out
}

func addresses(list []site.Interface) {
	for i := range list {
		in, err := net.InterfaceByName(list[i].Name)
		if err != nil {
			continue
		}
		list[i].Up = in.Flags&net.FlagUp != 0
		addrs, _ := in.Addrs()
		for _, a := range addrs {
			list[i].Addrs = append(list[i].Addrs, a.String())
		}
	}
}

func (c *Collector) number(path string) int {
	s, _ := c.text(path)
	n, _ := strconv.Atoi(s)
	return n
}

func (c *Collector) rdma(ctx context.Context) site.RDMA {
	var r site.RDMA
	if devs := c.names("dev/infiniband"); len(devs) > 0 {
		r.UVerbs = site.Of(devs, "/dev/infiniband")
		for _, d := range devs {
			if strings.HasPrefix(d, "uverbs") {
				r.Opens = site.Of(access(path.Join(c.Root, "dev/infiniband", d), 6), "/dev/infiniband/"+d)
				break
			}
		}
	}
	r.ABI = c.intFact("sys/class/infiniband_verbs/abi_version")
	if p := c.names("etc/libibverbs.d"); len(p) > 0 {
		r.Providers = site.Of(p, "/etc/libibverbs.d")
	}
	r.OFED = c.outputFact(ctx, "ofed_info", "-s")
	if hcas := c.hcas(); hcas != nil {
		r.HCAs = site.Of(hcas, "/sys/class/infiniband")
	}
	return r
}

// hcas reads /sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband).
func (c *Collector) hcas() []site.HCAPort {
	s, err := sysfs.NewFS(c.Root + "/sys")
	if err != nil {
		return nil
	}
	class, err := s.InfiniBandClass()
	if err != nil {
		return nil
	}
	var out []site.HCAPort
	for name, dev := range class {
		for _, p := range dev.Ports {
			out = append(out, c.hcaPort(name, dev, p))
		}
	}
	slices.SortFunc(out, func(a, b site.HCAPort) int { return strings.Compare(a.HCA, b.HCA)*100 + a.Port - b.Port })
	return out
}

func (c *Collector) hcaPort(name string, dev sysfs.InfiniBandDevice, p sysfs.InfiniBandPort) site.HCAPort {
	base := "sys/class/infiniband/" + name
	h := site.HCAPort{
		HCA: name, Port: int(p.Port), LinkLayer: p.LinkLayer, State: p.State, Phys: p.PhysState,
		Gbps: float64(p.Rate) * 8 / 1e9, Firmware: dev.FirmwareVersion, Board: dev.BoardID,
		Errors: errorCounters(p), NUMA: c.number(base + "/device/numa_node"),
	}
	h.PCIeNow = c.link(base+"/device", "current")
	h.PCIeMax = c.link(base+"/device", "max")
	port := fmt.Sprintf("%s/ports/%d", base, p.Port)
	for _, n := range c.names(base + "/device/net") {
		h.MTU = c.number(base + "/device/net/" + n + "/mtu")
	}
	for _, i := range c.names(port + "/gids") {
		gid, _ := c.text(port + "/gids/" + i)
		if strings.Trim(gid, "0:") == "" || strings.TrimPrefix(gid, "fe80:") == "0000:0000:0000:0000:0000:0000:0000" {
			continue
		}
		kind, _ := c.text(port + "/gid_attrs/types/" + i)
		h.GIDs, h.GIDTypes = append(h.GIDs, i+" "+gid), append(h.GIDTypes, kind)
	}
	for _, i := range c.names(port + "/pkeys") {
		if key, _ := c.text(port + "/pkeys/" + i); key != "0x0000" && key != "" {
			h.PKeys = append(h.PKeys, key)
		}
	}
	return h
}

func (c *Collector) link(dir, which string) string {
	speed, ok := c.text(dir + "/" + which + "_link_speed")
	width, _ := c.text(dir + "/" + which + "_link_width")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(speed, " PCIe") + " x" + width
}

// errorCounters are those that are not 0.
func errorCounters(p sysfs.InfiniBandPort) map[string]uint64 {
	n := p.Counters
	out := map[string]uint64{}
	for name, v := range map[string]*uint64{
		"link_downed": n.LinkDowned, "link_error_recovery": n.LinkErrorRecovery, "symbol_error": n.SymbolError,
		"port_rcv_errors": n.PortRcvErrors, "local_link_integrity_errors": n.LocalLinkIntegrityErrors,
		"port_xmit_discards": n.PortXmitDiscards, "excessive_buffer_overrun_errors": n.ExcessiveBufferOverrunErrors,
		"local_ack_timeout_err": p.HwCounters.LocalAckTimeoutErr, "out_of_buffer": p.HwCounters.OutOfBuffer,
	} {
		if v != nil && *v > 0 {
			out[name] = *v
		}
	}
	return out
}
