package slurm

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Failure is what a failed step's standard error says about it.
type Failure struct {
	Refused string   // Slurm did not start the step: its reason
	Hint    string   // advice for Refused
	Where   string   // "task 3 on n2", of the first rank that ended badly
	How     string   // "Exited with exit code 7", "Segmentation fault (core dumped)"
	Lines   []string // the last lines that matter, oldest first, without repetitions
}

// keepLines is how many lines that matter are kept.
const keepLines = 12

var (
	// "srun: error: n1: tasks 0-1: Segmentation fault (core dumped)"
	taskEnd = regexp.MustCompile(`^srun: error: ([^:\s]+): (tasks? [0-9,\-\[\]]+): (.+)$`)
	// "srun: error: Unable to allocate resources: Invalid partition name specified"
	refusal = regexp.MustCompile(`^srun: (?:error|fatal): ((?:Unable to (?:allocate|create|confirm)|Invalid|No partition|Job submit|Requested|Couldn't find the specified plugin name|cannot find|cannot create|Zero Bytes|Only allocated|Access/permission denied|Duration|Slurm controller|MPI plugin|Failed to initialize|.*configuration is not available).*)$`)
	// Slurm's own account of the consequences, and rank prefixes.
	consequence = regexp.MustCompile(`^(?:srun: (?:error: .*: tasks? [0-9,\-\[\]]+: (?:Exited|Terminated|Killed)|Job step aborted|job \d+ |launch/|Terminating|Force|mpi/pmix)|slurmstepd(?:-\S+)?: error: \*\*\* (?:STEP|JOB))|^srun: error: [^:]+: tasks? `)
	// "slurmstepd-n1: error: execve(): app: No such file or directory", "srun: unrecognized option '--nope'"
	noProgram  = regexp.MustCompile(`^slurmstepd(?:-(\S+))?: error: execve\(\): (.+)$`)
	badOption  = regexp.MustCompile(`^(?:\S*/)?srun: ((?:unrecognized|invalid|ambiguous|unknown) option.*|option .*requires an argument.*)$`)
	rankPrefix = regexp.MustCompile(`^\s*\d+: `)
)

// refusals pairs a part of Slurm's reason with what to do.
var refusals = []struct{ part, hint string }{
	{"invalid partition", "sinfo -s lists the partitions; set one with -p or in site.yaml"},
	{"invalid account", "sacctmgr show assoc user=$USER lists your accounts; set one with -A or in site.yaml"},
	{"plugin name for mpi", "srun --mpi=list shows what is there; set one with --mpi or in site.yaml"},
	{"more processors requested", "fewer ranks or CPUs, or --overlap beside another step"},
	{"node count specification", "sinfo shows how many nodes there are"},
	{"node configuration is not available", "sinfo -o '%n %c %m %G' shows what the nodes have"},
	{"unable to contact slurm controller", "scontrol ping shows whether slurmctld answers"},
}

// ReadFailure reads the end of a step's standard error.
func ReadFailure(r io.Reader) Failure {
	var f Failure
	seen := map[string]bool{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := strings.TrimRight(s.Text(), " \t\r")
		bare := rankPrefix.ReplaceAllString(line, "")
		f.notice(bare)
		if bare == "" || seen[bare] || consequence.MatchString(bare) {
			continue
		}
		seen[bare] = true
		f.Lines = append(f.Lines, line)
	}
	if over := len(f.Lines) - keepLines; over > 0 {
		f.Lines = f.Lines[over:]
	}
	return f
}

// ReadAllocation reads what salloc said: Refused is why it gave no allocation.
func ReadAllocation(r io.Reader) Failure {
	var f Failure
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() && f.Refused == "" {
		if line, ok := strings.CutPrefix(s.Text(), "salloc: "); ok {
			f.Refused, f.Hint = refused("srun: " + line)
		}
	}
	return f
}

func (f *Failure) notice(line string) {
	if m := taskEnd.FindStringSubmatch(line); m != nil && f.betterThan(m[3]) {
		f.Where, f.How = m[2]+" on "+m[1], m[3]
	}
	if f.Refused == "" {
		f.Refused, f.Hint = refused(line)
	}
}

// betterThan prefers a cause over Slurm's own killing of the other ranks.
func (f *Failure) betterThan(how string) bool {
	killed := func(s string) bool { return strings.HasPrefix(s, "Killed") || strings.HasPrefix(s, "Terminated") }
	return f.How == "" || killed(f.How) && !killed(how)
}

// refused gives the reason and the advice of a line that says that nothing was
// started.
func refused(line string) (reason, hint string) {
	if m := refusal.FindStringSubmatch(line); m != nil {
		return m[1], refusalHint(m[1])
	}
	if m := noProgram.FindStringSubmatch(line); m != nil {
		if strings.Contains(m[2], "/nearmetal-enter: ") {
			return m[2], "--start exec, or NEARMETAL_ENTER=PATH where the nodes have nearmetal-enter elsewhere"
		}
		return m[2], "give the program's full path; it must exist on the nodes"
	}
	if m := badOption.FindStringSubmatch(line); m != nil {
		return m[1], "srun --help"
	}
	return "", ""
}

func refusalHint(reason string) string {
	low := strings.ToLower(reason)
	for _, r := range refusals {
		if strings.Contains(low, r.part) {
			return r.hint
		}
	}
	return ""
}

// Sentence says how the step ended.
func (f Failure) Sentence(exit int) string {
	switch {
	case f.Where != "":
		return fmt.Sprintf("%s: %s; exit code %d", f.Where, f.How, exit)
	case exit > 128:
		return fmt.Sprintf("ended by signal %d", exit-128)
	}
	return fmt.Sprintf("exit code %d", exit)
}
