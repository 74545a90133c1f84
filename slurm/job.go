package slurm

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Job is what Slurm tells of a job. Empty means that it did not say.
type Job struct {
	ID      string
	Name    string
	State   string // "PENDING", "RUNNING", "COMPLETED", "CANCELLED" …
	Reason  string // why it waits or failed; "" for None
	Comment string
	Start   string // expected start of a waiting job, local time of the cluster
	Nodes   string // node list expression
	Exit    string // "0:0": exit code and signal
}

// Waiting says whether the job has not begun.
func (j Job) Waiting() bool { return j.State == "PENDING" || j.State == "REQUEUED" }

// Alive says whether the job holds nodes.
func (j Job) Alive() bool {
	switch j.State {
	case "RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "COMPLETING":
		return true
	}
	return false
}

// ParseSubmitted reads what `sbatch --parsable` prints: "123" or "123;cluster".
// A site's job submit plugin may talk before it.
func ParseSubmitted(text string) (id, cluster string, err error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	id, cluster, _ = strings.Cut(strings.TrimSpace(lines[len(lines)-1]), ";")
	if !isNumber(id) {
		return "", "", fail.New(fail.Failed, "squeue --me shows whether it was submitted", "sbatch printed %q, not a job id", text)
	}
	return id, cluster, nil
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// key begins a "Name=value" pair of scontrol's one-line form. Values may hold
// blanks, be empty or hold "=", so a pair ends only where the next known shape
// of a key begins.
var key = regexp.MustCompile(`(?:^| )([A-Z][A-Za-z0-9_/:]*(?:\[[^\]]*\])?)=`)

// Field is one pair of scontrol's.
type Field struct{ Name, Value string }

// ParseFields reads one line of `scontrol show … -o`.
func ParseFields(line string) []Field {
	at := key.FindAllStringSubmatchIndex(line, -1)
	var out []Field
	for i, m := range at {
		end := len(line)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		out = append(out, Field{line[m[2]:m[3]], strings.TrimSpace(line[m[1]:end])})
	}
	return out
}

// ParseJobs reads `scontrol show job -o`, one job a line.
func ParseJobs(text string) ([]Job, error) {
	var out []Job
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line == "No jobs in the system" {
			continue
		}
		if !strings.HasPrefix(line, "JobId=") {
			return nil, fmt.Errorf("scontrol show job: line %d: no JobId: %.60q", n+1, line)
		}
		out = append(out, jobOf(ParseFields(line)))
	}
	return out, nil
}

func jobOf(fields []Field) Job {
	var j Job
	for _, f := range fields {
		v := f.Value
		if v == "(null)" || v == "None" || v == "N/A" {
			v = ""
		}
		switch f.Name {
		case "JobId":
			j.ID = v
		case "JobName":
			j.Name = v
		case "JobState":
			j.State = v
		case "Reason":
			j.Reason = v
		case "Comment":
			j.Comment = v
		case "NodeList":
			j.Nodes = v
		case "ExitCode":
			j.Exit = v
		case "StartTime":
			if v != "Unknown" {
				j.Start = v
			}
		}
	}
	return j
}

// ParseAccounts reads `sacct -X -n -P --format=JobID,State,ExitCode,Start,End,NodeList`.
// States come with a tail ("CANCELLED by 1000") and may be cut with "+".
func ParseAccounts(text string) ([]Job, error) {
	var out []Job
	for n, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Split(line, "|")
		if len(f) != 6 {
			return nil, fmt.Errorf("sacct: line %d: %d fields, want 6: %.60q", n+1, len(f), line)
		}
		state, _, _ := strings.Cut(strings.TrimSpace(f[1]), " ")
		out = append(out, Job{ID: f[0], State: wholeState(state), Exit: f[2], Nodes: f[5]})
	}
	return out, nil
}

// states are Slurm's base states (sacct(1), JOB STATE CODES).
var states = []string{"BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING", "CONFIGURING", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PENDING", "PREEMPTED", "REQUEUED", "RESIZING", "REVOKED", "RUNNING", "SUSPENDED", "TIMEOUT"}

// wholeState undoes a cut: "CANCELLE+", "OUT_OF_ME+". An ambiguous one stays.
func wholeState(s string) string {
	cut, ok := strings.CutSuffix(s, "+")
	if !ok {
		return s
	}
	match := ""
	for _, state := range states {
		if strings.HasPrefix(state, cut) {
			if match != "" {
				return s
			}
			match = state
		}
	}
	if match == "" {
		return s
	}
	return match
}
