package defs

// family is how a distribution's package manager is spoken to, and what its
// packages are called. Names that change from release to release (libpmix2,
// libpmix2t64) are not used: the MPI package pulls them in.
type family struct {
	name    string   // apt, dnf or zypper
	has     string   // followed by package names: fails when one is missing
	prepare []string // before the first install
	install string   // followed by package names
	clean   []string // after the last install
	// versions prints "name version" for everything installed.
	versions string
	tools    []string // compiler and C library headers
	software map[string]packageSet
}

// packageSet is one piece of software in a distribution.
type packageSet struct {
	build   []string // headers, compiler wrappers
	runtime []string // what a job needs
	query   string   // name in the output of versions
	bin     string   // folder of mpirun and mpicc where it is not in PATH
	lib     string
}

// families by Base.family. apt is built and run in the tests' cluster; dnf and
// zypper are rendered after the distributions' package lists and not built.
var families = map[string]family{
	"apt": {
		name:    "apt",
		has:     "dpkg-query -W",
		prepare: []string{"export DEBIAN_FRONTEND=noninteractive", "apt-get update -q -o Acquire::Languages=none"},
		install: "apt-get install -q -y --no-install-recommends -o Dpkg::Options::=--force-unsafe-io",
		clean:   []string{"apt-get clean", "rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/apt /var/log/dpkg.log"},
		// Source packages keep their names from release to release.
		versions: `dpkg-query -W -f='${source:Package} ${source:Upstream-Version}\n'`,
		tools:    []string{"gcc", "libc6-dev"},
		software: map[string]packageSet{
			"openmpi":   {build: []string{"openmpi-bin", "libopenmpi-dev"}, runtime: []string{"openmpi-bin"}, query: "openmpi"},
			"mpich":     {build: []string{"mpich", "libmpich-dev"}, runtime: []string{"mpich"}, query: "mpich"},
			"pmix":      {build: []string{"libpmix-dev"}, query: "pmix"},
			"ucx":       {build: []string{"libucx-dev"}, runtime: []string{"libucx0", "ucx-utils"}, query: "ucx"},
			"libfabric": {build: []string{"libfabric-dev"}, runtime: []string{"libfabric1", "libfabric-bin"}, query: "libfabric"},
		},
	},
	"dnf": {
		name:     "dnf",
		has:      "rpm -q",
		install:  "dnf -y -q --setopt=install_weak_deps=False --setopt=tsflags=nodocs install",
		clean:    []string{"dnf -q clean all", "rm -rf /var/cache/dnf /var/log/dnf*"},
		versions: `rpm -qa --qf '%{NAME} %{VERSION}\n'`,
		tools:    []string{"gcc", "glibc-devel"},
		software: map[string]packageSet{
			"openmpi":   {build: []string{"openmpi-devel"}, runtime: []string{"openmpi"}, query: "openmpi", bin: "/usr/lib64/openmpi/bin", lib: "/usr/lib64/openmpi/lib"},
			"mpich":     {build: []string{"mpich-devel"}, runtime: []string{"mpich"}, query: "mpich", bin: "/usr/lib64/mpich/bin", lib: "/usr/lib64/mpich/lib"},
			"pmix":      {build: []string{"pmix-devel"}, runtime: []string{"pmix"}, query: "pmix"},
			"ucx":       {build: []string{"ucx-devel"}, runtime: []string{"ucx"}, query: "ucx"},
			"libfabric": {build: []string{"libfabric-devel"}, runtime: []string{"libfabric"}, query: "libfabric"},
		},
	},
	"zypper": {
		name:     "zypper",
		has:      "rpm -q",
		prepare:  []string{"zypper -n -q refresh"},
		install:  "zypper -n -q install --no-recommends",
		clean:    []string{"zypper -n -q clean --all", "rm -rf /var/cache/zypp /var/log/zypp"},
		versions: `rpm -qa --qf '%{NAME} %{VERSION}\n'`,
		tools:    []string{"gcc", "glibc-devel"},
		software: map[string]packageSet{
			"openmpi":   {build: []string{"openmpi4-devel"}, runtime: []string{"openmpi4"}, query: "openmpi4", bin: "/usr/lib64/mpi/gcc/openmpi4/bin", lib: "/usr/lib64/mpi/gcc/openmpi4/lib64"},
			"mpich":     {build: []string{"mpich-devel"}, runtime: []string{"mpich"}, query: "mpich", bin: "/usr/lib64/mpi/gcc/mpich/bin", lib: "/usr/lib64/mpi/gcc/mpich/lib64"},
			"pmix":      {build: []string{"pmix-devel"}, runtime: []string{"pmix"}, query: "pmix"},
			"ucx":       {build: []string{"libucp-devel"}, runtime: []string{"ucx-tools"}, query: "ucx-tools"},
			"libfabric": {build: []string{"libfabric-devel"}, runtime: []string{"libfabric"}, query: "libfabric"},
		},
	},
}

// everything lists the stack, MPI first.
func (s Stack) everything() []Component {
	return append([]Component{s.MPI}, s.Components...)
}

// buildPackages is what the build stage installs. The build packages of the
// components come with the recipe's own steps only: the probe needs MPI's.
func (r Recipe) buildPackages(f family) []string {
	out := append([]string{}, f.tools...)
	out = append(out, f.software[r.Stack.MPI.Name].build...)
	if len(r.Build) > 0 {
		for _, c := range r.Stack.Components {
			out = append(out, f.software[c.Name].build...)
		}
	}
	return append(out, r.Packages.Build...)
}

func (r Recipe) runtimePackages(f family) []string {
	var out []string
	for _, c := range r.Stack.everything() {
		out = append(out, f.software[c.Name].runtime...)
	}
	return append(out, r.Packages.Runtime...)
}
