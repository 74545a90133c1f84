package defs

import (
	"regexp"
	"strconv"
	"strings"
)

// Patterns of what definitions say. Package names are Debian's, Red Hat's and
// SUSE's; options are those of the projects' own configure scripts.
var (
	reDigest     = regexp.MustCompile(`@sha256:[0-9a-f]{64}`)
	reEOL        = regexp.MustCompile(`(?i)(^|[/:-])(centos\b|centos[0-9]|ubuntu[:-]?(1[0-9]|20|21|23)\.|ubuntu1[0-9]|ubuntu20|debian:(9|10|11|stretch|buster|bullseye)|fedora:(2[0-9]|3[0-9])\b)`)
	reMPISource  = regexp.MustCompile(`(?i)\b(openmpi|ompi|mpich|mvapich2?)-([0-9]+(?:\.[0-9]+)*)[^\s"']*`)
	reOMPIOption = regexp.MustCompile(`--(with|without|enable|disable)-`)
	reConfigure  = regexp.MustCompile(`configure\b`)
	reDebianOMPI = regexp.MustCompile(`\bapt(-get)?\b.*\binstall\b.*\b(openmpi-bin|libopenmpi-dev|mpi-default-(dev|bin)|libopenmpi[0-9])\b`)
	reUCXOn      = regexp.MustCompile(`OMPI_MCA_pml=["']?ucx|OMPI_MCA_pml_ucx_(tls|devices)|mca\s+pml\s+ucx|pml\s*=\s*ucx`)
	reFabric     = regexp.MustCompile(`(?i)libibverbs|rdma-core|librdmacm|ibverbs-providers|libfabric|psm2|mlnx|mofed|doca-`)
	reOpenib     = regexp.MustCompile(`--with-verbs\b|btl_openib|btl\s+.*\bopenib`)
	reMpirun     = regexp.MustCompile(`(^|[\s;&|(])(mpirun|mpiexec|prterun|srun)(\.\w+)?(\s|$)`)
	reCUDABase   = regexp.MustCompile(`(?i)nvidia/cuda|nvcr\.io/|/cuda[:-]|pytorch.*cuda|tensorflow.*gpu`)
	reCUDAPost   = regexp.MustCompile(`\b(cuda-toolkit|cuda-nvcc|nvidia-cuda-toolkit|cuda_[0-9.]+_linux\.run|cuda-repo-)|\binstall\b[^;&|]*\scuda(\s|$)`)
	reCUDAPolicy = regexp.MustCompile(`(?i)cuda-compat|NVIDIA_REQUIRE_CUDA|min(imum)?[_ .-]*driver|driver[_ .-]*(floor|min|>=)`)
	reDriver     = regexp.MustCompile(`\binstall\b[^;&|]*\s(cuda|cuda-drivers|nvidia-driver[\w-]*|nvidia-dkms[\w-]*|nvidia-kernel[\w-]*|libnvidia-compute[\w-]*)(\s|$)`)
	reWithCUDA   = regexp.MustCompile(`--with-cuda\b`)
	reAptUpdate  = regexp.MustCompile(`\bapt(-get)?\s+(-\S+\s+)*(update|install|upgrade)\b`)
	reAptClean   = regexp.MustCompile(`rm\s+-\S*r\S*\s.*(/var/lib/apt/lists|/var/lib/apt\b|/var/cache\b)`)
	reYum        = regexp.MustCompile(`\b(yum|dnf|microdnf)\s+(-\S+\s+)*(install|groupinstall|update|check-update)\b`)
	reYumClean   = regexp.MustCompile(`\b(yum|dnf|microdnf)\s+(-\S+\s+)*clean\s+all|rm\s+-\S*r\S*\s.*/var/cache/(yum|dnf)|rm\s+-\S*r\S*\s+/var/cache`)
	reZypper     = regexp.MustCompile(`\bzypper\s+(-\S+\s+)*(in|install|up|update)\b`)
	reZypClean   = regexp.MustCompile(`\bzypper\s+(-\S+\s+)*(clean|cc)\b|/var/cache/zypp`)
	rePip        = regexp.MustCompile(`\bpip3?\s+install\b`)
	rePipNoCache = regexp.MustCompile(`--no-cache-dir|PIP_NO_CACHE_DIR|pip3?\s+cache\s+purge`)
	reCompilers  = regexp.MustCompile(`(?i)\binstall\b.*\s(gcc(-\S*)?|g\+\+(-\S*)?|gfortran(-\S*)?|build-essential|clang|cmake|make|\S+-dev|\S+-devel|devtoolset\S*|"?Development Tools"?)(\s|$)|groupinstall`)
	reCompiles   = regexp.MustCompile(`(^|[\s;&|])(make|cmake|ninja|gcc|mpicc|nvcc)(\s|$)|configure\b`)
	reDevelBase  = regexp.MustCompile(`(?i)[:-]devel\b|-devel-`)
	reRemoval    = regexp.MustCompile(`\b(apt(-get)?|yum|dnf)\b.*\b(remove|purge|erase)\b.*\b(gcc|g\+\+|build-essential|make)\b`)
	reNative     = regexp.MustCompile(`-m(arch|tune|cpu)=native|-xHost\b|\bCMAKE_\w*ARCH\w*=native`)
	reEdits      = regexp.MustCompile(`^\s*(&&\s*)?(sed|grep|awk|perl)\b`)
	reFetch      = regexp.MustCompile(`\b(wget|curl)\b.*(https?|ftp)://\S+`)
	reArchive    = regexp.MustCompile(`\.(tar(\.\w+)?|tgz|tbz2?|txz|zip|whl|deb|rpm|run|sh)\b|\|\s*(tar|sh|bash)|archive/`)
	reFetchVar   = regexp.MustCompile(`\b(wget|curl)\s[^;&|]*\$\{?\w*URL`)
	reChecksum   = regexp.MustCompile(`\b(sha(1|224|256|384|512)sum|md5sum|shasum|gpg\s+--verify|cosign|openssl\s+dgst)\b`)
	reSecret     = regexp.MustCompile(`(?i)\b(export\s+)?\w*(api_?key|secret|passw(or)?d|token|credential)\w*\s*=\s*["']?[^\s"'$]{6,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{30,}|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:]+:[^/\s@$]{3,}@`)
	reSecretFile = regexp.MustCompile(`(^|[\s/])(\.env|\.netrc|id_(rsa|ed25519|ecdsa)|\.aws|\.git-credentials|\.npmrc|\.pypirc|credentials(\.json)?|kubeconfig)(\s|$|/)`)
)

