package slurm

import (
	"slices"
	"strings"
)

// Reason says why a part of a step is there.
type Reason struct {
	Part string `json:"part"` // option or variable, as it stands in the line
	Why  string `json:"why"`
}

// Explain gives the reason of each part of the step that a user did not write.
func (p Plan) Explain() []Reason {
	var out []Reason
	add := func(when bool, part, why string) {
		if when {
			out = append(out, Reason{part, why})
		}
	}
	t := p.Target
	add(len(p.modules()) > 0, "bash -lc …", "loads the modules once, before srun; Slurm carries the environment to the ranks")
	add(true, "--export=ALL", "the program sees your environment, also inside a job that was submitted with --export=NONE")
	add(true, "--mpi="+orDefault(p.MPI, DefaultMPI), "Slurm's PMIx server wires the ranks up; without it each rank starts an MPI world of its own")
	add(p.CPUsPerTask > 0, "-c", "given to srun too: Slurm 22.05 to 23.02 does not hand sbatch's --cpus-per-task on")
	add(t.Kind == Container, "apptainer … exec", "srun starts each rank itself; mpirun inside would start all ranks in every task")
	add(t.Kind == Container && t.Start.Why != "", t.Start.part(), t.Start.Why)
	add(t.Kind == Container, "-s", "errors only: apptainer's INFO lines would mix with every rank's stderr")
	add(t.Kind == Container && len(p.own())+len(p.Env) > 0, "--no-eval", "values reach the program as they are; without it apptainer has a shell evaluate them")
	add(slices.Contains(p.Program, ":"), "sh -c 'for a do …'", "srun cuts its command line at an argument that is a lone colon; each argument travels behind a dot")
	add(t.NV, "--nv", "binds the host's NVIDIA driver libraries and devices")
	add(p.Workdir != "" && t.Kind == Container, "--pwd", "the same working directory as natively")
	for _, b := range p.Binds {
		add(t.Kind == Container, strings.Join(b.args(), " "), orDefault(b.Why, "asked for with --bind"))
	}
	for _, e := range append(p.own(), p.Env...) {
		add(e.Why != "", e.Name+"="+e.Value, e.Why)
	}
	add(t.Kind == Container && len(p.Env) > 0, "APPTAINERENV_…", "wins over what the image sets; PATH and LD_LIBRARY_PATH reach the program only this way")
	add(t.Kind == Unpacked, t.Loader, "the image's own loader and libraries, without a container")
	return out
}
