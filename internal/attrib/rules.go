package attrib

import (
	"fmt"
	"strconv"
	"strings"
)

// scope is what a rule's difference can bear on.
type scope int

const (
	anything scope = iota
	traffic        // messages between ranks, not the start
	start          // start-up alone
)

// pair is both arms in one placement.
type pair struct {
	base, other       Facts
	baseEnv, otherEnv map[string]string // as captured: "env.NAME", "locked memory" …
}

// differ gives both values where both were observed and are not the same.
func (p pair) differ(key string) (base, other string, ok bool) {
	b, inBase := p.base[key]
	o, inOther := p.other[key]
	return b.Value, o.Value, inBase && inOther && b.Value != o.Value
}

// rule is one reason in the catalogue.
type rule struct {
	code  string
	fact  string
	scope scope
	// find says whether the difference is there, in a sentence without its
	// first word's capital, and what to do.
	find func(p pair) (text, fix string, ok bool)
}

// rules are in the order of how surely they explain a difference: the cause
// before its consequences.
var rules = []rule{
	{"debug-build", Build, anything, findBuild(Build)},
	{"debug-mpi", DebugMPI, anything, findBuild(DebugMPI)},
	{"binding", CPUs, anything, findBinding},
	{"private-shm", ShmShared, traffic, findPrivateShm},
	{"small-shm", ShmSize, traffic, findSmallShm},
	{"tcp-same-node", SameNode, traffic, findTCP},
	{"transports-same-node", UCXSame, traffic, findLanes},
	{"single-copy", SingleCopy, traffic, findSingleCopy},
	{"network-interface", Interface, traffic, findInterface},
	{"transport-other-node", OtherNode, traffic, findChanged(OtherNode, "the nodes talk over %[2]s instead of %[1]s")},
	{"transports-other-node", UCXOther, traffic, findChanged(UCXOther, "UCX uses %[2]s between the nodes instead of %[1]s")},
	{"provider", Provider, traffic, findChanged(Provider, "libfabric uses the provider %[2]s instead of %[1]s")},
	{"nccl-network", NCCLNet, traffic, findChanged(NCCLNet, "NCCL goes over %[2]s instead of %[1]s")},
	{"nccl-gdr", NCCLGDR, traffic, findChanged(NCCLGDR, "GPUDirect RDMA is %[2]s by the one and %[1]s by the other")},
	{"nccl-transport", NCCLPeers, traffic, findChanged(NCCLPeers, "the GPUs talk over %[2]s instead of %[1]s")},
	{"nccl-channels", NCCLChannels, traffic, findChanged(NCCLChannels, "NCCL has %[2]s instead of %[1]s")},
	{"pml", PML, traffic, findChanged(PML, "Open MPI uses its PML %[2]s instead of %[1]s")},
	{"mtl", MTL, traffic, findChanged(MTL, "Open MPI uses its MTL %[2]s instead of %[1]s")},
	{"start-each", UserNS, start, findStartEach},
	{"nccl-version", NCCLVersion, anything, findChanged(NCCLVersion, "NCCL is %[2]s instead of %[1]s")},
	{"ucx-version", UCXVersion, anything, findChanged(UCXVersion, "UCX is %[2]s instead of %[1]s")},
}

const joinFix = "let the ranks of a node share one container: nearmetal run --start joined; or apptainer exec --sharens, or a setuid Apptainer"

func findBuild(key string) func(pair) (string, string, bool) {
	return func(p pair) (string, string, bool) {
		b, o, ok := p.differ(key)
		return fmt.Sprintf("one of them is a slow build: %s is %s in the one and %s in the other", what(key), b, o),
			"build it again with the compiler's optimization (-O2) and without --enable-debug", ok
	}
}

// what is a fact's key without its explanation, for sentences.
func what(key string) string { return "the " + strings.TrimPrefix(key, "the ") }

// count is the number a value begins with.
func count(value string) int {
	n, _ := strconv.Atoi(strings.SplitN(value, " ", 2)[0])
	return n
}

func findBinding(p pair) (string, string, bool) {
	b, o, ok := p.differ(CPUs)
	text := "the ranks of a node have " + o + ", and had " + b
	fix := "srun --cpu-bind=cores in both arms; look for taskset, --cpu-bind or GOMP_CPU_AFFINITY in wrappers and the environment"
	return text, fix, ok && count(b) != count(o)
}

func findPrivateShm(p pair) (string, string, bool) {
	b, o, ok := p.differ(ShmShared)
	return "/dev/shm is " + o + " and was " + b + ": shared memory between the ranks cannot be used",
		"start without --contain, --ipc and -C, or bind the node's own: --bind /dev/shm", ok
}

