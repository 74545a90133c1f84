package collect

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/runner"
	"github.com/nearmetal/nearmetal/internal/site"
)

func (c *Collector) slurm(ctx context.Context) site.Slurm {
	s := site.Slurm{}
	if v := c.outputFact(ctx, "srun", "--version"); v != nil {
		s.Version = site.Of(strings.TrimPrefix(v.Value, "slurm "), v.Source)
	}
	if text, ok := c.output(ctx, "scontrol", "show", "config"); ok {
		s.Config = site.Of(parseConfig(text), "scontrol show config")
	}
	c.mpiList(ctx, &s)
	if id := c.getenv("SLURM_JOB_ID"); id != "" {
		s.Step = site.Of(id+"."+c.getenv("SLURM_STEP_ID"), "SLURM_JOB_ID, SLURM_STEP_ID")
	}
	if c.Cred != "" {
		s.Munge, s.MungeTime = c.unmunge(ctx)
	}
	return s
}

// configKeys are the lines of scontrol show config that decide how MPI jobs run.
var configKeys = []string{
	"ProctrackType", "TaskPlugin", "MpiDefault", "MpiParams", "PrologFlags", "PropagateResourceLimits", "PropagateResourceLimitsExcept",
	"LaunchParameters", "SlurmdSpoolDir", "TmpFS", "TaskProlog", "SrunProlog", "JobAcctGatherType", "SelectType", "SelectTypeParameters",
	"SwitchType", "AuthType", "CredType", "SlurmctldLogFile", "SlurmdLogFile", "SLURM_VERSION", "TaskPluginParam",
}

func parseConfig(text string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		k, v, ok := strings.Cut(line, "=")
		if k = strings.TrimSpace(k); ok && slices.Contains(configKeys, k) {
			out[k] = strings.TrimSpace(v)
		}
	}
	return out
}

// mpiList reads srun --mpi=list, which writes to stderr before Slurm 23.02.
func (c *Collector) mpiList(ctx context.Context, s *site.Slurm) {
	if _, err := c.Run.Look("srun"); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	var out bytes.Buffer
	res, err := c.Run.Run(ctx, runner.Cmd{Argv: []string{"srun", "--mpi=list"}, Stdout: &out, Stderr: &out})
	if err != nil || res.ExitCode != 0 {
		return
	}
	mpi, pmix := parseMPIList(out.String())
	s.MPI = site.Of(mpi, "srun --mpi=list")
	s.PMIx = site.Of(pmix, "srun --mpi=list")
}

func parseMPIList(text string) (mpi, pmix []string) {
	for _, line := range strings.Split(text, "\n") {
		if _, list, ok := strings.Cut(line, "pmix plugin versions available:"); ok {
			for _, v := range strings.Split(list, ",") {
				pmix = append(pmix, strings.TrimSpace(v))
			}
			continue
		}
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "srun:"))
		if f := strings.Fields(line); len(f) == 1 {
			mpi = append(mpi, f[0])
		}
	}
	return mpi, pmix
}

// unmunge decodes the login node's credential: whether this node shares its
// key, and what time munged thinks it is (unmunge(1)).
func (c *Collector) unmunge(ctx context.Context) (*site.Fact[string], *site.Fact[int64]) {
	if _, err := c.Run.Look("unmunge"); err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	var out bytes.Buffer
	_, err := c.Run.Run(ctx, runner.Cmd{Argv: []string{"unmunge"}, Stdin: strings.NewReader(c.Cred), Stdout: &out, Stderr: &out})
	if err != nil {
		return nil, nil
	}
	return parseUnmunge(&out)
}

func parseUnmunge(r io.Reader) (status *site.Fact[string], decoded *site.Fact[int64]) {
	const source = "munge -n (login node) | unmunge"
	text, _ := io.ReadAll(io.LimitReader(r, 1<<20))
	for _, line := range strings.Split(string(text), "\n") {
		k, v, ok := strings.Cut(line, ":")
		switch {
		case !ok:
		case k == "STATUS":
			status = site.Of(strings.TrimSpace(v), source)
		case k == "unmunge" && status == nil:
			status = site.Of(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(v), "Error:")), source)
		case k == "DECODE_TIME":
			// "2026-11-30 20:00:00 +0000 (1796068800)"
			if i := strings.LastIndexByte(v, '('); i >= 0 {
				if n, err := strconv.ParseInt(strings.Trim(v[i:], "()"), 10, 64); err == nil {
					decoded = site.Of(n, source)
				}
			}
		}
	}
	return status, decoded
}

// states asks slurmctld for the nodes' states. When it does not answer, what
// sinfo says is worth reading: here keys and clocks show too.
func (c *Collector) states(ctx context.Context) (*site.Fact[[]site.NodeState], *site.Launch) {
	if _, err := c.Run.Look("sinfo"); err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	argv := []string{"sinfo", "-N", "-h", "-o", "%N|%T|%E"}
	var out, errs bytes.Buffer
	res, err := c.Run.Run(ctx, runner.Cmd{Argv: argv, Stdout: &out, Stderr: &errs})
	if err != nil || res.ExitCode != 0 {
		return nil, &site.Launch{Command: "sinfo", ExitCode: res.ExitCode, Said: trimmed(strings.Split(errs.String(), "\n"))}
	}
	return site.Of(parseStates(out.String()), "sinfo -N -o '%N|%T|%E'"), nil
}

func parseStates(text string) []site.NodeState {
	var out []site.NodeState
	seen := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		f := strings.SplitN(line, "|", 3)
		if len(f) != 3 || seen[f[0]] {
			continue // a node is listed once for each partition
		}
		seen[f[0]] = true
		n := site.NodeState{Node: f[0], State: f[1], Reason: f[2]}
		if n.Reason == "none" {
			n.Reason = ""
		}
		out = append(out, n)
	}
	return out
}
