package campaign

import (
	"bufio"
	"context"
	"io"
	"strings"

	"github.com/nearmetal/nearmetal/internal/store"
	"github.com/nearmetal/nearmetal/slurm"
)

// capture prints what of an arm's world may explain a difference; constant,
// and made of what every /bin/sh has. The variable left out is a key that
// Slurm makes anew for each step.
const capture = `echo "kernel=$(uname -r)"
echo "locked memory=$(ulimit -l)"
echo "open files=$(ulimit -n)"
echo "stack size=$(ulimit -s)"
if [ -w /dev/shm ]; then echo "/dev/shm=writable"; else echo "/dev/shm=not writable"; fi
read -r thp < /sys/kernel/mm/transparent_hugepage/enabled && echo "huge pages=$thp"
if [ -r /etc/os-release ]; then . /etc/os-release; echo "image.system=$PRETTY_NAME"; fi
env | grep -v '^OMPI_MCA_orte_precondition_transports=' | while IFS= read -r v; do case $v in
OMPI_MCA_*|OPAL_*|PRTE_MCA_*|PMIX_MCA_*|UCX_*|FI_*|NCCL_*|OMP_*|MPICH_*|I_MPI_*|MALLOC_*|CUDA_VISIBLE_DEVICES=*) echo "env.$v";;
esac; done
exit 0`

// environments captures each arm's environment once, with one rank, before its
// first launch. A failure is no reason to stop: the launches will show it.
func (e *executor) environments(ctx context.Context) error {
	for _, a := range e.dir.Manifest.Arms {
		if e.dir.HasEnvironment(a.Name) {
			continue
		}
		rec, err := e.dir.BeginEnvironment(a.Name)
		if err != nil {
			return err
		}
		p := a.Plan
		p.Nodes, p.Ranks, p.PerNode = 1, 1, 0
		p.Program = []string{"sh", "-c", capture}
		if p.Target.Kind == slurm.Unpacked {
			p.Target = slurm.Target{Kind: slurm.Native} // there is no container around it
		}
		run, err := e.start(ctx, p, rec)
		if err != nil {
			rec.Abort()
			return err
		}
		if _, err := rec.Commit(run); err != nil {
			return err
		}
	}
	return nil
}

// capturedEnv reads what environments has stored.
func capturedEnv(dir *store.Dir, arm string) map[string]string {
	f, err := dir.OpenEnvironment(arm)
	if err != nil {
		return map[string]string{}
	}
	defer f.Close()
	return parseCapture(f)
}

func parseCapture(r io.Reader) map[string]string {
	env := map[string]string{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if k, v, ok := strings.Cut(s.Text(), "="); ok && k != "" {
			env[k] = v
		}
	}
	return env
}
