// Package slurm turns a launch plan into what Slurm is given, and what Slurm
// prints into values.
//
//	Plan ──Argv──→ srun … [apptainer exec …] program     one step
//	     ──Script→ an sbatch script of srun lines
//	scontrol, sinfo, squeue, sacct, srun text ──Parse…──→ Job, Node, Partition
//
// The arms of a comparison are the same Plan with another Target. The package
// is pure: it starts nothing and reads nothing.
package slurm

import "time"

// TargetKind says in which world a program runs.
type TargetKind string

// The three usual arms. Unpacked runs the image's own stack from its unpacked
// root without a container, which tells the cost of the container from the
// cost of another build.
const (
	Native    TargetKind = "native"
	Container TargetKind = "container"
	Unpacked  TargetKind = "unpacked"
)

// Target is where a plan's program comes from; everything else in a plan is
// the same in each arm.
type Target struct {
	Kind    TargetKind `json:"kind"`
	Image   string     `json:"image,omitempty"`   // .sif file or sandbox directory, absolute
	Root    string     `json:"root,omitempty"`    // unpacked root directory, absolute
	Loader  string     `json:"loader,omitempty"`  // unpacked: the image's own ld.so, absolute
	Library []string   `json:"library,omitempty"` // unpacked: the image's library directories, absolute
	Prefix  string     `json:"prefix,omitempty"`  // unpacked: where Open MPI was installed, absolute (ROOT/usr)
	Path    []string   `json:"path,omitempty"`    // native: directories put before PATH
	Modules []string   `json:"modules,omitempty"` // native: environment modules to load
	NV      bool       `json:"nv,omitempty"`      // container: apptainer --nv
	Options []string   `json:"options,omitempty"` // container: further apptainer exec options
	Start   Start      `json:"start,omitzero"`    // container: how ranks get in
}

// EnvVar is one environment variable of the program.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`         // any bytes but NUL; never evaluated by a shell
	Why   string `json:"why,omitempty"` // reason, when nearmetal set it
}

// Bind is a host path made visible in the container.
type Bind struct {
	Source   string `json:"source"`
	Dest     string `json:"dest,omitempty"` // "" is the same path
	ReadOnly bool   `json:"read_only,omitempty"`
	Why      string `json:"why,omitempty"` // reason, when nearmetal set it
}

// Plan is one job step. The zero value of a field leaves the choice to Slurm.
type Plan struct {
	JobName     string        `json:"job_name,omitempty"`
	Nodes       int           `json:"nodes,omitempty"`         // -N
	Ranks       int           `json:"ranks,omitempty"`         // -n
	PerNode     int           `json:"per_node,omitempty"`      // --ntasks-per-node
	CPUsPerTask int           `json:"cpus_per_task,omitempty"` // -c; passed on srun too: 22.05–23.02 drop sbatch's
	GPUsPerNode string        `json:"gpus_per_node,omitempty"` // --gpus-per-node: "4", "h100:4"
	GPUBind     string        `json:"gpu_bind,omitempty"`      // --gpu-bind
	NodeList    []string      `json:"node_list,omitempty"`     // -w
	Partition   string        `json:"partition,omitempty"`     // -p
	Account     string        `json:"account,omitempty"`       // -A
	QOS         string        `json:"qos,omitempty"`           // -q
	Time        time.Duration `json:"time,omitempty"`          // -t, rounded up to a minute
	Exclusive   bool          `json:"exclusive,omitempty"`     // whole nodes
	Overlap     bool          `json:"overlap,omitempty"`       // --overlap: beside another step
	MPI         string        `json:"mpi,omitempty"`           // --mpi: "pmix" unless set
	CPUBind     string        `json:"cpu_bind,omitempty"`      // --cpu-bind
	Distrib     string        `json:"distribution,omitempty"`  // -m
	Label       bool          `json:"label,omitempty"`         // --label
	SrunOptions []string      `json:"srun_options,omitempty"`  // passed on as they are
	Env         []EnvVar      `json:"env,omitempty"`           // for the program
	Binds       []Bind        `json:"binds,omitempty"`         // container only
	Workdir     string        `json:"workdir,omitempty"`       // working directory, both worlds
	Exact       bool          `json:"exact,omitempty"`         // --exact: only the CPUs asked for, so that steps share an allocation
	KillOnBad   bool          `json:"kill_on_bad,omitempty"`   // --kill-on-bad-exit=1: one dead rank ends the step
	Target      Target        `json:"target"`
	Program     []string      `json:"program"` // argument vector
}
