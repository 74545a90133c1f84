// Package collect looks at a node, as an ordinary user, and says what is true
// of it.
//
//	root directory + Runner ──Node──→ site.Facts        one node, natively or inside an image
//	srun + our own binary ──Cluster──→ []site.Facts     login node and compute nodes, one step
//	[]site.Facts + logs ──Save/Load──→ bundle.tar.gz    names and addresses replaced
//
// What cannot be seen stays nil. Nothing is written on the nodes except one
// empty file in /tmp that is removed at once, and nothing leaves the machine.
package collect

import (
	"context"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/site"
)

// Collector sees one node. Root is "/" for the real one; a captured tree holds
// the same paths and is looked at with programs answered by a runner.Fake.
type Collector struct {
	Root   string
	Run    runner.Runner
	Env    []string // NAME=value of our own process
	Now    func() time.Time
	Self   string // our own program, which nodes and images see under the same path
	Image  string // look inside this image too
	Inside bool   // we run inside an image
	NV     bool   // apptainer exec --nv
	Cred   string // munge credential that the login node made
}

// Node gives the facts of this node, and with an image those seen inside it.
func (c *Collector) Node(ctx context.Context) []site.Facts {
	f := site.Facts{Node: c.name()}
	if c.Inside {
		f.Image = c.Image
		f.Inside = c.inside(ctx)
	} else {
		f.Container = c.container(ctx)
		f.Slurm = c.slurm(ctx)
		f.Userns = c.userns(ctx)
		f.GPU = c.gpu(ctx)
	}
	f.System, f.Limits = c.system(ctx), c.limits()
	f.Disks, f.CPU, f.Network, f.RDMA = c.disks(), c.cpu(), c.network(), c.rdma(ctx)
	f.Env, f.Ranks = c.environment(), c.ranks()
	out := []site.Facts{f}
	if c.Image != "" && !c.Inside {
		in, why := c.enter(ctx)
		out[0].Container.ImageError = why
		out = append(out, in...)
	}
	return out
}

// name is how Slurm calls the node, else its host name.
func (c *Collector) name() string {
	if n := c.getenv("SLURMD_NODENAME"); n != "" {
		return n
	}
	if s, ok := c.text("proc/sys/kernel/hostname"); ok {
		return s
	}
	return "unknown"
}