var lintRules = []lintRule{
	{"base-unpinned", "the same tag may mean another image tomorrow", "add the digest: From: name@sha256:…", baseUnpinned},
	{"base-eol", "the distribution of the base gets no updates any more, and its C library and rdma-core are older than current fabrics want", "start from a supported release",
		func(v *lintView) (lintLine, bool) { return first(v.bases(), reEOL) }},
	{"mpi-old", "this MPI is no longer maintained and carries PMIx 2 or older, or none: current Slurm cannot start its ranks well", "Open MPI 4.1 or 5, MPICH 4", mpiOld},
	{"mpi-no-pmix", "MPI is built without PMIx: srun --mpi=pmix cannot start its ranks, every one becomes rank 0 of a world of one", "configure --with-pmix", mpiNoPMIx},
	{"mpi-no-ucx", "MPI is built without UCX or libfabric: between nodes it falls back to TCP", "configure --with-ucx, or --with-ofi / --with-device=ch4:ucx", mpiNoUCX},
	{"mpi-ucx-off", "Debian's and Ubuntu's Open MPI leaves UCX off (pml=^ucx in openmpi-mca-params.conf): between nodes it takes TCP", "OMPI_MCA_pml=ucx in %environment, with OMPI_MCA_pml_ucx_tls=any and OMPI_MCA_pml_ucx_devices=any", mpiUCXOff},
	{"mpi-openib", "the openib component is deprecated in Open MPI 4 and gone in 5", "UCX: configure --with-ucx, and no btl_openib settings",
		func(v *lintView) (lintLine, bool) { return first(append(v.post, v.env...), reOpenib) }},
	{"no-fabric-libs", "MPI or UCX is compiled without rdma-core's or libfabric's headers: InfiniBand, RoCE and EFA are not built in", "install rdma-core (libibverbs-dev) or libfabric before configure, and its run-time libraries in the image", noFabric},
	{"mpirun-in-runscript", "under srun every task would start a job of its own; the launcher is outside the container", "the runscript starts the program itself: exec /path/program \"$@\"",
		func(v *lintView) (lintLine, bool) { return first(v.run, reMpirun) }},
	{"cuda-no-policy", "which NVIDIA driver the image needs is not said: on an older one it fails at the first CUDA call", "a label with the oldest driver, or cuda-compat; check it in %test", cudaNoPolicy},
	{"cuda-driver-in-image", "the driver belongs to the host (--nv binds it); one in the image does not match the kernel module", "install cuda-toolkit-… instead of cuda",
		func(v *lintView) (lintLine, bool) { return first(v.post, reDriver) }},
	{"mpi-not-cuda-aware", "the image has CUDA, and its MPI is the distribution's, built without it: GPU buffers are staged through the host or crash", "an MPI and UCX built --with-cuda", notCUDAAware},
	{"caches-left", "the package manager's caches stay in the image", "in the same %post: rm -rf /var/lib/apt/lists/*, dnf clean all, pip --no-cache-dir", cachesLeft},
	{"compilers-left", "compilers and headers stay in the image: larger, slower to start, more to patch", "a build stage, and a final stage that takes %files from it", compilersLeft},
	{"cpu-native", "compiled for the CPU of the build machine: illegal instruction, or slow, on other nodes", "name the target: -march=x86-64-v3", cpuNative},
	{"download-unverified", "what is downloaded is not compared with a checksum", "sha256sum -c after the download", downloadUnverified},
	{"secret", "a secret in the definition or image can be read by everybody who has it", "bind the file or pass the variable when the container starts", secret},
}

