package attrib

import (
	"maps"
	"slices"
	"strings"
)

// Keys of facts. Values are for people and compared as text.
const (
	SameNode     = "transport, same node"      // Open MPI's BTL: "sm", "tcp"
	OtherNode    = "transport, other node"     // "tcp", "ofi"
	SingleCopy   = "single copy, same node"    // "cma", "xpmem", or why there is none
	PML          = "Open MPI's PML"            // "ob1", "ucx", "cm"
	MTL          = "Open MPI's MTL"            // "ofi", "psm2"
	Interface    = "network interface"         // "eth0", where tcp is used
	UCXVersion   = "UCX"                       // "1.18.1"
	UCXSame      = "UCX transports, same node" // "sysv/memory cma/memory"
	UCXOther     = "UCX transports, other node"
	UCXProtSame  = "UCX protocols, same node" // by size class
	UCXProtOther = "UCX protocols, other node"
	Provider     = "libfabric provider"
	CPUs         = "CPUs for the ranks of a node" // "2 CPUs for 2 ranks"
	UserNS       = "user namespaces on a node"    // "1", "2"
	ShmSize      = "size of /dev/shm"             // "64 KiB"
	ShmShared    = "/dev/shm"                     // "shared by the ranks of a node", "one for each rank"
	Build        = "build of the program"         // "optimized", "not optimized"
	DebugMPI     = "MPI library"                  // "debug build"
	NCCLVersion  = "NCCL"
	NCCLNet      = "NCCL network" // "IB", "Socket", a plugin's name
	NCCLPeers    = "NCCL transports"
	NCCLGDR      = "GPUDirect RDMA" // "used", "not used"
	NCCLChannels = "NCCL channels"
	NCCLEnv      = "NCCL settings"
)

// order is how a table of facts is read; it is also the whole list.
var order = []string{
	PML, MTL, SameNode, SingleCopy, OtherNode, Interface, UCXVersion, UCXSame, UCXProtSame, UCXOther, UCXProtOther, Provider,
	CPUs, UserNS, ShmSize, ShmShared, Build, DebugMPI, NCCLVersion, NCCLNet, NCCLPeers, NCCLGDR, NCCLChannels, NCCLEnv,
}

// Source is a line that shows a fact.
type Source struct {
	File string
	Line int
	Text string
}

// Fact is one thing that an arm's launch says.
type Fact struct {
	Value string
	Source
}

// Facts is one arm's table. A key that is not there was not observed.
type Facts map[string]Fact

// Keys lists the facts in the order they are read.
func (f Facts) Keys() []string {
	return slices.DeleteFunc(slices.Clone(order), func(k string) bool { _, ok := f[k]; return !ok })
}

// Merge adds what another text of the same launch says; what is there stays.
func (f Facts) Merge(more Facts) {
	for k, v := range more {
		if _, ok := f[k]; !ok {
			f[k] = v
		}
	}
}

// set gathers the different values that the ranks report for a key.
type set struct {
	first  Source
	values map[string]bool
}

func (s *set) add(value string, src Source) {
	if s.values == nil {
		s.values, s.first = map[string]bool{}, src
	}
	s.values[value] = true
}

func (s *set) String() string {
	return strings.Join(slices.Sorted(maps.Keys(s.values)), ", ")
}
