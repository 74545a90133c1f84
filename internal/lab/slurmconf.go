package lab

import (
	_ "embed" // the templates
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/google/renameio/v2"
)

// The two forms of Slurm that a lab runs.
const (
	ModeCgroup    = "cgroup"    // proctrack/cgroup, task/affinity, true CPU count
	ModeLinuxproc = "linuxproc" // proctrack/linuxproc, no binding, CPUs as asked for
	ModeAuto      = "auto"
)

// FakeCPUs is how many CPUs a node of the linuxproc form has when nothing else
// is asked for.
const FakeCPUs = 8

// Slurm describes the lab's Slurm and why it is of that form.
type Slurm struct {
	Mode     string `json:"mode"`
	Reason   string `json:"reason"`
	CPUs     int    `json:"cpus"` // of each node
	Sockets  int    `json:"sockets"`
	Cores    int    `json:"cores_per_socket"`
	Threads  int    `json:"threads_per_core"`
	MemoryMB int    `json:"memory_mb"`
}

//go:embed files/slurm.conf.tmpl
var slurmConfText string

//go:embed files/cgroup-v1.conf
var cgroupV1Conf []byte

//go:embed files/cgroup-off.conf
var cgroupOffConf []byte

var slurmConfTemplate = template.Must(template.New("slurm.conf").Option("missingkey=error").Parse(slurmConfText))

// renderSlurmConf gives slurm.conf for n compute nodes.
func renderSlurmConf(s Slurm, n int) (string, error) {
	list := NodeName(1)
	if n > 1 {
		list = fmt.Sprintf("n[1-%d]", n)
	}
	var b strings.Builder
	err := slurmConfTemplate.Execute(&b, struct {
		Slurm
		NodeList string
	}{s, list})
	return b.String(), err
}

// writeSlurmConf writes the directory that every node sees as /etc/slurm.
func (l *Lab) writeSlurmConf(s Slurm, n int) error {
	dir := l.path("run", "etc")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := renderSlurmConf(s, n)
	if err != nil {
		return err
	}
	cgroup := cgroupOffConf
	if s.Mode == ModeCgroup {
		cgroup = cgroupV1Conf
	}
	if err := renameio.WriteFile(filepath.Join(dir, "slurm.conf"), []byte(text), 0o644); err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, "cgroup.conf"), cgroup, 0o644)
}

// topology is the machine's CPUs as slurm.conf describes a node.
type topology struct{ cpus, sockets, cores, threads int }

// readTopology counts sockets, cores and threads below /sys/devices/system/cpu
// (Documentation/admin-guide/cputopology.rst); an uneven machine is described
// as one socket of single-threaded cores.
func readTopology(sys fs.FS) (topology, error) {
	dirs, err := fs.Glob(sys, "devices/system/cpu/cpu[0-9]*")
	if err != nil {
		return topology{}, err
	}
	sockets, cores, cpus := map[string]bool{}, map[string]bool{}, 0
	for _, d := range dirs {
		socket, err1 := fs.ReadFile(sys, path.Join(d, "topology/physical_package_id"))
		core, err2 := fs.ReadFile(sys, path.Join(d, "topology/core_id"))
		if err1 != nil || err2 != nil {
			continue // offline: it has no topology
		}
		s := strings.TrimSpace(string(socket))
		sockets[s], cores[s+"/"+strings.TrimSpace(string(core))] = true, true
		cpus++
	}
	if cpus == 0 {
		return topology{}, fmt.Errorf("no CPU topology in /sys/devices/system/cpu")
	}
	t := topology{cpus, len(sockets), len(cores) / len(sockets), cpus / len(cores)}
	if t.sockets*t.cores*t.threads != cpus {
		t = topology{cpus, 1, cpus, 1}
	}
	return t, nil
}

// flat describes n CPUs as one socket of single-threaded cores.
func flat(n int) topology { return topology{n, 1, n, 1} }

func (t topology) slurm(mode, reason string, memoryMB int) Slurm {
	return Slurm{mode, reason, t.cpus, t.sockets, t.cores, t.threads, memoryMB}
}
