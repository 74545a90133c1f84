package site

import "time"

// Fact is an observed value and where it came from, a path or a command. A nil
// *Fact was not observed, which is never the same as zero.
type Fact[T any] struct {
	Value  T      `json:"value"`
	Source string `json:"source"`
}

// Of makes a fact.
func Of[T any](v T, source string) *Fact[T] { return &Fact[T]{v, source} }

// Facts is what is true of one node, seen natively or inside an image.
type Facts struct {
	Node  string `json:"node"`
	Image string `json:"image,omitempty"` // "" natively
	Login bool   `json:"login,omitempty"` // seen where the command was started, not in a step

	System    System               `json:"system"`
	Limits    Limits               `json:"limits"`
	Userns    Userns               `json:"userns"`
	Container Container            `json:"container"`
	Disks     map[string]*Fact[FS] `json:"disks,omitempty"` // by mount point asked for: /tmp, /dev/shm, $TMPDIR
	Slurm     Slurm                `json:"slurm"`
	Launch    *Launch              `json:"launch,omitempty"` // login node only
	CPU       CPU                  `json:"cpu"`
	Network   Network              `json:"network"`
	RDMA      RDMA                 `json:"rdma"`
	GPU       GPU                  `json:"gpu"`
	Inside    Inside               `json:"inside"` // of an image, seen from inside
	Env       *Fact[[]string]      `json:"env,omitempty"`
	Ranks     *Fact[[]Rank]        `json:"ranks,omitempty"` // the user's own processes of Slurm steps
}

// System is the operating system.
type System struct {
	Kernel *Fact[string]    `json:"kernel,omitempty"`
	OS     *Fact[string]    `json:"os,omitempty"`
	Arch   *Fact[string]    `json:"arch,omitempty"` // uname -m
	Glibc  *Fact[string]    `json:"glibc,omitempty"`
	Time   *Fact[time.Time] `json:"time,omitempty"`
	// Skew is how many seconds the clock is ahead of the login node's, beyond what the launch took.
	Skew    *Fact[float64]  `json:"skew,omitempty"`
	Cmdline *Fact[string]   `json:"cmdline,omitempty"` // kernel's
	Modules *Fact[[]string] `json:"modules,omitempty"`
	UID     *Fact[int]      `json:"uid,omitempty"`
}

// Unlimited is a limit that is none.
const Unlimited = ^uint64(0)

// Limits of the process that looked, which in a step are the step's.
type Limits struct {
	Memlock   *Fact[uint64] `json:"memlock,omitempty"` // bytes, soft limit
	OpenFiles *Fact[uint64] `json:"open_files,omitempty"`
	Stack     *Fact[uint64] `json:"stack,omitempty"` // bytes
	Processes *Fact[uint64] `json:"processes,omitempty"`
}

// Userns is whether an ordinary user may make user namespaces, and what says so.
type Userns struct {
	Clone    *Fact[int]  `json:"clone,omitempty"`    // kernel.unprivileged_userns_clone
	Max      *Fact[int]  `json:"max,omitempty"`      // user.max_user_namespaces
	AppArmor *Fact[int]  `json:"apparmor,omitempty"` // kernel.apparmor_restrict_unprivileged_userns
	Works    *Fact[bool] `json:"works,omitempty"`    // tried
}

// Container is what running images as an ordinary user needs.
type Container struct {
	Version     *Fact[string] `json:"version,omitempty"`
	Setuid      *Fact[bool]   `json:"setuid,omitempty"` // starter-suid is there and setuid
	SubUID      *Fact[bool]   `json:"subuid,omitempty"` // the user has a line in /etc/subuid
	FuseMode    *Fact[string] `json:"fuse_mode,omitempty"`
	FuseOpens   *Fact[bool]   `json:"fuse_opens,omitempty"`
	Squashfuse  *Fact[bool]   `json:"squashfuse,omitempty"`
	LoopDevices *Fact[int]    `json:"loop_devices,omitempty"` // max loop devices of apptainer.conf
	ImageReads  *Fact[bool]   `json:"image_reads,omitempty"`
	ImageArch   *Fact[string] `json:"image_arch,omitempty"`  // uname -m of the image's programs
	ImageError  *Fact[string] `json:"image_error,omitempty"` // why nothing could be seen inside
}

