package cli

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nearmetal/nearmetal/internal/campaign"
	"github.com/nearmetal/nearmetal/internal/runner"
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

// holdBehind leaves a step behind that holds the containers for the next
// launches of the allocation around us. Without one the ranks start a container
// themselves, which lives as long as their step. That it fails is no reason not
// to launch.
func holdBehind(ctx context.Context, d Deps, p slurm.Plan) error {
	nodes, err := strconv.Atoi(d.Getenv("SLURM_JOB_NUM_NODES"))
	if err != nil || d.Getenv("SLURM_JOB_ID") == "" || campaign.InStep(d.Getenv("SLURM_STEP_ID")) {
		return nil
	}
	argv, err := p.HoldBehind(nodes)
	if err != nil || argv == nil {
		return err
	}
	_, _ = d.Runner.Run(ctx, runner.Cmd{Argv: argv, Env: p.Environ(d.Getenv("PATH"))})
	return nil
}
