package collect

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/site"
)

// tree writes a root directory; contents are synthetic, in the forms of
// Documentation/ABI/stable/sysfs-class-infiniband, proc(5) and apptainer.conf.
func tree(t *testing.T, files map[string]string) *Collector {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &Collector{Root: root, Run: runner.NewFake(t), Env: []string{"USER=alice", "SLURMD_NODENAME=n7"}, Now: time.Now}
}

func TestHCAs(t *testing.T) {
	const dev = "sys/class/infiniband/mlx5_0/"
	c := tree(t, map[string]string{
		dev + "board_id": "MT_0000000223\n", dev + "fw_ver": "20.31.1014\n", dev + "hca_type": "MT4123\n", dev + "node_guid": "0002:c903:0000:0001\n",
		dev + "ports/1/state": "4: ACTIVE\n", dev + "ports/1/phys_state": "5: LinkUp\n", dev + "ports/1/rate": "200 Gb/sec (4X HDR)\n",
		dev + "ports/1/link_layer":                   "Ethernet\n",
		dev + "ports/1/counters/link_error_recovery": "3\n", dev + "ports/1/counters/symbol_error": "0\n",
		dev + "ports/1/gids/0":            "fe80:0000:0000:0000:0e42:a1ff:fe00:0001\n",
		dev + "ports/1/gids/3":            "0000:0000:0000:0000:0000:ffff:0a01:0203\n",
		dev + "ports/1/gids/4":            "0000:0000:0000:0000:0000:0000:0000:0000\n",
		dev + "ports/1/gid_attrs/types/0": "IB/RoCE v1\n", dev + "ports/1/gid_attrs/types/3": "RoCE v2\n",
		dev + "ports/1/pkeys/0": "0xffff\n", dev + "ports/1/pkeys/1": "0x0000\n",
		dev + "device/current_link_speed": "8.0 GT/s PCIe\n", dev + "device/current_link_width": "8\n",
		dev + "device/max_link_speed": "16.0 GT/s PCIe\n", dev + "device/max_link_width": "16\n", dev + "device/numa_node": "1\n",
		dev + "device/net/eth2/mtu": "9000\n",
	})
	want := []site.HCAPort{{
		HCA: "mlx5_0", Port: 1, LinkLayer: "Ethernet", State: "ACTIVE", Phys: "LinkUp", Gbps: 200, Firmware: "20.31.1014", Board: "MT_0000000223", MTU: 9000,
		GIDs:     []string{"0 fe80:0000:0000:0000:0e42:a1ff:fe00:0001", "3 0000:0000:0000:0000:0000:ffff:0a01:0203"},
		GIDTypes: []string{"IB/RoCE v1", "RoCE v2"}, PKeys: []string{"0xffff"}, Errors: map[string]uint64{"link_error_recovery": 3},
		PCIeNow: "8.0 GT/s x8", PCIeMax: "16.0 GT/s x16", NUMA: 1,
	}}
	if got := c.hcas(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestRanksAreTheUsersOwnTasks(t *testing.T) {
	env := func(step, rank, more string) string {
		return "SLURM_JOB_ID=12\x00SLURM_STEP_ID=" + step + "\x00SLURM_PROCID=" + rank + "\x00SLURM_STEP_NUM_TASKS=2\x00" + more
	}
	status := "Name:\tx\nCpus_allowed_list:\t0\n"
	c := tree(t, map[string]string{
		"proc/100/environ": env("0", "1", ""), "proc/100/cmdline": "/usr/bin/mpirun\x00-np\x002\x00x\x00", "proc/100/status": status,
		"proc/99/environ": env("0", "0", "APPTAINER_SHARENS=1"), "proc/99/cmdline": "./x\x00", "proc/99/status": status,
		"proc/101/environ": env("1", "0", collecting+"=1"), "proc/101/cmdline": "nearmetal\x00", "proc/101/status": status,
		"proc/102/environ": "HOME=/root\x00", "proc/102/cmdline": "sh\x00",
		"proc/103/environ": env("batch", "0", ""), "proc/103/cmdline": "sh\x00",
	})
	want := []site.Rank{
		{Step: "12.0", Rank: 0, PID: 99, Program: "./x", CPUs: "0", Tasks: 2, Sharens: true},
		{Step: "12.0", Rank: 1, PID: 100, Program: "/usr/bin/mpirun -np 2 x", CPUs: "0", Tasks: 2},
	}
	if got := c.ranks(); !slices.Equal(got.Value, want) {
		t.Errorf("%+v", got.Value)
	}
}

func TestFilesOfARoot(t *testing.T) {
	c := tree(t, map[string]string{
		"etc/apptainer/apptainer.conf": "# x\nmax loop devices = 64\n", "etc/subuid": "bob:100000:65536\nalice:165536:65536\n",
		"etc/os-release": "ID=debian\nPRETTY_NAME=\"Debian 13\"\n", "usr/libexec/apptainer/bin/squashfuse_ll": "",
		"proc/cmdline":        "root=UUID=secret quiet intel_iommu=on pci=noacs\n",
		"proc/self/mountinfo": "1 0 0:1 / / rw - ext4 /dev/sda rw\n2 1 0:2 / /tmp rw,noexec - tmpfs tmpfs rw\n3 2 0:3 / /tmp rw - tmpfs tmpfs ro,size=1m\n4 1 0:4 / /tmpfoo rw - xfs x rw\n",
	})
	if got := c.loopDevices(); got == nil || got.Value != 64 {
		t.Errorf("loop devices %v", got)
	}
	if got := c.subuid(); got == nil || !got.Value {
		t.Errorf("subuid %v", got)
	}
	if got := c.osName(); got == nil || got.Value != "Debian 13" {
		t.Errorf("os %v", got)
	}
	if !c.squashfuse().Value || c.setuid().Value {
		t.Errorf("squashfuse %v, setuid %v", c.squashfuse(), c.setuid())
	}
	if got := c.cmdline(); got.Value != "intel_iommu=on pci=noacs" {
		t.Errorf("cmdline %q", got.Value)
	}
	if m, fs, o := c.mounted("/tmp/x"); m != "/tmp" || fs != "tmpfs" || !slices.Equal(o, []string{"rw", "ro"}) {
		t.Errorf("mounted %s %s %q", m, fs, o)
	}
	if m, _, _ := c.mounted("/var/tmp"); m != "/" || c.name() != "n7" {
		t.Errorf("mounted %s, name %s", m, c.name())
	}
}

// TestNothingIsInvented: of an empty root nothing is observed.
func TestNothingIsInvented(t *testing.T) {
	c := tree(t, nil)
	if c.hcas() != nil || c.loopDevices() != nil || c.subuid() != nil || c.osName() != nil || c.cmdline() != nil || c.network().Interfaces != nil || c.programArch() != nil {
		t.Error("something was observed in an empty root")
	}
}
