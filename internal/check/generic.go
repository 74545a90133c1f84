package check

import (
	"strings"

	"github.com/nearmetal/nearmetal/internal/logscan"
)

// generic are the words of the operating system where no special check knows
// more. Their scores are low: any cause that is known wins.
func generic() []Check {
	const errno = "https://man7.org/linux/man-pages/man3/errno.3.html"
	return []Check{
		{Code: "GEN001", Key: "shared-library-missing", Layer: "system", Severity: Error,
			Title:     "a shared library is not found",
			Cause:     "The loader does not find a library that a program or plug-in needs: its package or module is missing, or the search path was changed.",
			Breaks:    "the program or plug-in does not load",
			Fix:       []Fix{user("ldd PROGRAM | grep 'not found'   # in the step, in the image; module load …; export LD_LIBRARY_PATH=DIR:$LD_LIBRARY_PATH"), author("install the library's package; link with an rpath")},
			Source:    "https://man7.org/linux/man-pages/man8/ld.so.8.html",
			Rules:     []Rule{on(52, `error while loading shared libraries: `), on(46, `cannot open shared object file`)},
			DependsOn: []string{"mpi-library-not-found", "python-shared-library-missing", "nv-flag-missing", "nv-libs-path-lost", "ibverbs-provider-missing", "ibverbs-provider-warning", "ompi-component-libs-missing", "slurm-pmix-library-missing", "gdrcopy-missing", "tmp-noexec", "ofi-nccl-libfabric-version", "nccl-net-plugin-failed", "ucx-no-cuda-support", "cray-gtl-missing", "nccl-no-plugin-notice", "rdma-core-lib-mismatch", "pyxis-plugin-missing"}},
		{Code: "GEN002", Key: "library-version-conflict", Layer: "system", Severity: Error,
			Title:     "a library of another version is loaded",
			Cause:     "A symbol or version that the program needs is not in the library that was found first.",
			Breaks:    "the program does not start or crashes",
			Fix:       []Fix{user("LD_DEBUG=libs PROGRAM 2>&1 | grep 'calling init'; put the right directory first, unset foreign LD_LIBRARY_PATH"), author("one version of the library in the image")},
			Source:    "https://man7.org/linux/man-pages/man8/ld.so.8.html",
			Rules:     []Rule{on(50, `undefined symbol: |symbol lookup error`), on(48, "version [`'\"]\\S+['\"`] not found \\(required by")},
			DependsOn: []string{any}},
		{Code: "GEN003", Key: "network-unreachable", Layer: "system", Severity: Error,
			Title:  "a network connection cannot be made",
			Cause:  "The other side refuses, does not answer or has no route: a process that is not running, a firewall, a wrong interface or address.",
			Breaks: "what needed the connection",
			Fix:    []Fix{user("nc -zv HOST PORT from the same node; ip route get ADDRESS; ss -ltn on the other side")},
			Source: errno,
			Rules:  []Rule{on(38, `no route to host|network is unreachable|connection timed out`), on(36, `connection refused`)}, DependsOn: []string{any}},
		{Code: "GEN004", Key: "memory-allocation-failed", Layer: "system", Severity: Error,
			Title:  "memory cannot be allocated",
			Cause:  "An allocation failed: locked-memory limit, cgroup, address-space limit (ulimit -v), huge pages, or a full node.",
			Breaks: "the process ends",
			Fix:    []Fix{user("srun bash -c 'ulimit -a; free -g'; sbatch --mem=…")},
			Source: errno,
			Apart:  "ulimit -l (RDMA: must be unlimited), ulimit -v, scontrol show job | grep -i mem, dmesg | grep -i oom",
			Rules:  []Rule{on(40, `cannot allocate memory|std::bad_alloc|out of memory\b`)}, DependsOn: []string{any}},
		{Code: "GEN005", Key: "container-capability-missing", Layer: "system", Severity: Error,
			Title:  "an operation is not permitted",
			Cause:  "The kernel refuses a privileged operation: a capability, seccomp, AppArmor or SELinux rule of the container or node.",
			Breaks: "what needed the right",
			Fix:    []Fix{user("grep Cap /proc/self/status; dmesg | grep -iE 'denied|audit'; docker run --cap-add=… --security-opt seccomp=unconfined")},
			Source: "https://man7.org/linux/man-pages/man7/capabilities.7.html",
			Rules:  []Rule{on(36, `operation not permitted`)}, DependsOn: []string{any}},
		{Code: "GEN006", Key: "command-not-found", Layer: "system", Severity: Error,
			Title:  "a command is not found",
			Cause:  "The program is not installed, not in PATH, or its module is not loaded in the job or image.",
			Breaks: "the script goes on without it or ends",
			Fix:    []Fix{user("module load …; command -v NAME in the step and in the image"), author("install its package")},
			Source: "https://www.gnu.org/software/bash/manual/bash.html#Exit-Status",
			Rules:  []Rule{{Score: 40, All: []Line{{Re: `command not found`, Test: notConfigure}}}}, DependsOn: []string{any}},
		{Code: "GEN007", Key: "device-not-in-container", Layer: "system", Severity: Error,
			Title:     "a device file is missing",
			Cause:     "A device that the program opens is not there: not passed into the container, or its driver is not loaded.",
			Breaks:    "the device cannot be used",
			Fix:       []Fix{user("ls -l /dev/… on the host and in the image; apptainer exec -B /dev/… ; docker run --device=/dev/…"), admin("modprobe the driver")},
			Source:    apptainerURL + "user/latest/bind_paths_and_mounts.html",
			Rules:     []Rule{on(62, `(?:open|stat|access|find|mount)\S{0,12} '?/dev/[a-z]\S*:? .{0,40}no such (?:file|device)|/dev/(?:nvidia|kfd|dri/|xpmem|knem|gdrdrv|hfi1|cxi)\S*.{0,60}no such`)},
			DependsOn: []string{"infiniband-not-bound", "fuse-mount-denied", "gdrcopy-missing", "ucx-xpmem-knem-missing", "psm2-cannot-open-hfi", "loop-devices-exhausted", "dev-shm-too-small", "nv-flag-missing"}},
	}
}

// notConfigure leaves out what configure scripts say of macros they lack.
func notConfigure(h logscan.Hit) bool { return !strings.Contains(h.Text, "configure") }
