package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/site"
)

func liveCompare() []Check {
	return []Check{
		{Code: "LIV050", Key: "nodes-differ", Layer: "site", Severity: Warning,
			Title:  "a node differs from the others",
			Cause:  "Nodes of one job should be alike; this one is set up otherwise, by accident or half-way through an update.",
			Breaks: "jobs that work on some nodes and not on others",
			Fix:    []Fix{admin("bring the node to the state of the others, then: scontrol update nodename=NODE state=resume"), user("srun --exclude=NODE …   # until then")},
			Source: slurmDocs + "slurm.conf.html#OPT_Features", LiveScore: 60, DependsOn: explain,
			Live: oddOnes},
	}
}

// explain are causes that make a node differ in a trait of below.
var explain = []string{"memlock-limit", "slurm-no-pmix-plugin", "dev-shm-too-small", "tmp-full", "tmp-noexec", "tmp-read-only",
	"userns-disabled", "userns-restricted-apparmor", "ib-port-down", "ib-link-degraded", "nvidia-driver-lib-mismatch", "gpu-fell-off-bus"}

// trait is one thing in which nodes should be alike; "" when not observed.
type trait struct {
	name string
	of   func(site.Facts) (value, source string)
}

func text[T interface{}](get func(site.Facts) *site.Fact[T]) func(site.Facts) (string, string) {
	return func(f site.Facts) (string, string) {
		v := get(f)
		if v == nil {
			return "", ""
		}
		return fmt.Sprint(v.Value), v.Source
	}
}

var traits = []trait{
	{"kernel", text(func(f site.Facts) *site.Fact[string] { return f.System.Kernel })},
	{"operating system", text(func(f site.Facts) *site.Fact[string] { return f.System.OS })},
	{"glibc", text(func(f site.Facts) *site.Fact[string] { return f.System.Glibc })},
	{"architecture", text(func(f site.Facts) *site.Fact[string] { return f.System.Arch })},
	{"Slurm", text(func(f site.Facts) *site.Fact[string] { return f.Slurm.Version })},
	{"MPI plugins", text(func(f site.Facts) *site.Fact[[]string] { return f.Slurm.MPI })},
	{"PMIx plugins", text(func(f site.Facts) *site.Fact[[]string] { return f.Slurm.PMIx })},
	{"Apptainer", text(func(f site.Facts) *site.Fact[string] { return f.Container.Version })},
	{"setuid starter", text(func(f site.Facts) *site.Fact[bool] { return f.Container.Setuid })},
	{"user namespaces", text(func(f site.Facts) *site.Fact[bool] { return f.Userns.Works })},
	{"locked memory", text(func(f site.Facts) *site.Fact[uint64] { return f.Limits.Memlock })},
	{"open files", text(func(f site.Facts) *site.Fact[uint64] { return f.Limits.OpenFiles })},
	{"CPUs", text(func(f site.Facts) *site.Fact[int] { return f.CPU.Count })},
	{"CPU model", text(func(f site.Facts) *site.Fact[string] { return f.CPU.Model })},
	{"NUMA nodes", text(func(f site.Facts) *site.Fact[int] { return f.CPU.NUMANodes })},
	{"governor", text(func(f site.Facts) *site.Fact[string] { return f.CPU.Governor })},
	{"NUMA balancing", text(func(f site.Facts) *site.Fact[int] { return f.CPU.NUMABalancing })},
	{"huge pages", text(func(f site.Facts) *site.Fact[int] { return f.CPU.HugePages })},
	{"transparent huge pages", text(func(f site.Facts) *site.Fact[string] { return f.CPU.THP })},
	{"GPU driver", text(func(f site.Facts) *site.Fact[string] { return f.GPU.Driver })},
	{"OFED", text(func(f site.Facts) *site.Fact[string] { return f.RDMA.OFED })},
	{"size of /tmp", diskSize("/tmp")},
	{"size of /dev/shm", diskSize("/dev/shm")},
	{"options of /tmp", diskOptions("/tmp")},
	{"HCAs", hcaList},
	{"GPUs", gpuList},
	{"MTU of interfaces", mtus},
}

func diskSize(path string) func(site.Facts) (string, string) {
	return func(f site.Facts) (string, string) {
		d := f.Disks[path]
		if d == nil {
			return "", ""
		}
		return roughly(d.Value.Size), path
	}
}

// roughly keeps two digits: disks of one kind differ by a few blocks.
func roughly(n uint64) string {
	unit := uint64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return bytes(n / unit * unit)
}

func diskOptions(path string) func(site.Facts) (string, string) {
	return func(f site.Facts) (string, string) {
		d := f.Disks[path]
		if d == nil || d.Value.Options == nil {
			return "", ""
		}
		return strings.Join(d.Value.Options, ","), path
	}
}

func hcaList(f site.Facts) (string, string) {
	if f.RDMA.HCAs == nil {
		return "", ""
	}
	var out []string
	for _, h := range f.RDMA.HCAs.Value {
		out = append(out, fmt.Sprintf("%s/%d %s %.0f Gbit/s %s", h.HCA, h.Port, h.State, h.Gbps, h.PCIeNow))
	}
	return strings.Join(out, "; "), f.RDMA.HCAs.Source
}

func gpuList(f site.Facts) (string, string) {
	if f.GPU.Devices == nil {
		return "", ""
	}
	count := map[string]int{}
	for _, g := range f.GPU.Devices.Value {
		count[g.Name+" MIG "+g.MIG]++
	}
	return fmt.Sprint(count), f.GPU.Devices.Source
}

// mtus leaves virtual interfaces out, of which jobs have some and others not.
func mtus(f site.Facts) (string, string) {
	if f.Network.Interfaces == nil {
		return "", ""
	}
	var out []string
	for _, i := range f.Network.Interfaces.Value {
		if i.Carrier && !i.Virtual {
			out = append(out, fmt.Sprintf("%s %d", i.Name, i.MTU))
		}
	}
	return strings.Join(out, ", "), f.Network.Interfaces.Source
}

// oddOnes names, for each trait, the nodes that differ from the majority. Where
// no value has more than half of the nodes, as with two, all are shown.
func oddOnes(nodes []site.Facts) []Evidence {
	fs := slices.DeleteFunc(native(nodes), func(f site.Facts) bool { return f.Login })
	var out []Evidence
	for _, t := range traits {
		out = append(out, odd(fs, t)...)
	}
	return out
}

const maxOdd = 20 // nodes named for each trait

func odd(fs []site.Facts, t trait) []Evidence {
	count := map[string]int{}
	seen := 0
	for _, f := range fs {
		if v, _ := t.of(f); v != "" {
			count[v]++
			seen++
		}
	}
	if len(count) < 2 {
		return nil
	}
	usual := ""
	for v, n := range count {
		if 2*n > seen {
			usual = v
		}
	}
	var out []Evidence
	for _, f := range fs {
		v, source := t.of(f)
		if v == "" || v == usual || len(out) == maxOdd {
			continue
		}
		why := fmt.Sprintf("%s: %s", t.name, v)
		if usual != "" {
			why += fmt.Sprintf("; %d of %d nodes have %s", count[usual], seen, usual)
		}
		out = append(out, Evidence{File: place(f, source), Text: why})
	}
	return out
}
