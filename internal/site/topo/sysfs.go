package topo

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Read reads sysfs; root is /sys. A machine without PCI has no devices, which
// is no error. Links must be readable: os.DirFS is, in Go 1.25 and later.
func Read(root fs.FS) ([]Device, error) {
	const dir = "bus/pci/devices"
	entries, err := fs.ReadDir(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("/sys/%s: %w", dir, err)
	}
	rdma, nets := owners(root, "class/infiniband"), owners(root, "class/net")
	var out []Device
	for _, e := range entries {
		link, err := fs.ReadLink(root, path.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("/sys/%s/%s: %w", dir, e.Name(), err)
		}
		d, err := readDevice(root, path.Join(dir, link))
		if err != nil {
			return nil, err
		}
		if name, ok := rdma[d.Addr]; ok {
			d.Kind, d.Name = NIC, name
		} else if name, ok := nets[d.Addr]; ok && d.Kind == Plain {
			d.Name = name
		}
		out = append(out, d)
	}
	return out, nil
}

// readDevice reads one device's folder below devices/.
func readDevice(root fs.FS, dir string) (Device, error) {
	d := Device{Addr: path.Base(dir), Path: bridges(dir)}
	class, err := fs.ReadFile(root, path.Join(dir, "class"))
	if err != nil {
		return d, fmt.Errorf("/sys/%s/class: %w", dir, err)
	}
	vendor := ""
	if text(root, dir, "vendor") == "0x10de" {
		vendor = "NVIDIA"
	}
	d.Kind = kindOf(strings.TrimSpace(string(class)), vendor)
	d.CPUs = text(root, dir, "local_cpulist")
	if n, err := strconv.Atoi(text(root, dir, "numa_node")); err == nil && n >= 0 {
		d.NUMA = &n
	}
	return d, nil
}

func text(root fs.FS, dir, name string) string {
	b, err := fs.ReadFile(root, path.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// owners maps PCI addresses to the class devices that they carry.
func owners(root fs.FS, dir string) map[string]string {
	out := map[string]string{}
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return out // no such class here
	}
	for _, e := range entries {
		link, err := fs.ReadLink(root, path.Join(dir, e.Name()))
		if err != nil {
			continue // bonding_masters is a file
		}
		for _, part := range strings.Split(link, "/") {
			if isAddr(part) { // the last one wins: the function itself
				out[part] = e.Name()
			}
		}
	}
	return out
}

// bridges are the root complex and the bridges of a path below devices/.
func bridges(p string) []string {
	var out []string
	parts := strings.Split(p, "/")
	for _, part := range parts[:len(parts)-1] {
		if strings.HasPrefix(part, "pci") && strings.Contains(part, ":") || isAddr(part) {
			out = append(out, part)
		}
	}
	return out
}

// isAddr knows DDDD:BB:DD.F.
func isAddr(s string) bool {
	return len(s) >= 12 && strings.Count(s, ":") == 2 && s[len(s)-2] == '.'
}
