package lab

import (
	"os"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/fail"
	"golang.org/x/sys/unix"
)

// preflight refuses, with advice, where a lab cannot stand.
func preflight() error {
	if os.Geteuid() != 0 {
		return fail.Missingf("sudo nearmetal-lab up", "the lab needs root: it makes namespaces, mounts and a network")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return fail.Missingf("modprobe fuse (in a container: docker run --device /dev/fuse)", "Apptainer needs /dev/fuse: %w", err)
	}
	checks := []struct {
		path string
		bad  func(string) bool
		hint string
		msg  string
	}{
		{"/proc/filesystems", func(s string) bool { return !hasFilesystem(s, "overlay") },
			"modprobe overlay", "the kernel has no overlay file system"},
		{"/proc/sys/user/max_user_namespaces", func(s string) bool { return number(s) == 0 },
			"sysctl user.max_user_namespaces=10000", "user namespaces are switched off, which Apptainer needs"},
		{"/proc/sys/kernel/unprivileged_userns_clone", func(s string) bool { return number(s) == 0 },
			"sysctl kernel.unprivileged_userns_clone=1", "ordinary users may not make user namespaces, which Apptainer needs"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", func(s string) bool { return number(s) == 1 },
			"sysctl kernel.apparmor_restrict_unprivileged_userns=0", "AppArmor keeps ordinary users from user namespaces, which Apptainer needs"},
	}
	for _, c := range checks {
		b, err := os.ReadFile(c.path)
		if err == nil && c.bad(string(b)) {
			return fail.Missingf(c.hint, "%s (%s)", c.msg, c.path)
		}
	}
	for _, ns := range []string{"mnt", "uts", "ipc", "net", "pid", "user"} {
		if err := unix.Access("/proc/self/ns/"+ns, unix.F_OK); err != nil {
			return fail.Missingf("a kernel with CONFIG_NAMESPACES and all kinds of it", "no %s namespaces: %w", ns, err)
		}
	}
	return nil
}

// hasFilesystem reads /proc/filesystems (proc_filesystems(5)).
func hasFilesystem(table, name string) bool {
	for _, line := range strings.Split(table, "\n") {
		f := strings.Fields(line)
		if len(f) > 0 && f[len(f)-1] == name {
			return true
		}
	}
	return false
}

// number reads a sysctl; what is no number is -1.
func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return -1
	}
	return n
}
