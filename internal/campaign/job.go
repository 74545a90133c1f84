package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/google/renameio/v2"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/store"
	"github.com/nearmetal/nearmetal/slurm"
)

// Files of a submitted run.
const (
	scriptName = "submit.sh"
	LogName    = "slurm.log" // what the job says
)

// jobName is how the job shows in squeue.
func jobName(dir *store.Dir) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '_'
		}
		return r
	}, filepath.Base(dir.Path()))
	return "nearmetal:" + name
}

// request is what salloc and sbatch are asked for.
func request(dir *store.Dir) []string {
	p := dir.Manifest.Job
	out := []string{"--job-name=" + jobName(dir), "--comment=nearmetal " + dir.Path()}
	for _, o := range []struct{ option, value string }{
		{"--partition=", p.Partition}, {"--account=", p.Account}, {"--qos=", p.QOS}, {"--time=", slurm.Minutes(p.Time)},
		{"--gpus-per-node=", p.GPUsPerNode}, {"--nodelist=", strings.Join(p.NodeList, ",")},
	} {
		if o.value != "" {
			out = append(out, o.option+o.value)
		}
	}
	out = append(out, "-N", strconv.Itoa(p.Nodes), "--ntasks-per-node="+strconv.Itoa(p.PerNode))
	if p.CPUsPerTask > 0 {
		out = append(out, "-c", strconv.Itoa(p.CPUsPerTask))
	}
	if p.Exclusive {
		out = append(out, "--exclusive")
	}
	return out
}

// resume is the command line that carries a run directory out inside a job.
func resume(self string, dir *store.Dir) []string {
	return []string{self, "bench", "--resume", dir.Path()}
}

// Allocate waits for an allocation and runs the directory inside it, in the
// foreground. The exit code is that of the bench inside.
func Allocate(ctx context.Context, w World, dir *store.Dir, self string, flags []string, out, talk io.Writer) error {
	// When salloc is interrupted it ends the allocation at once and by itself
	// leaves our bench alone, which would go on to launch into nothing.
	argv := append([]string{"salloc", "--kill-command=TERM"}, request(dir)...)
	argv = append(append(argv, resume(self, dir)...), flags...)
	var said bytes.Buffer
	res, err := w.Runner.Run(ctx, runner.Cmd{Argv: argv, Env: []string{InsideVar + "=1"}, Stdout: out, Stderr: io.MultiWriter(talk, &said), Tied: true})
	switch {
	case ctx.Err() != nil:
		return fail.New(fail.Failed, "nearmetal bench --resume "+shellescape.Quote(dir.Path()), "stopped; complete launches are kept")
	case err != nil:
		return fmt.Errorf("salloc: %w", err)
	case res.ExitCode == 0:
		return nil
	}
	if why := slurm.ReadAllocation(&said); why.Refused != "" {
		return fail.New(fail.Failed, why.Hint, "%w: %s", ErrRefused, why.Refused)
	}
	return fail.Exit(res.ExitCode)
}

// ErrRefused is an allocation that Slurm did not give: nothing was started.
var ErrRefused = errors.New("no allocation from Slurm")

// InsideVar tells a bench that salloc has started that it need not ask again.
const InsideVar = "NEARMETAL_ALLOCATED"

// Submit hands the directory to sbatch and gives the job's id. The job needs
// nothing of us afterwards.
func Submit(ctx context.Context, w World, dir *store.Dir, self string) (store.Job, error) {
	script := filepath.Join(dir.Path(), scriptName)
	text := "#!/bin/sh\n# Carries this run directory out; nearmetal made it.\nexec " + shellescape.QuoteCommand(append(resume(self, dir), "--no-compare")) + "\n"
	if err := renameio.WriteFile(script, []byte(text), 0o755); err != nil {
		return store.Job{}, err
	}
	argv := append([]string{"sbatch", "--parsable", "--export=ALL", "--open-mode=append"}, request(dir)...)
	// In file names sbatch replaces %j and the like; \ keeps a path as it is
	// (sbatch(1), "filename pattern").
	argv = append(argv, "--chdir="+dir.Path(), "--output="+escapePattern(filepath.Join(dir.Path(), LogName)), script)
	var out, errs bytes.Buffer
	res, err := w.Runner.Run(ctx, runner.Cmd{Argv: argv, Stdout: &out, Stderr: &errs})
	if err != nil {
		return store.Job{}, fmt.Errorf("sbatch: %w", err)
	}
	if res.ExitCode != 0 {
		return store.Job{}, fail.New(fail.Failed, "sinfo -s shows partitions; set one with -p or in site.yaml", "sbatch refused the job: %s", strings.TrimSpace(errs.String()))
	}
	id, cluster, err := slurm.ParseSubmitted(out.String())
	if err != nil {
		return store.Job{}, err
	}
	job := store.Job{ID: id, Cluster: cluster, Submitted: w.Now().UTC()}
	return job, dir.SetJob(job)
}

// escapePattern doubles what a file name pattern would replace.
func escapePattern(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// NoteJob records the job that we run in, for a submitter that died before it
// could.
func NoteJob(w World, dir *store.Dir) error {
	id := w.Getenv("SLURM_JOB_ID")
	if _, have, err := dir.Job(); id == "" || have || err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir.Path(), scriptName)); err != nil {
		return nil // not submitted: an allocation of our own
	}
	return dir.SetJob(store.Job{ID: id, Cluster: w.Getenv("SLURM_CLUSTER_NAME"), Submitted: w.Now().UTC()})
}