// FS is a mounted file system; sizes in bytes.
type FS struct {
	Type     string   `json:"type"`
	Options  []string `json:"options"`
	Size     uint64   `json:"size"`
	Free     uint64   `json:"free"`   // for an ordinary user
	Inodes   uint64   `json:"inodes"` // free
	Writable bool     `json:"writable"`
	Mount    string   `json:"mount"` // where it is mounted
}

// Slurm as seen from the node.
type Slurm struct {
	Version   *Fact[string]            `json:"version,omitempty"`
	Config    *Fact[map[string]string] `json:"config,omitempty"`
	MPI       *Fact[[]string]          `json:"mpi,omitempty"`  // srun --mpi=list on this node
	PMIx      *Fact[[]string]          `json:"pmix,omitempty"` // "pmix_v5" …
	States    *Fact[[]NodeState]       `json:"states,omitempty"`
	Munge     *Fact[string]            `json:"munge,omitempty"`      // unmunge's status word for the login node's credential
	MungeTime *Fact[int64]             `json:"munge_time,omitempty"` // what time munged thought it was, Unix seconds
	MungeSkew *Fact[float64]           `json:"munge_skew,omitempty"` // the same for munged's clock
	Step      *Fact[string]            `json:"step,omitempty"`       // JOB.STEP
}

