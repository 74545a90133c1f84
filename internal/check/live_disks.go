package check

import (
	"slices"

	"github.com/nearmetal/nearmetal/internal/site"
)

const mountDocs = "https://man7.org/linux/man-pages/man8/mount.8.html"

func liveDisks() []Check {
	return []Check{
		// UCX leaves posix out when /dev/shm cannot hold its segments.
		seen("dev-shm-too-small", shmSmall, on(62, `transport 'posix' is not available`)),
		{Key: "ucx-no-transport", DependsOn: []string{"dev-shm-too-small"}},
		{Key: "slurm-task-launch-timeout", DependsOn: []string{"tmp-read-only", "slurm-no-pmix-plugin", "slurm-node-down"}},
		{Code: "LIV010", Key: "tmp-full", Layer: "filesystem", Severity: Error,
			Title:  "/tmp is full",
			Cause:  "The node's /tmp has no room left, and PMIx, Open MPI's session directory and Apptainer write there.",
			Breaks: "steps hang or end without a word, images are not unpacked",
			Fix: []Fix{user("export TMPDIR=/some/other/local/disk APPTAINER_TMPDIR=$TMPDIR; srun -w NODE sh -c 'du -xsh /tmp/* 2>/dev/null | sort -h | tail'   # what is yours there, remove"),
				admin("du -xsh /tmp/* | sort -h | tail; add an Epilog that cleans /tmp, or job_container/tmpfs in slurm.conf")},
			Source: "https://slurm.schedmd.com/job_container.conf.html",
			Rules:  []Rule{on(87, `[ '"]/tmp/?\S*: no space left on device`)},
			Live:   disk("/tmp", full)},
		{Code: "LIV011", Key: "tmp-noexec", Layer: "filesystem", Severity: Warning,
			Title:  "/tmp is mounted noexec",
			Cause:  "Programs and libraries cannot be run from /tmp: what is unpacked or compiled there fails with 'Permission denied' or 'failed to map segment'.",
			Breaks: "apptainer build and --unsquash, Spack's stages, Python and JIT compilers that write libraries to /tmp",
			Fix:    []Fix{user("export TMPDIR=/dir/that/may/execute APPTAINER_TMPDIR=$TMPDIR"), admin("mount -o remount,exec /tmp   # and in /etc/fstab or tmp.mount")},
			Source: mountDocs,
			Rules:  []Rule{on(85, `/tmp/\S+: failed to map segment from shared object`), on(72, `/tmp/\S+: permission denied`)},
			Live:   disk("/tmp", func(d site.FS) (string, bool) { return "is mounted noexec", slices.Contains(d.Options, "noexec") })},
		{Code: "LIV012", Key: "tmp-read-only", Layer: "filesystem", Severity: Error,
			Title:  "/tmp cannot be written",
			Cause:  "The node's /tmp is read-only (often after a disk error), so that slurmstepd's PMIx plugin and Open MPI cannot make their directories.",
			Breaks: "every MPI step on the node: 'task launch failed: Unspecified error'",
			Fix:    []Fix{user("srun --exclude=NODE …   # and report the node"), admin("dmesg | grep -i 'remount\\|I/O error'; mount -o remount,rw /tmp; scontrol update nodename=NODE state=drain reason='/tmp read-only'")},
			Source: mountDocs,
			Apart:  "srun -w NODE --mpi=none sh -c 'touch /tmp/x; srun --mpi=list; df /tmp'",
			Rules:  []Rule{on(86, `/tmp\S*:? read-only file system`), on(54, `error: task \d+ launch failed: unspecified error`)},
			Live:   disk("/tmp", readOnly)},
	}
}

const (
	fullBelow = 4 << 20  // bytes: what a session directory of Open MPI and PMIx's store need
	shmLeast  = 64 << 20 // bytes: docker's default, below which NCCL, UCX and vader run out
)

func full(d site.FS) (string, bool) {
	return "has " + bytes(d.Free) + " free of " + bytes(d.Size), d.Size > 0 && d.Free < fullBelow
}

func readOnly(d site.FS) (string, bool) {
	if slices.Contains(d.Options, "ro") {
		return "is mounted read-only", true
	}
	return "is not writable", !d.Writable
}

func disk(path string, bad func(site.FS) (string, bool)) func([]site.Facts) []Evidence {
	return func(nodes []site.Facts) []Evidence {
		var out []Evidence
		for _, f := range nodes {
			d := f.Disks[path]
			if d == nil || f.Login && len(nodes) > 1 {
				continue
			}
			if why, is := bad(d.Value); is {
				out = append(out, fact(f, path, "%s %s (%s)", path, why, d.Value.Type)...)
			}
		}
		return out
	}
}

func shmSmall(nodes []site.Facts) []Evidence {
	return disk("/dev/shm", func(d site.FS) (string, bool) {
		return "has " + bytes(d.Size) + ", " + bytes(d.Free) + " free", d.Size < shmLeast || d.Free < fullBelow
	})(nodes)
}
