package topo

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

var (
	linkLine = regexp.MustCompile(`^l\S+ .* (\S+) -> (\S+)\s*$`)
	treeLeaf = regexp.MustCompile(`\[([0-9a-f]{2})\]-+(?:\+-)?([0-9a-f]{2}\.[0-9a-f])  (.+)$`)
)

// ParseListing reads `ls -l /sys/bus/pci/devices` and `lspci -tv` of one
// machine, for places where only the listings are to be had. lspci's tree names
// the devices behind bridges; the others stay Other. Domain 0000 is assumed, as
// the tree's leaves do not repeat it.
func ParseListing(links, tree io.Reader) ([]Device, error) {
	names, err := parseTree(tree)
	if err != nil {
		return nil, err
	}
	var out []Device
	s := bufio.NewScanner(links)
	for n := 1; s.Scan(); n++ {
		if !strings.HasPrefix(s.Text(), "l") {
			continue // total, . and ..
		}
		m := linkLine.FindStringSubmatch(s.Text())
		if m == nil || !isAddr(m[1]) || !strings.HasSuffix(m[2], "/"+m[1]) {
			return nil, fmt.Errorf("ls -l /sys/bus/pci/devices: line %d: not a device: %q", n, s.Text())
		}
		d := Device{Addr: m[1], Path: bridges(m[2]), Name: names[m[1]]}
		d.Kind = kindByName(d.Name)
		out = append(out, d)
	}
	return out, s.Err()
}

func parseTree(r io.Reader) (map[string]string, error) {
	out := map[string]string{}
	s := bufio.NewScanner(r)
	for s.Scan() {
		if m := treeLeaf.FindStringSubmatch(s.Text()); m != nil {
			out["0000:"+m[1]+":"+m[2]] = strings.TrimSpace(m[3])
		}
	}
	return out, s.Err()
}

// kindByName goes by what pci.ids calls a device.
func kindByName(name string) Kind {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(name, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("NVSwitch"):
		return Other
	case has("NVIDIA"):
		return GPU
	case has("Elastic Fabric Adapter", "ConnectX", "InfiniBand"):
		return NIC
	case has("Ethernet", "Elastic Network Adapter"):
		return Plain
	}
	return Other
}

type xmlPCI struct {
	BusID string   `xml:"busid,attr"`
	Class string   `xml:"class,attr"`
	PCI   []xmlPCI `xml:"pci"`
}

type xmlSystem struct {
	XMLName xml.Name `xml:"system"`
	CPU     []struct {
		NUMA     string   `xml:"numaid,attr"`
		Affinity string   `xml:"affinity,attr"`
		PCI      []xmlPCI `xml:"pci"`
	} `xml:"cpu"`
}

// ParseXML reads an NCCL topology file (NCCL_TOPO_FILE). Its NICs are those
// that NCCL is to use, so they count as RDMA NICs. CPUs is the affinity mask
// as written there.
func ParseXML(r io.Reader) ([]Device, error) {
	var s xmlSystem
	if err := xml.NewDecoder(r).Decode(&s); err != nil {
		return nil, fmt.Errorf("NCCL topology: %w", err)
	}
	var out []Device
	for _, c := range s.CPU {
		n, err := strconv.Atoi(c.NUMA)
		if err != nil {
			return nil, fmt.Errorf("NCCL topology: numaid %q is not a number", c.NUMA)
		}
		for _, p := range c.PCI {
			out = append(out, below(p, []string{"cpu" + c.NUMA}, n, c.Affinity)...)
		}
	}
	return out, nil
}

func below(p xmlPCI, way []string, numa int, mask string) []Device {
	d := Device{Addr: p.BusID, Path: way, Kind: kindOf(p.Class, "NVIDIA"), NUMA: &numa, CPUs: mask}
	if d.Kind == Plain {
		d.Kind = NIC
	}
	out := []Device{d}
	way = append(way[:len(way):len(way)], p.BusID)
	for _, c := range p.PCI {
		out = append(out, below(c, way, numa, mask)...)
	}
	return out
}
