package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nearmetal/nearmetal/internal/site"
)

// healthy are the facts of a cluster of which nothing is wrong: a login node
// and two compute nodes, each natively and inside an image
// (testdata/live/README.md).
func healthy(t *testing.T) []site.Facts {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "live", "healthy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fs []site.Facts
	if err := json.Unmarshal(b, &fs); err != nil {
		t.Fatal(err)
	}
	return fs
}

// Places in healthy.json.
const (
	login = iota
	one
	oneInside
	two
)

// spoiled changes healthy facts so that a cause is to be seen; by its key.
var spoiled = map[string]func([]site.Facts){
	"memlock-limit":        func(fs []site.Facts) { fs[two].Limits.Memlock.Value = 64 << 10 },
	"slurm-no-pmix-plugin": func(fs []site.Facts) { fs[two].Slurm.MPI.Value = []string{"none", "pmi2"} },
	"munge-key-mismatch":   func(fs []site.Facts) { fs[two].Slurm.Munge.Value = "Invalid credential" },
	"munged-not-running": func(fs []site.Facts) {
		fs[two].Slurm.Munge.Value = `Failed to access "/run/munge/munge.socket.2": No such file or directory`
	},
	"munge-clock-skew": func(fs []site.Facts) { fs[two].Slurm.MungeSkew.Value = -119 },
	"nodes-silent":     func(fs []site.Facts) { fs[login].Launch.Answered-- },
	"slurm-node-down": func(fs []site.Facts) {
		fs[login].Launch.Answered--
		fs[login].Slurm.States.Value[1].State = "down*"
	},
	"nested-mpirun-under-srun": func(fs []site.Facts) {
		fs[one].Ranks = site.Of([]site.Rank{{Step: "7.0", Rank: 0, Tasks: 2, Program: "/usr/bin/mpirun -np 2 x"}}, "proc")
		fs[two].Ranks = site.Of([]site.Rank{{Step: "7.0", Rank: 1, Tasks: 2, Program: "/usr/bin/mpirun -np 2 x"}}, "proc")
	},
	"pmix-gds-forced":   func(fs []site.Facts) { fs[one].Env.Value = append(fs[one].Env.Value, "PMIX_MCA_gds=ds21") },
	"dev-shm-too-small": func(fs []site.Facts) { fs[two].Disks["/dev/shm"].Value.Size = 1 << 20 },
	"tmp-full":          func(fs []site.Facts) { fs[two].Disks["/tmp"].Value.Free = 0 },
	"tmp-noexec":        func(fs []site.Facts) { fs[two].Disks["/tmp"].Value.Options = []string{"rw", "noexec"} },
	"tmp-read-only":     func(fs []site.Facts) { fs[two].Disks["/tmp"].Value.Writable = false },
	"userns-disabled":   func(fs []site.Facts) { fs[two].Userns.Works.Value = false },
	"userns-restricted-apparmor": func(fs []site.Facts) {
		fs[two].Userns.Works.Value = false
		fs[two].Userns.AppArmor = site.Of(1, "sysctl")
	},
	"squashfuse-missing": func(fs []site.Facts) { fs[two].Container.Squashfuse.Value = false },
	"fuse-mount-denied":  func(fs []site.Facts) { fs[two].Container.FuseOpens.Value = false },
	"mpi-mixed-libraries": func(fs []site.Facts) {
		fs[oneInside].Inside.Double.Value = []string{"/a/libmpi.so.12 and /b/libmpi.so.40"}
	},
	"mpi-library-not-found":    func(fs []site.Facts) { fs[oneInside].Inside.Missing.Value = []string{"libmpi.so.40"} },
	"image-wrong-architecture": func(fs []site.Facts) { fs[oneInside].System.Arch.Value = "aarch64" },
	"sharens-race":             func(fs []site.Facts) { fs[one].Env.Value = append(fs[one].Env.Value, "APPTAINER_SHARENS=1") },
	"image-unreadable":         func(fs []site.Facts) { fs[two].Container.ImageReads.Value = false },
	"ompi-tcp-wrong-interface": func(fs []site.Facts) {
		for _, i := range []int{one, two} {
			n := fs[i].Network.Interfaces
			n.Value = append(n.Value, site.Interface{Name: "virbr0", Up: true, Addrs: []string{"192.168.122.1/24"}, Virtual: true})
		}
	},
	"hostname-not-resolved": func(fs []site.Facts) { fs[two].Network.Resolves.Value = []string{"127.0.1.1"} },
	"infiniband-not-bound":  func(fs []site.Facts) { fs[one].RDMA.UVerbs = site.Of([]string{"uverbs0"}, "/dev/infiniband") },
	"ib-port-down":          hca(func(h *site.HCAPort) { h.State, h.Phys = "DOWN", "Polling" }),
	"ib-link-degraded":      hca(func(h *site.HCAPort) { h.PCIeNow = "8.0 GT/s x8" }),
	"ib-errors-counters":    hca(func(h *site.HCAPort) { h.Errors = map[string]uint64{"link_error_recovery": 3} }),
	"roce-wrong-gid-index": func(fs []site.Facts) {
		hca(func(h *site.HCAPort) {
			h.LinkLayer, h.GIDs, h.GIDTypes = "Ethernet", []string{"0 fe80::1"}, []string{"IB/RoCE v1"}
		})(fs)
		fs[two].Env.Value = append(fs[two].Env.Value, "NCCL_IB_GID_INDEX=0")
	},
	"gdr-module-missing": func(fs []site.Facts) {
		hca(func(*site.HCAPort) {})(fs)
		fs[two].System.Kernel.Value, fs[two].System.Modules = "4.18.0-553.el8", site.Of([]string{"mlx5_core"}, "/proc/modules")
		fs[two].GPU.Driver = site.Of("NVRM version", "/proc/driver/nvidia/version")
	},
	"hca-firmware-old": func(fs []site.Facts) {
		for i, v := range map[int]string{one: "20.31.1014", two: "20.28.1002"} {
			fs[i].Limits.Memlock.Value = site.Unlimited
			fs[i].RDMA.HCAs = site.Of([]site.HCAPort{{HCA: "mlx5_0", Port: 1, State: "ACTIVE", Board: "MT_0000000223", Firmware: v}}, "/sys/class/infiniband")
		}
	},
	"ranks-on-one-core": func(fs []site.Facts) {
		fs[one].Ranks = site.Of([]site.Rank{{Step: "7.0", Rank: 0, Tasks: 2, CPUs: "3", Program: "x"}, {Step: "7.0", Rank: 1, Tasks: 2, CPUs: "3", Program: "x"}}, "proc")
	},
	"node-slow": func(fs []site.Facts) { fs[two].CPU.SpinMS.Value = fs[one].CPU.SpinMS.Value * 4 },
	"numa-balancing-on": func(fs []site.Facts) {
		fs[one].CPU.NUMANodes.Value, fs[one].CPU.NUMABalancing.Value = 2, 1
	},
	"cpu-governor-powersave": func(fs []site.Facts) { fs[one].CPU.Governor = site.Of("powersave", "sysfs") },
	"nvidia-driver-lib-mismatch": func(fs []site.Facts) {
		fs[one].GPU.Error = site.Of("Failed to initialize NVML: Driver/library version mismatch", "nvidia-smi")
	},
	"gpu-fell-off-bus": func(fs []site.Facts) {
		fs[one].GPU.Error = site.Of("Unable to determine the device handle for GPU0", "nvidia-smi")
	},
	"gpu-ecc-error":       gpu(func(g *site.GPUDevice) { g.Uncorrected = "4" }),
	"gpu-pcie-narrow":     gpu(func(g *site.GPUDevice) { g.WidthNow = "8" }),
	"gpu-persistence-off": gpu(func(g *site.GPUDevice) { g.Persistence = "Disabled" }),
	"nodes-differ":        func(fs []site.Facts) { fs[two].System.Kernel.Value = "5.14.0" },
}