func baseUnpinned(v *lintView) (lintLine, bool) {
	for _, b := range v.bases() {
		named := false
		for _, s := range v.stages {
			named = named || s.Get("stage") != "" && s.Get("stage") == b.text
		}
		if !named && !reDigest.MatchString(b.text) {
			return b, true
		}
	}
	return lintLine{}, false
}

// mpiSource is an MPI that is compiled in the definition.
type mpiSource struct {
	line    lintLine
	name    string // openmpi or mpich
	version string
	options string // of its configure
}

// source finds the MPI that is compiled: a tarball's name, and the configure
// after it.
func (v *lintView) source() (mpiSource, bool) {
	for i, l := range v.post {
		m := reMPISource.FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		s := mpiSource{line: l, name: strings.ToLower(m[1]), version: m[2]}
		if s.name == "ompi" {
			s.name = "openmpi"
		}
		for _, after := range v.post[i:] {
			if at := reConfigure.FindStringIndex(after.text); at != nil {
				s.options = after.text[at[0]:]
				return s, true
			}
		}
	}
	return mpiSource{}, false
}

func (s mpiSource) has(option string) bool { return strings.Contains(s.options, option) }

func (s mpiSource) major() int {
	n, _, _ := strings.Cut(s.version, ".")
	major, err := strconv.Atoi(n)
	if err != nil {
		return -1
	}
	return major
}

func mpiOld(v *lintView) (lintLine, bool) {
	s, ok := v.source()
	old := s.name == "openmpi" && s.major() < 4 || s.name == "mpich" && s.major() < 4 || strings.HasPrefix(s.name, "mvapich") && s.major() < 2
	return s.line, ok && old && s.major() >= 0
}

func mpiNoPMIx(v *lintView) (lintLine, bool) {
	s, ok := v.source()
	off := s.has("--without-pmix") || s.has("--with-pmix=no")
	if s.name == "mpich" {
		off = off || !s.has("--with-pmix")
	}
	return s.line, ok && off
}

