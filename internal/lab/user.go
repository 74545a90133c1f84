package lab

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// user is an account of the node (passwd(5), group(5)).
type user struct {
	name, home, shell string
	uid, gid          uint32
	groups            []uint32
}

// lookupUser reads the node's own account files.
func lookupUser(root fs.FS, name string) (user, error) {
	passwd, err := fs.ReadFile(root, "etc/passwd")
	if err != nil {
		return user{}, err
	}
	group, err := fs.ReadFile(root, "etc/group")
	if err != nil {
		return user{}, err
	}
	u, ok := parseUser(string(passwd), string(group), name)
	if !ok {
		return user{}, fail.Usagef("nearmetal-lab exec --user alice NODE -- CMD", "the node has no user %q", name)
	}
	return u, nil
}

func parseUser(passwd, group, name string) (user, bool) {
	for _, line := range strings.Split(passwd, "\n") {
		f := strings.Split(line, ":")
		if len(f) != 7 || f[0] != name {
			continue
		}
		uid, err1 := strconv.ParseUint(f[2], 10, 32)
		gid, err2 := strconv.ParseUint(f[3], 10, 32)
		if err1 != nil || err2 != nil {
			return user{}, false
		}
		u := user{name: name, home: f[5], shell: f[6], uid: uint32(uid), gid: uint32(gid)}
		u.groups = parseGroups(group, name, u.gid)
		return u, true
	}
	return user{}, false
}

func parseGroups(group, name string, own uint32) []uint32 {
	out := []uint32{own}
	for _, line := range strings.Split(group, "\n") {
		f := strings.Split(line, ":")
		if len(f) != 4 {
			continue
		}
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil || uint32(gid) == own {
			continue
		}
		for _, member := range strings.Split(f[3], ",") {
			if member == name {
				out = append(out, uint32(gid))
			}
		}
	}
	return out
}

func (u user) credential() *syscall.Credential {
	return &syscall.Credential{Uid: u.uid, Gid: u.gid, Groups: u.groups}
}

func (u user) path() string {
	if u.uid == 0 {
		return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	return "/usr/local/bin:/usr/bin:/bin"
}

// passed are variables of ours that a command with the machine's network needs
// as well.
var passed = []string{"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}

// environment is a login's, not ours: only the terminal's type passes, and the
// proxies with the machine's network. What was asked for comes last and wins.
func environment(u user, hostNet bool, asked []string, getenv func(string) string) []string {
	env := []string{"PATH=" + u.path(), "HOME=" + u.home, "USER=" + u.name, "LOGNAME=" + u.name, "SHELL=" + u.shell, "LANG=C.UTF-8"}
	keep := []string{"TERM"}
	if hostNet {
		keep = append(keep, passed...)
	}
	for _, name := range keep {
		if v := getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return lastWins(append(env, asked...))
}

// lastWins drops earlier settings of a name, as programs disagree which of two
// counts.
func lastWins(env []string) []string {
	at := map[string]int{}
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if i, ok := at[name]; ok {
			out[i] = kv
			continue
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}

// checkEnv refuses what is no NAME=value.
func checkEnv(env []string) error {
	for _, kv := range env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.ContainsRune(kv, 0) {
			return fail.Usagef("nearmetal-lab exec --env NAME=value NODE -- CMD", "%s is no NAME=value", fmt.Sprintf("%.60q", kv))
		}
	}
	return nil
}
