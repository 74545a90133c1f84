package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// DefaultSuite is the Debian suite of the nodes: Slurm 24.11, PMIx 5.0,
// Open MPI 5.0, UCX 1.18. sid's Slurm has no pmix plugin.
const DefaultSuite = "trixie"

// nodePackages is what a node has beside apt itself.
var nodePackages = []string{
	"slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "munge",
	"openmpi-bin", "libopenmpi-dev", "libpmix-dev", "gcc", "libc6-dev", "make",
	"ucx-utils", "libfabric-bin", "libfabric-dev", "libhwloc-dev",
	"hwloc-nox", "numactl", "iperf3", "iproute2", "iputils-ping", "procps", "strace", "tini",
	"squashfs-tools", "squashfuse", "fuse-overlayfs", "fuse3", "fuse2fs", "uidmap", "fakeroot",
	"debootstrap", "mmdebstrap", "debian-archive-keyring", "ca-certificates",
	"util-linux", "passwd", "python3-minimal",
}

// basePackages is what an image build starts from beside apt itself.
var basePackages = []string{"ca-certificates"}

// RootSpec is everything that a root filesystem is made of. Its digest names
// the cached directory.
type RootSpec struct {
	Format   int // of the directory; a change builds anew
	Kind     string
	Suite    string
	Mirror   string
	Keyring  string
	AptOpts  []string
	DpkgOpts []string
	Packages []string
	Hooks    []string // shell commands run by mmdebstrap with the root as "$1"
}

var suiteName = regexp.MustCompile(`^[a-z][a-z0-9-]{1,30}$`)

func checkSuite(suite string) error {
	if !suiteName.MatchString(suite) {
		return fail.Usagef("nearmetal-lab up --suite trixie", "%q is not the name of a Debian suite", suite)
	}
	return nil
}

// aptOpts let an archive whose Release file has expired be used, as a snapshot
// is; signatures are checked all the same (apt-secure(8)).
var aptOpts = []string{
	`Acquire::Check-Valid-Until "false"`, `Acquire::Check-Date "false"`, `Acquire::Languages "none"`,
	`Acquire::Retries "3"`,
}

var dpkgOpts = []string{
	"path-exclude=/usr/share/man/*", "path-exclude=/usr/share/doc/*",
	"path-include=/usr/share/doc/*/copyright", "path-exclude=/usr/share/locale/*",
}

// nodeSpec describes the nodes' root.
func nodeSpec(suite string, m Mirror, proxy []string) RootSpec {
	return RootSpec{
		Format: 1, Kind: "node", Suite: suite, Mirror: m.URI, Keyring: m.Keyring,
		AptOpts: slices.Concat(aptOpts, proxy), DpkgOpts: dpkgOpts,
		Packages: nodePackages, Hooks: nodeHooks(m.URI),
	}
}

// nodeHooks put Apptainer into the root, which only sid has: it and its one
// dependency come from there, everything else is pinned to the suite. Apptainer
// is not setuid; useradd gives each user a range in /etc/subuid, and root gets
// one for its --fakeroot builds.
func nodeHooks(mirror string) []string {
	return []string{
		fmt.Sprintf(`echo 'deb %s sid main' > "$1/etc/apt/sources.list.d/sid.list"`, mirror),
		`printf 'Package: *\nPin: release n=sid\nPin-Priority: 50\n' > "$1/etc/apt/preferences.d/sid"`,
		`chroot "$1" apt-get update -q`,
		`chroot "$1" apt-get install -q -y --no-install-recommends apptainer/sid`,
		`chroot "$1" useradd -m -u 1000 -s /bin/bash alice`,
		`chroot "$1" useradd -m -u 1001 -s /bin/bash bob`,
		`echo root:1000000:65536 >> "$1/etc/subuid"; echo root:1000000:65536 >> "$1/etc/subgid"`,
		`printf 'bind path = /shared\n' >> "$1/etc/apptainer/apptainer.conf"`,
		`mkdir -p "$1/shared" "$1/etc/slurm"; ln -sf /usr/share/zoneinfo/UTC "$1/etc/localtime"`,
		`rm -f "$1/etc/resolv.conf"; : > "$1/etc/resolv.conf"`,
		`chroot "$1" apt-get clean`,
	}
}

// baseSpec describes a directory to build images from: `Bootstrap: localimage`,
// `From: /shared/bases/SUITE`. Its /dev is empty and everybody may read all of
// it, because an ordinary user's build copies it.
func baseSpec(suite string, m Mirror, proxy []string) RootSpec {
	return RootSpec{
		Format: 1, Kind: "base", Suite: suite, Mirror: m.URI, Keyring: m.Keyring,
		AptOpts: slices.Concat(aptOpts, proxy), DpkgOpts: dpkgOpts,
		Packages: basePackages,
		Hooks: []string{
			`rm -f "$1/etc/resolv.conf"; : > "$1/etc/resolv.conf"`,
			`chroot "$1" apt-get clean`,
		},
	}
}

// Digest names the root by all its inputs.
func (s RootSpec) Digest() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings only
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// dirName is the name of the cached directory.
func (s RootSpec) dirName() string { return s.Kind + "-" + s.Suite + "-" + s.Digest() }

// argv is the mmdebstrap command that makes the root in target.
func (s RootSpec) argv(target string) []string {
	out := []string{"mmdebstrap", "--mode=root", "--variant=apt", "--components=main", "--keyring=" + s.Keyring}
	for _, o := range s.AptOpts {
		out = append(out, "--aptopt="+o)
	}
	for _, o := range s.DpkgOpts {
		out = append(out, "--dpkgopt="+o)
	}
	out = append(out, "--include="+strings.Join(s.Packages, ","))
	for _, h := range s.Hooks {
		out = append(out, "--customize-hook="+h)
	}
	return append(out, s.Suite, target, s.Mirror)
}

// proxyOpts keeps the proxy settings of `apt-config dump`, which a root made
// elsewhere would otherwise not have.
func proxyOpts(dump string) []string {
	var out []string
	for _, line := range strings.Split(dump, "\n") {
		name, value, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), ";"), " ")
		if ok && value != `""` && (name == "Acquire::http::Proxy" || name == "Acquire::https::Proxy") {
			out = append(out, name+" "+value)
		}
	}
	return out
}