func (c *Collector) getenv(name string) string {
	for _, kv := range c.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func (c *Collector) fs() fs.FS { return os.DirFS(c.Root) }

// text is a file's trimmed text; path has no leading slash.
func (c *Collector) text(path string) (string, bool) {
	b, err := fs.ReadFile(c.fs(), path)
	return strings.TrimSpace(string(b)), err == nil
}

func (c *Collector) textFact(path string) *site.Fact[string] {
	if s, ok := c.text(path); ok {
		return site.Of(s, "/"+path)
	}
	return nil
}

func (c *Collector) intFact(path string) *site.Fact[int] {
	s, ok := c.text(path)
	n, err := strconv.Atoi(s)
	if !ok || err != nil {
		return nil
	}
	return site.Of(n, "/"+path)
}

func (c *Collector) names(dir string) []string {
	entries, _ := fs.ReadDir(c.fs(), dir)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// programTime is how long one program may take; all are asked for a few lines.
const programTime = 10 * time.Second

// output is what a program says on stdout; ok when it ended well.
func (c *Collector) output(ctx context.Context, argv ...string) (string, bool) {
	if _, err := c.Run.Look(argv[0]); err != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	out, err := runner.Output(ctx, c.Run, argv...)
	return strings.TrimSpace(string(out)), err == nil
}

func (c *Collector) outputFact(ctx context.Context, argv ...string) *site.Fact[string] {
	if s, ok := c.output(ctx, argv...); ok {
		return site.Of(s, strings.Join(argv, " "))
	}
	return nil
}

func (c *Collector) proc() (procfs.FS, error) { return procfs.NewFS(c.Root + "/proc") }

func (c *Collector) limits() site.Limits {
	var l site.Limits
	p, err := c.proc()
	if err != nil {
		return l
	}
	self, err := p.Self()
	if err != nil {
		return l
	}
	v, err := self.Limits()
	if err != nil {
		return l
	}
	const source = "/proc/self/limits"
	return site.Limits{
		Memlock: site.Of(v.LockedMemory, source), OpenFiles: site.Of(v.OpenFiles, source),
		Stack: site.Of(v.StackSize, source), Processes: site.Of(v.Processes, source),
	}
}

func (c *Collector) system(ctx context.Context) site.System {
	s := site.System{
		Kernel:  c.textFact("proc/sys/kernel/osrelease"),
		Cmdline: c.cmdline(),
		OS:      c.osName(),
		Time:    site.Of(c.Now(), "clock"),
		UID:     site.Of(os.Getuid(), "getuid"),
	}
	if c.Inside {
		s.Arch = c.programArch()
	} else {
		s.Arch = c.outputFact(ctx, "uname", "-m")
	}
	if text, ok := c.output(ctx, "ldd", "--version"); ok {
		first, _, _ := strings.Cut(text, "\n")
		s.Glibc = site.Of(first[strings.LastIndexByte(first, ' ')+1:], "ldd --version")
	}
	if text, ok := c.text("proc/modules"); ok {
		var names []string
		for _, line := range strings.Split(text, "\n") {
			name, _, _ := strings.Cut(line, " ")
			names = append(names, name)
		}
		s.Modules = site.Of(names, "/proc/modules")
	}
	return s
}

// bootOptions are those that decide about DMA, memory and CPUs.
var bootOptions = []string{"iommu", "intel_iommu", "amd_iommu", "pci", "hugepages", "default_hugepagesz", "isolcpus", "nohz_full", "mitigations",
	"intel_idle", "processor.max_cstate", "numa_balancing", "transparent_hugepage", "systemd.unified_cgroup_hierarchy", "cgroup"}

func (c *Collector) cmdline() *site.Fact[string] {
	text, ok := c.text("proc/cmdline")
	if !ok {
		return nil
	}
	var keep []string
	for _, o := range strings.Fields(text) {
		if hasPrefix(o, bootOptions) {
			keep = append(keep, o)
		}
	}
	return site.Of(strings.Join(keep, " "), "/proc/cmdline")
}

func (c *Collector) osName() *site.Fact[string] {
	text, ok := c.text("etc/os-release")
	if !ok {
		return nil
	}
	for _, line := range strings.Split(text, "\n") {
		if v, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return site.Of(strings.Trim(v, `"`), "/etc/os-release")
		}
	}
	return nil
}

func (c *Collector) userns(ctx context.Context) site.Userns {
	u := site.Userns{
		Clone:    c.intFact("proc/sys/kernel/unprivileged_userns_clone"),
		Max:      c.intFact("proc/sys/user/max_user_namespaces"),
		AppArmor: c.intFact("proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
	}
	if _, err := c.Run.Look("unshare"); err == nil && os.Getuid() != 0 {
		_, ok := c.output(ctx, "unshare", "--user", "--map-root-user", "true")
		u.Works = site.Of(ok, "unshare --user --map-root-user true")
	}
	return u
}

// prefixes of variables that change how MPI, its transports and containers
// behave; values of other variables are nobody's business.
var prefixes = []string{"UCX_", "OMPI_", "PRTE_", "PMIX_", "NCCL_", "FI_", "APPTAINER_", "SINGULARITY_", "OMP_", "CUDA_", "MPICH_", "I_MPI_",
	"SLURM_CPU_BIND", "SLURM_MPI_TYPE", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NTASKS", "LD_PRELOAD", "TMPDIR"}

// secret variables carry tokens, whatever their prefix.
var secret = []string{"TOKEN", "PASSWORD", "PASSWD", "SECRET", "_KEY", "CREDENTIAL"}

func (c *Collector) environment() *site.Fact[[]string] {
	var out []string
	for _, kv := range c.Env {
		name, _, _ := strings.Cut(kv, "=")
		if hasPrefix(name, prefixes) && !contains(name, secret) {
			out = append(out, kv)
		}
	}
	return site.Of(out, "environment")
}

func hasPrefix(s string, list []string) bool {
	for _, p := range list {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func contains(s string, list []string) bool {
	for _, p := range list {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func access(path string, mode uint32) bool { return unix.Access(path, mode) == nil }
