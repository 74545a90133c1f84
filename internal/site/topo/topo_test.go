package topo

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func fixture(t testing.TB, name string) *bytes.Reader {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b)
}

func TestP5IsEightGroupsOfOneGPUAndFourNICs(t *testing.T) {
	d, err := ParseListing(fixture(t, "p5/sys_bus_pci_devices.txt"), fixture(t, "p5/lspci.txt"))
	if err != nil {
		t.Fatal(err)
	}
	groups := Groups(d)
	if len(groups) != 8 {
		t.Fatalf("%d groups, want 8", len(groups))
	}
	for _, g := range groups {
		if len(g.GPUs) != 1 || len(g.NICs) != 4 || g.Bridge == "" || g.NUMA != nil {
			t.Errorf("%+v", g)
		}
		for _, n := range g.NICs {
			if !strings.Contains(n.Name, "Elastic Fabric Adapter") {
				t.Errorf("%s is %q", n.Addr, n.Name)
			}
		}
	}
	if last := groups[7]; last.GPUs[0].Addr != "0000:ca:00.0" || last.NICs[0].Addr != "0000:c6:00.0" {
		t.Errorf("the last group: %+v", last)
	}
}

func TestP4dIsFourGroupsOfTwoGPUsAndOneNIC(t *testing.T) {
	d, err := ParseXML(fixture(t, "p4d-24xl-topo.xml"))
	if err != nil {
		t.Fatal(err)
	}
	groups := Groups(d)
	if len(groups) != 4 {
		t.Fatalf("%d groups, want 4: %+v", len(groups), groups)
	}
	for i, g := range groups {
		if len(g.GPUs) != 2 || len(g.NICs) != 1 || g.NUMA == nil || *g.NUMA != i/2 {
			t.Errorf("group %d: %+v", i, g)
		}
	}
}

// sysfs makes a synthetic tree: device address → way from devices/, class, NUMA.
func sysfs(t *testing.T, devices map[string][3]string) string {
	t.Helper()
	root := t.TempDir()
	bus := filepath.Join(root, "bus/pci/devices")
	must(t, os.MkdirAll(bus, 0o755))
	for addr, d := range devices {
		dir := filepath.Join(root, "devices", d[0], addr)
		must(t, os.MkdirAll(dir, 0o755))
		for name, v := range map[string]string{"class": d[1], "numa_node": d[2], "local_cpulist": "0-3", "vendor": "0x10de"} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(v+"\n"), 0o644))
		}
		must(t, os.Symlink(filepath.Join("../../../devices", d[0], addr), filepath.Join(bus, addr)))
	}
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSysfs(t *testing.T) {
	root := sysfs(t, map[string][3]string{
		"0000:10:00.0": {"pci0000:00/0000:00:01.0", "0x030200", "0"},
		"0000:11:00.0": {"pci0000:00/0000:00:01.0", "0x020700", "0"},
		"0000:20:00.0": {"pci0000:01/0000:01:01.0", "0x030200", "1"},
		"0000:21:00.0": {"pci0000:01/0000:01:01.0", "0x020000", "1"},
		"0000:22:00.0": {"pci0000:01/0000:01:02.0", "0x010802", "-1"},
	})
	must(t, os.MkdirAll(filepath.Join(root, "class/infiniband"), 0o755))
	must(t, os.Symlink("../../devices/pci0000:01/0000:01:01.0/0000:21:00.0/infiniband/mlx5_1", filepath.Join(root, "class/infiniband/mlx5_1")))
	d, err := Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	groups := Groups(d)
	if len(groups) != 2 || len(groups[1].NICs) != 1 || groups[1].NICs[0].Name != "mlx5_1" || *groups[1].NUMA != 1 || groups[1].CPUs != "0-3" {
		t.Errorf("%+v", groups)
	}
	if none, err := Read(os.DirFS(t.TempDir())); err != nil || len(none) != 0 {
		t.Errorf("without PCI: %v %v", none, err)
	}
}

func TestNICsAloneAreGroupedByNUMANode(t *testing.T) {
	zero, one := 0, 1
	groups := Groups([]Device{
		{Addr: "a", Kind: NIC, NUMA: &zero, Path: []string{"x"}}, {Addr: "b", Kind: NIC, NUMA: &one, Path: []string{"x"}},
		{Addr: "c", Kind: NIC, NUMA: &zero, Path: []string{"y"}}, {Addr: "d", Kind: Plain, NUMA: &zero},
	})
	if len(groups) != 2 || len(groups[0].NICs) != 2 || len(groups[1].NICs) != 1 {
		t.Errorf("%+v", groups)
	}
}

func TestBadListingsAreTold(t *testing.T) {
	if _, err := ParseListing(strings.NewReader("total 0\nlrwxrwxrwx 1 root root 0 Oct 14 x -> y\n"), strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
	for _, in := range []string{"", "<system>", `<system><cpu numaid="x"/></system>`, "<other/>"} {
		if _, err := ParseXML(strings.NewReader(in)); err == nil {
			t.Errorf("%q was taken", in)
		}
	}
}

func FuzzListing(f *testing.F) {
	links, tree := new(bytes.Buffer), new(bytes.Buffer)
	_, _ = links.ReadFrom(fixture(f, "p5/sys_bus_pci_devices.txt"))
	_, _ = tree.ReadFrom(fixture(f, "p5/lspci.txt"))
	f.Add(links.Bytes(), tree.Bytes())
	f.Fuzz(func(_ *testing.T, links, tree []byte) {
		d, _ := ParseListing(bytes.NewReader(links), bytes.NewReader(tree))
		Groups(d)
		d, _ = ParseXML(bytes.NewReader(tree))
		Groups(d)
	})
}
