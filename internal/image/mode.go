package image

import (
	"bufio"
	"fmt"
	"io/fs"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// Mode is how Apptainer gets the rights that a build needs.
type Mode struct {
	Flags  []string // of `apptainer build`
	Reason string   // one line for people
}

// Host is what the choice of a Mode looks at.
type Host struct {
	Root fs.FS // of the filesystem: etc/subuid, proc/self/status
	UID  int
	User string // may be "" where the name is not known
}

// ThisHost describes the process's own host.
func ThisHost(root fs.FS, uid int) Host {
	h := Host{Root: root, UID: uid}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		h.User = u.Username
	}
	return h
}

// capSysResource is bit 24 of the capability sets (capabilities(7)). Apptainer
// asks for it as root and fails where a container or virtual machine withholds it.
const capSysResource = 24

// Choose picks --fakeroot or not, and says why.
func Choose(h Host) Mode {
	ids := h.subordinate()
	switch {
	case h.UID == 0 && h.has(capSysResource):
		return Mode{nil, "as root, without --fakeroot"}
	case h.UID == 0 && ids > 0:
		return Mode{[]string{"--fakeroot"}, "as root with --fakeroot: this machine withholds CAP_SYS_RESOURCE"}
	case h.UID == 0:
		return Mode{nil, "as root; this machine withholds CAP_SYS_RESOURCE and root has no line in /etc/subuid, so Apptainer may refuse"}
	case ids > 0:
		return Mode{[]string{"--fakeroot"}, fmt.Sprintf("with --fakeroot: %s has %d user ids in /etc/subuid", h.name(), ids)}
	}
	return Mode{nil, fmt.Sprintf("without --fakeroot: %s has no line in /etc/subuid; Apptainer falls back to one user id, and packages that make users may fail", h.name())}
}

func (h Host) name() string {
	if h.User != "" {
		return h.User
	}
	return "user " + strconv.Itoa(h.UID)
}

// subordinate counts the user ids of /etc/subuid, where Apptainer looks too.
func (h Host) subordinate() int {
	f, err := h.Root.Open("etc/subuid")
	if err != nil {
		return 0
	}
	defer f.Close()
	most := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		p := strings.Split(strings.TrimSpace(sc.Text()), ":")
		if len(p) == 3 && p[0] != "" && slices.Contains([]string{h.User, strconv.Itoa(h.UID)}, p[0]) {
			n, _ := strconv.Atoi(p[2])
			most = max(most, n)
		}
	}
	return most
}

// has reads the bounding set; a host that does not tell has everything.
func (h Host) has(bit uint) bool {
	b, err := fs.ReadFile(h.Root, "proc/self/status")
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "CapBnd:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return err != nil || set>>bit&1 == 1
		}
	}
	return true
}

// Compressions are the --compress choices with mksquashfs's arguments. Open
// MPI image of 359 MB, 2 cores, mksquashfs 4.6: gzip 32 s 129 MB, zstd (level 3)
// 11 s 132 MB, lz4 2 s 185 MB. zstd needs Linux 4.14 where the kernel mounts
// images (setuid Apptainer).
var Compressions = map[string]string{
	"zstd": "-comp zstd -Xcompression-level 3",
	"gzip": "-comp gzip",
	"lz4":  "-comp lz4",
}