// hca gives the second node a healthy port and changes it; what is not changed
// is no finding (TestHealthyHardware).
func hca(change func(*site.HCAPort)) func([]site.Facts) {
	return func(fs []site.Facts) {
		h := site.HCAPort{HCA: "mlx5_0", Port: 1, LinkLayer: "InfiniBand", State: "ACTIVE", Phys: "LinkUp", Gbps: 200, PCIeNow: "16.0 GT/s x16", PCIeMax: "16.0 GT/s x16"}
		change(&h)
		fs[two].Limits.Memlock.Value = site.Unlimited
		fs[two].RDMA.HCAs = site.Of([]site.HCAPort{h}, "/sys/class/infiniband")
	}
}

func gpu(change func(*site.GPUDevice)) func([]site.Facts) {
	return func(fs []site.Facts) {
		g := site.GPUDevice{Name: "H200", WidthNow: "16", WidthMax: "16", GenNow: "1", GenMax: "5", Uncorrected: "0", Persistence: "Enabled"}
		change(&g)
		fs[two].GPU.Devices = site.Of([]site.GPUDevice{g}, "nvidia-smi")
	}
}

func liveKeys(t *testing.T, fs []site.Facts) []string {
	t.Helper()
	var keys []string
	for _, c := range All() {
		if c.Live != nil && len(c.Live(fs)) > 0 {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

func TestHealthyFactsRaiseNothing(t *testing.T) {
	if got := liveKeys(t, healthy(t)); len(got) > 0 {
		t.Errorf("false alarms: %q", got)
	}
}

func TestHealthyHardwareRaisesNothing(t *testing.T) {
	fs := healthy(t)
	hca(func(*site.HCAPort) {})(fs)
	gpu(func(*site.GPUDevice) {})(fs)
	fs[one].Limits, fs[one].RDMA, fs[one].GPU = fs[two].Limits, fs[two].RDMA, fs[two].GPU
	if got := liveKeys(t, fs); len(got) > 0 {
		t.Errorf("false alarms: %q", got)
	}
}

// TestEverySeerSees: each check with eyes has a spoiled cluster in which it is
// found, and nothing else is but a difference between nodes.
func TestEverySeerSees(t *testing.T) {
	for _, c := range live() {
		if c.Live == nil {
			continue
		}
		spoil := spoiled[c.Key]
		if spoil == nil {
			t.Errorf("%s: no facts that show it", c.Key)
			continue
		}
		fs := healthy(t)
		spoil(fs)
		got := liveKeys(t, fs)
		if !slices.Contains(got, c.Key) {
			t.Errorf("%s: not seen, only %q", c.Key, got)
		}
		rest := slices.DeleteFunc(got, func(k string) bool { return k == c.Key || k == "nodes-differ" || k == "nodes-silent" })
		if len(rest) > 0 {
			t.Errorf("%s: also %q", c.Key, rest)
		}
	}
}

// TestNothingObservedRaisesNothing: nil is not zero.
func TestNothingObservedRaisesNothing(t *testing.T) {
	fs := []site.Facts{{Node: "login", Login: true}, {Node: "n1"}, {Node: "n1", Image: "x.sif"}, {Node: "n2"}}
	if got := liveKeys(t, fs); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