// smallShm is where Open MPI's and UCX's segments begin not to fit: a queue
// of a few MiB for each rank.
const smallShm = 64 << 10 // KiB

func findSmallShm(p pair) (string, string, bool) {
	b, o, ok := p.differ(ShmSize)
	small := func(v string) bool { k := kib(v); return k > 0 && k < smallShm }
	return "/dev/shm holds " + o + " only (" + b + " in the other arm): the shared-memory segments do not fit",
		"mount -o remount,size=50% /dev/shm on the node, or bind the node's own into the container: --bind /dev/shm", ok && small(o) && !small(b)
}

// kib reads bytesText back.
func kib(text string) float64 {
	n, unit, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return 0
	}
	for i, u := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if u == unit {
			for range i {
				v *= 1024
			}
			return v / 1024
		}
	}
	return 0
}

func findTCP(p pair) (string, string, bool) {
	b, o, ok := p.differ(SameNode)
	text := fmt.Sprintf("the ranks of a node talk over %s instead of %s", o, b)
	fix := "let MPI choose: unset what forces a transport (OMPI_MCA_btl, OMPI_MCA_pml, UCX_TLS), also with the prefix APPTAINERENV_ and in the image's %environment"
	if s := forced(p, "env.OMPI_MCA_btl", "env.OMPI_MCA_pml", "env.UCX_TLS"); s != "" {
		text += ", because " + s
	}
	return text, fix, ok
}

// forced tells of a setting that one arm has and the other has not.
func forced(p pair, names ...string) string {
	for _, n := range names {
		b, o := p.baseEnv[n], p.otherEnv[n]
		if b != o && o != "" {
			return strings.TrimPrefix(n, "env.") + "=" + o + " is set"
		}
		if b != o {
			return strings.TrimPrefix(n, "env.") + "=" + b + " is set in the other arm alone"
		}
	}
	return ""
}

func findLanes(p pair) (string, string, bool) {
	b, o, ok := p.differ(UCXSame)
	shared := func(lanes string) bool {
		return strings.Contains(lanes, "sysv/") || strings.Contains(lanes, "posix/") || strings.Contains(lanes, "xpmem/")
	}
	text := "UCX has no shared memory between the ranks of a node: it uses " + o + " instead of " + b
	if s := forced(p, "env.UCX_TLS"); s != "" {
		text += ", because " + s
	}
	return text, "unset UCX_TLS, and see that /dev/shm is the node's own in the container", ok && shared(b) && !shared(o)
}

func findSingleCopy(p pair) (string, string, bool) {
	b, o, ok := p.differ(SingleCopy)
	lost := strings.HasPrefix(o, "none")
	switch {
	case !ok || o == "none: tcp" || b == "none: tcp":
		return "", "", false
	case lost && strings.Contains(o, "user namespaces"):
		return "single copy (" + b + ") is lost: each rank's container has a user namespace of its own, and the kernel refuses to read across; large messages are copied twice (slower on most hardware, faster on some virtual machines)", joinFix, true
	case lost:
		return "single copy (" + b + ") is lost: " + o + "; large messages are copied twice", "look at /proc/sys/kernel/yama/ptrace_scope (0 or 1 with the launcher's consent) and at OMPI_MCA_smsc, UCX_TLS", true
	}
	return "large messages within a node go by " + o + " instead of " + b, "set the same single-copy mechanism in both arms (OMPI_MCA_smsc, UCX_TLS)", true
}

func findInterface(p pair) (string, string, bool) {
	b, o, ok := p.differ(Interface)
	text := fmt.Sprintf("the nodes talk through %s instead of %s", o, b)
	if s := forced(p, "env.OMPI_MCA_btl_tcp_if_include", "env.OMPI_MCA_btl_tcp_if_exclude", "env.UCX_NET_DEVICES", "env.NCCL_SOCKET_IFNAME", "env.NCCL_IB_HCA"); s != "" {
		text += ", because " + s
	}
	return text, "choose the same network in both arms: OMPI_MCA_btl_tcp_if_include, UCX_NET_DEVICES, NCCL_SOCKET_IFNAME, NCCL_IB_HCA", ok
}

func findStartEach(p pair) (string, string, bool) {
	b, o, ok := p.differ(UserNS)
	return "each rank starts a container of its own (" + o + " user namespaces on a node, " + b + " natively): mounting the image and loading libraries through it is part of the start", joinFix, ok && count(o) > count(b)
}

// findChanged is a rule without conditions of its own; both values go into the
// sentence, base first.
func findChanged(key, format string) func(pair) (string, string, bool) {
	return func(p pair) (string, string, bool) {
		b, o, ok := p.differ(key)
		return fmt.Sprintf(format, b, o), "make the arms alike, or tell of the difference beside the numbers", ok
	}
}