func mpiNoUCX(v *lintView) (lintLine, bool) {
	s, ok := v.source()
	for _, o := range []string{"--with-ucx", "--with-ofi", "--with-libfabric", "--with-psm2", "ch4:ofi", "ch4:ucx", "--with-hcoll", "--with-mxm"} {
		if s.has(o) && !s.has(o+"=no") {
			return s.line, false
		}
	}
	if s.name == "mpich" && s.major() >= 4 {
		return s.line, false // ch4:ofi with its own libfabric
	}
	return s.line, ok && !strings.HasPrefix(s.name, "mvapich")
}

func mpiUCXOff(v *lintView) (lintLine, bool) {
	l, ok := first(v.post, reDebianOMPI)
	return l, ok && !anyMatch(append(v.env, v.post...), reUCXOn)
}

func noFabric(v *lintView) (lintLine, bool) {
	s, ok := v.source()
	return s.line, ok && !anyMatch(v.installs(), reFabric) && !s.has("--with-psm2=/")
}

// installs are the lines that bring packages or sources in.
func (v *lintView) installs() []lintLine {
	var out []lintLine
	for _, l := range v.post {
		if !reOMPIOption.MatchString(l.text) || reAptUpdate.MatchString(l.text) || reYum.MatchString(l.text) {
			out = append(out, l)
		}
	}
	return out
}

// cuda is where the image gets CUDA from.
func (v *lintView) cuda() (lintLine, bool) {
	if l, ok := first(v.bases(), reCUDABase); ok {
		return l, true
	}
	return first(v.post, reCUDAPost)
}

func cudaNoPolicy(v *lintView) (lintLine, bool) {
	l, ok := v.cuda()
	if !ok {
		return l, false
	}
	for _, s := range v.stages {
		for _, sec := range s.Sections {
			if reCUDAPolicy.MatchString(sec.Text) {
				return l, false
			}
		}
	}
	return l, true
}

func notCUDAAware(v *lintView) (lintLine, bool) {
	if _, ok := v.cuda(); !ok {
		return lintLine{}, false
	}
	if s, built := v.source(); built {
		return s.line, !reWithCUDA.MatchString(s.options)
	}
	return first(v.post, reDebianOMPI)
}

func cachesLeft(v *lintView) (lintLine, bool) {
	for _, c := range []struct{ uses, cleans *regexp.Regexp }{{reAptUpdate, reAptClean}, {reYum, reYumClean}, {reZypper, reZypClean}, {rePip, rePipNoCache}} {
		if l, ok := first(v.final, c.uses); ok && !anyMatch(v.final, c.cleans) {
			return l, true
		}
	}
	return lintLine{}, false
}

func compilersLeft(v *lintView) (lintLine, bool) {
	if anyMatch(v.final, reRemoval) {
		return lintLine{}, false
	}
	if l, ok := first(v.final, reCompilers); ok {
		return l, true
	}
	if l, ok := first(v.final, reCompiles); ok {
		return l, true
	}
	l := header(v.last, "from")
	return l, reDevelBase.MatchString(l.text)
}

func cpuNative(v *lintView) (lintLine, bool) {
	for _, l := range v.post {
		if reNative.MatchString(l.text) && !reEdits.MatchString(l.text) && !strings.Contains(l.text, "sed -i") {
			return l, true
		}
	}
	return lintLine{}, false
}

func downloadUnverified(v *lintView) (lintLine, bool) {
	if anyMatch(v.post, reChecksum) {
		return lintLine{}, false
	}
	for _, l := range v.post {
		if reFetch.MatchString(l.text) && reArchive.MatchString(l.text) || reFetchVar.MatchString(l.text) {
			return l, true
		}
	}
	return lintLine{}, false
}

func secret(v *lintView) (lintLine, bool) {
	if l, ok := first(v.files, reSecretFile); ok {
		return l, true
	}
	return first(append(append([]lintLine{}, v.post...), v.env...), reSecret)
}
