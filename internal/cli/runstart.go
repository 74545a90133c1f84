package cli

import (
	"os"
	"path/filepath"

	"github.com/nearmetal/nearmetal/slurm"
)

// enterProgram is the helper that ranks start through; it lies beside nearmetal,
// where the nodes see both.
const enterProgram = "nearmetal-enter"

// containerTarget is the image with the way in that fits it.
func containerTarget(d Deps, o launchFlags) (slurm.Target, error) {
	image, err := filepath.Abs(o.Image)
	if err != nil {
		return slurm.Target{}, err
	}
	t := slurm.Target{Kind: slurm.Container, Image: image, NV: o.NV, Options: o.Options}
	t.Start, err = slurm.ChooseStart(slurm.StartMode(o.Start), enterPath(d), t)
	return t, err
}

// enterPath is the helper's path, or "" where it is missing. NEARMETAL_ENTER
// names it where the nodes have it elsewhere.
func enterPath(d Deps) string {
	if p := d.Getenv("NEARMETAL_ENTER"); filepath.IsAbs(p) {
		return p
	}
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	p := filepath.Join(filepath.Dir(self), enterProgram)
	if info, err := os.Stat(p); err != nil || info.Mode()&0o111 == 0 {
		return ""
	}
	return p
}