// NodeState is a node as slurmctld sees it.
type NodeState struct {
	Node   string `json:"node"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
}

// Launch is how the step that collects went.
type Launch struct {
	Command  string   `json:"command"`
	ExitCode int      `json:"exit_code"`
	Said     []string `json:"said,omitempty"`   // stderr of srun
	Silent   []string `json:"silent,omitempty"` // nodes that could not be started on
	Asked    int      `json:"asked,omitempty"`  // nodes asked for
	Answered int      `json:"answered,omitempty"`
}

// CPU and memory.
type CPU struct {
	Model         *Fact[string]  `json:"model,omitempty"`
	Count         *Fact[int]     `json:"count,omitempty"`   // of the machine
	Allowed       *Fact[string]  `json:"allowed,omitempty"` // Cpus_allowed_list of the step
	Governor      *Fact[string]  `json:"governor,omitempty"`
	NUMANodes     *Fact[int]     `json:"numa_nodes,omitempty"`
	NUMABalancing *Fact[int]     `json:"numa_balancing,omitempty"`
	HugePages     *Fact[int]     `json:"huge_pages,omitempty"`
	THP           *Fact[string]  `json:"thp,omitempty"`
	MemTotal      *Fact[uint64]  `json:"mem_total,omitempty"` // bytes
	SpinMS        *Fact[float64] `json:"spin_ms,omitempty"`   // best wall time of a fixed piece of work, ms
	SpinBest      *Fact[float64] `json:"spin_best,omitempty"` // its best CPU time, ms
	SpinCPU       *Fact[float64] `json:"spin_cpu,omitempty"`  // share of that time that we had a CPU, 0 to 1
}

// Network interfaces and names.
type Network struct {
	Interfaces *Fact[[]Interface] `json:"interfaces,omitempty"`
	Resolves   *Fact[[]string]    `json:"resolves,omitempty"` // addresses of the node's own name
}

// Interface is one network interface.
type Interface struct {
	Name    string   `json:"name"`
	Up      bool     `json:"up"`
	Carrier bool     `json:"carrier"`
	MTU     int      `json:"mtu"`
	Speed   int      `json:"speed,omitempty"` // Mbit/s, 0 unknown
	Addrs   []string `json:"addrs,omitempty"` // CIDR
	Virtual bool     `json:"virtual,omitempty"`
}

// RDMA hardware and its user space.
type RDMA struct {
	HCAs      *Fact[[]HCAPort] `json:"hcas,omitempty"`
	UVerbs    *Fact[[]string]  `json:"uverbs,omitempty"` // devices of /dev/infiniband
	Opens     *Fact[bool]      `json:"opens,omitempty"`  // the first of them can be opened
	Providers *Fact[[]string]  `json:"providers,omitempty"`
	ABI       *Fact[int]       `json:"abi,omitempty"` // /sys/class/infiniband_verbs/abi_version
	Core      *Fact[string]    `json:"core,omitempty"`
	OFED      *Fact[string]    `json:"ofed,omitempty"`
}

// HCAPort is one port of a host channel adapter.
type HCAPort struct {
	HCA       string            `json:"hca"`
	Port      int               `json:"port"`
	LinkLayer string            `json:"link_layer"`
	State     string            `json:"state"`
	Phys      string            `json:"phys"`
	Gbps      float64           `json:"gbps"`
	Firmware  string            `json:"firmware,omitempty"`
	Board     string            `json:"board,omitempty"`
	MTU       int               `json:"mtu,omitempty"` // of the network interface of a RoCE port
	GIDs      []string          `json:"gids,omitempty"`
	GIDTypes  []string          `json:"gid_types,omitempty"`
	PKeys     []string          `json:"pkeys,omitempty"`
	Errors    map[string]uint64 `json:"errors,omitempty"`
	PCIeNow   string            `json:"pcie_now,omitempty"` // "16.0 GT/s x16"
	PCIeMax   string            `json:"pcie_max,omitempty"`
	NUMA      int               `json:"numa"`
}

// GPU driver and devices.
type GPU struct {
	Driver  *Fact[string]      `json:"driver,omitempty"`
	Devices *Fact[[]GPUDevice] `json:"devices,omitempty"`
	Error   *Fact[string]      `json:"error,omitempty"`
}

// GPUDevice is one GPU as nvidia-smi shows it.
type GPUDevice struct {
	Index       int    `json:"index"`
	Name        string `json:"name"`
	GenNow      string `json:"gen_now"`
	GenMax      string `json:"gen_max"`
	WidthNow    string `json:"width_now"`
	WidthMax    string `json:"width_max"`
	MIG         string `json:"mig"`
	ECC         string `json:"ecc"`
	Uncorrected string `json:"uncorrected"`
	Persistence string `json:"persistence"`
}

// Inside is what only a look into the image tells.
type Inside struct {
	HostArch *Fact[string]   `json:"host_arch,omitempty"` // uname -m of the kernel below
	MPI      *Fact[string]   `json:"mpi,omitempty"`
	PMIx     *Fact[string]   `json:"pmix,omitempty"`
	UCX      *Fact[string]   `json:"ucx,omitempty"`
	CUDA     *Fact[string]   `json:"cuda,omitempty"`
	Double   *Fact[[]string] `json:"double,omitempty"`  // libraries that one program loads twice
	Missing  *Fact[[]string] `json:"missing,omitempty"` // libraries that ldd does not find
	Spool    *Fact[bool]     `json:"spool,omitempty"`   // PMIX_SERVER_TMPDIR is visible
}

// Rank is a process of the user in a Slurm step.
type Rank struct {
	Step    string `json:"step"` // JOB.STEP
	Rank    int    `json:"rank"`
	PID     int    `json:"pid"`
	Program string `json:"program"` // argument vector, blank-joined, cut at 200 bytes
	CPUs    string `json:"cpus"`    // Cpus_allowed_list
	Tasks   int    `json:"tasks"`   // ranks of the step, SLURM_NTASKS
	PerNode int    `json:"per_node"`
	Sharens bool   `json:"sharens,omitempty"` // APPTAINER_SHARENS is set
}
