package collect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nearmetal/nearmetal/internal/site"
)

// disks are the places that jobs write to.
func (c *Collector) disks() map[string]*site.Fact[site.FS] {
	places := []string{"/tmp", "/dev/shm", "/var/tmp"}
	for _, name := range []string{"TMPDIR", "APPTAINER_TMPDIR"} {
		if dir := c.getenv(name); filepath.IsAbs(dir) && !slices.Contains(places, dir) {
			places = append(places, dir)
		}
	}
	out := map[string]*site.Fact[site.FS]{}
	for _, p := range places {
		if f := c.disk(p); f != nil {
			out[p] = f
		}
	}
	return out
}

func (c *Collector) disk(path string) *site.Fact[site.FS] {
	var st unix.Statfs_t
	full := filepath.Join(c.Root, path)
	if unix.Statfs(full, &st) != nil {
		return nil
	}
	block := uint64(st.Bsize)
	f := site.FS{Size: st.Blocks * block, Free: st.Bavail * block, Inodes: st.Ffree}
	f.Mount, f.Type, f.Options = c.mounted(path)
	f.Writable = writable(full)
	return site.Of(f, "statfs "+path+", /proc/self/mountinfo")
}

// writable tries: a mode or an option may say otherwise than the kernel does.
// A full file system still takes an empty file; a read-only one does not.
func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".nearmetal-*")
	if err != nil {
		return false
	}
	name := f.Name()
	return f.Close() == nil && os.Remove(name) == nil
}

// mounted finds the mount that holds a path; the last one over it counts
// (proc_pid_mountinfo(5)).
func (c *Collector) mounted(path string) (mount, fstype string, options []string) {
	text, ok := c.text("proc/self/mountinfo")
	if !ok {
		return "", "", nil
	}
	for _, line := range strings.Split(text, "\n") {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(r) < 3 || !below(path, l[4]) || len(l[4]) < len(mount) {
			continue
		}
		mount, fstype = l[4], r[0]
		options = strings.Split(l[5], ",")
		// Superblock options: a file system can be read-only as a whole.
		if slices.Contains(strings.Split(r[2], ","), "ro") && !slices.Contains(options, "ro") {
			options = append(options, "ro")
		}
	}
	return mount, fstype, options
}

func below(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
