package lab

import (
	"context"
	"errors"
	"os"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Down ends the lab, whatever of it stands, and leaves no process, mount,
// namespace, network or control group. /home, /shared and the cached roots
// stay unless purge is set.
func (l *Lab) Down(ctx context.Context, purge bool) error {
	if err := needRoot(); err != nil {
		return err
	}
	release, err := l.lock(ctx, l.path("lock"))
	if err != nil {
		return err
	}
	defer release()
	if err := l.clear(ctx); err != nil || !purge {
		return err
	}
	return errors.Join(os.RemoveAll(l.path("home")), os.RemoveAll(l.path("shared")), os.RemoveAll(l.path("log")),
		os.RemoveAll(l.path("roots")), os.RemoveAll(l.path("bases")))
}

func needRoot() error {
	if os.Geteuid() != 0 {
		return fail.Missingf("run it with sudo", "only root can end or enter the lab")
	}
	return nil
}

// clear ends everything with this lab's mark and removes its traces. Mounts,
// network and the bridge go with the last process of their namespaces.
func (l *Lab) clear(ctx context.Context) error {
	all, err := scan("/proc")
	if err != nil {
		return err
	}
	var mine []proc
	for _, p := range all {
		if p.id == l.ID() {
			mine = append(mine, p)
		}
	}
	if err := errors.Join(end(ctx, mine), removeCgroups(ctx, cgroupRoot, l.ID()), l.dropSlowGroups()); err != nil {
		return err
	}
	if err := os.RemoveAll(l.path("run")); err != nil {
		return err
	}
	if err := os.Remove(l.path("lab.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Standing lists the directories of all labs that run on this machine.
func Standing() ([]string, error) {
	all, err := scan("/proc")
	if err != nil {
		return nil, err
	}
	var dirs []string
	seen := map[string]bool{}
	for _, p := range all {
		if p.dir != "" && !seen[p.dir] {
			seen[p.dir] = true
			dirs = append(dirs, p.dir)
		}
	}
	return dirs, nil
}
