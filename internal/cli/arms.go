package cli

import (
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/nearmetal/nearmetal/bench/probe"
	"github.com/nearmetal/nearmetal/internal/campaign"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/image"
	"github.com/nearmetal/nearmetal/internal/store"
	"github.com/nearmetal/nearmetal/slurm"
)

// design turns the flags into what the campaign needs.
func (o BenchOptions) design(d Deps) (campaign.Design, error) {
	timeout, err := o.timeout()
	if err != nil {
		return campaign.Design{}, err
	}
	arms, job, err := o.arms(d)
	if err != nil {
		return campaign.Design{}, err
	}
	host, err := os.Hostname()
	if err != nil {
		return campaign.Design{}, err
	}
	design := campaign.Design{
		Suites: o.Suites, Arms: arms, Nodes: max(o.Nodes, 1), Blocks: o.Blocks, Warmups: o.Warmups,
		Seed: o.Seed, Timeout: timeout, Job: job, Version: Version, Host: host, Now: d.Now(),
	}
	design.Explain, design.Retries = !o.NoExplain, o.Retries
	if design.Stop, err = o.stop(); err != nil {
		return campaign.Design{}, err
	}
	if !o.seedGiven {
		design.Seed = rand.Uint64()
	}
	if o.Image != "" {
		design.Image, err = imageRef(arms)
	}
	return design, err
}

// arms gives each arm the same plan with its own target, and the plan of the
// allocation around all of them.
func (o BenchOptions) arms(d Deps) ([]store.Arm, slurm.Plan, error) {
	native := o.launchFlags
	native.Image = ""
	base, err := native.plan(d)
	if err != nil {
		return nil, base, err
	}
	step := base
	step.Partition, step.Account, step.QOS, step.Time, step.JobName, step.Exclusive = "", "", "", 0, "", false
	step.GPUsPerNode = base.GPUsPerNode
	var arms []store.Arm
	seen := map[string]bool{}
	for _, name := range o.Arms {
		if seen[name] {
			return nil, base, fail.Usagef("--arms native,native-again,container", "arm %q is there twice", name)
		}
		seen[name] = true
		a, err := o.arm(d, name, step)
		if err != nil {
			return nil, base, err
		}
		arms = append(arms, a)
	}
	return arms, base, nil
}

func (o BenchOptions) arm(d Deps, name string, p slurm.Plan) (store.Arm, error) {
	switch name {
	case "native", "native-again":
		dir, err := o.nativeDir(d)
		return store.Arm{Name: name, Plan: p, Dir: dir}, err
	case "container":
		if o.Image == "" {
			return store.Arm{}, fail.Usagef("--image app.sif, or --arms native,native-again", "arm container: no image")
		}
		t, err := containerTarget(d, o.launchFlags)
		if err != nil {
			return store.Arm{}, err
		}
		p.Target = t
		return store.Arm{Name: name, Plan: p, Dir: o.ImageBin}, nil
	case "unpacked":
		t, err := unpackedTarget(o.Root)
		if err != nil {
			return store.Arm{}, err
		}
		p.Target = t
		return store.Arm{Name: name, Plan: p, Dir: filepath.Join(t.Root, first(o.ImageBin, "/usr/local/bin"))}, nil
	}
	return store.Arm{}, fail.Usagef("arms: native, native-again, container, unpacked", "unknown arm %q", name)
}

// nativeDir is where the native programs lie: the directory asked for, else
// beside nearmetal when the probe is there, else "" (PATH).
func (o BenchOptions) nativeDir(d Deps) (string, error) {
	if o.NativeBin != "" {
		return filepath.Abs(o.NativeBin)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(self)
	for _, s := range o.Suites {
		if s != "mpi" {
			return "", nil
		}
	}
	if _, err := os.Stat(filepath.Join(dir, probe.Program)); err == nil {
		return dir, nil
	}
	if _, err := d.Runner.Look(probe.Program); err != nil {
		return "", fail.Missingf("mpicc "+probe.Build+" -o "+filepath.Join(dir, probe.Program)+" bench/probe/src/*.c "+probe.Libs,
			"%s: neither beside nearmetal nor in PATH", probe.Program)
	}
	return "", nil
}

// imageRef identifies the image without reading all of it.
func imageRef(arms []store.Arm) (*store.Image, error) {
	for _, a := range arms {
		if a.Plan.Target.Kind != slurm.Container {
			continue
		}
		path := a.Plan.Target.Image
		info, err := os.Stat(path)
		if err != nil {
			return nil, fail.Missingf("nearmetal build recipe.yaml -o "+filepath.Base(path), "image: %w", err)
		}
		ref := &store.Image{Path: path, Size: info.Size(), Modified: info.ModTime().UTC()}
		if img, err := image.Open(path); err == nil {
			ref.ID = img.UUID
		}
		return ref, nil
	}
	return nil, nil
}

// unpackedTarget finds the loader and libraries in an unpacked root.
func unpackedTarget(root string) (slurm.Target, error) {
	hint := "apptainer build --sandbox ROOT IMG.sif, then --root ROOT"
	if root == "" {
		return slurm.Target{}, fail.Usagef(hint, "arm unpacked: no --root")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return slurm.Target{}, err
	}
	t := slurm.Target{Kind: slurm.Unpacked, Root: root, Prefix: filepath.Join(root, "usr")}
	for _, loader := range []string{"lib64/ld-linux-x86-64.so.2", "lib/ld-linux-aarch64.so.1"} {
		if _, err := os.Stat(filepath.Join(root, loader)); err == nil {
			t.Loader = filepath.Join(root, loader)
		}
	}
	for _, lib := range []string{"usr/local/lib", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib"} {
		if info, err := os.Stat(filepath.Join(root, lib)); err == nil && info.IsDir() {
			t.Library = append(t.Library, filepath.Join(root, lib))
		}
	}
	if t.Loader == "" || len(t.Library) == 0 {
		return t, fail.Usagef(hint, "%s: no root directory with a loader and libraries", root)
	}
	return t, nil
}
