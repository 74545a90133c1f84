package slurm

import (
	"fmt"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Script writes an sbatch script of the step: what is asked of the scheduler
// as #SBATCH lines, the environment, and the srun line.
func (p Plan) Script() (string, error) {
	if err := p.Validate(); err != nil {
		return "", err
	}
	head, err := p.directives()
	if err != nil {
		return "", err
	}
	step := p.inAllocation()
	step.Target.Modules = nil
	argv, err := step.Argv()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("#!/bin/bash -l\n" + head + "set -e\n\n")
	for _, m := range p.modules() {
		b.WriteString("module load " + shellescape.Quote(m) + "\n")
	}
	for _, v := range p.environ() {
		b.WriteString("export " + v.assignment() + "\n")
	}
	if len(p.modules())+len(p.environ()) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(folded(argv) + "\n")
	return b.String(), nil
}

func (p Plan) modules() []string {
	if p.Target.Kind != Native {
		return nil
	}
	return p.Target.Modules
}

// inAllocation drops from a step what the allocation around it has decided.
func (p Plan) inAllocation() Plan {
	p.Partition, p.Account, p.QOS, p.Time, p.JobName, p.NodeList, p.Exclusive = "", "", "", 0, "", nil, false
	return p
}

// directives are the #SBATCH lines.
func (p Plan) directives() (string, error) {
	var a args
	a.text("--job-name=", p.JobName)
	a.number("--nodes=", p.Nodes)
	a.number("--ntasks=", p.Ranks)
	a.number("--ntasks-per-node=", p.PerNode)
	a.number("--cpus-per-task=", p.CPUsPerTask)
	a.text("--gpus-per-node=", p.GPUsPerNode)
	a.text("--nodelist=", strings.Join(p.NodeList, ","))
	a.text("--partition=", p.Partition)
	a.text("--account=", p.Account)
	a.text("--qos=", p.QOS)
	a.text("--time=", Minutes(p.Time))
	a.flag("--exclusive", p.Exclusive)
	var b strings.Builder
	for _, o := range a {
		// sbatch cuts the line at blanks and # and knows its own quotes, not the shell's.
		if strings.ContainsAny(o, " \t#'\"\\") {
			return "", fail.Usagef("choose a name without them", "%q: blanks, quotes, # and \\ cannot be written on an #SBATCH line", o)
		}
		fmt.Fprintf(&b, "#SBATCH %s\n", o)
	}
	return b.String() + "\n", nil
}

// folded breaks a command into lines that a shell joins again, each option on
// the line of its value.
func folded(argv []string) string {
	const width = 90
	var b strings.Builder
	col := 0
	for i, a := range argv {
		q := shellescape.Quote(a)
		switch {
		case i == 0:
		case col+len(q) > width:
			b.WriteString(" \\\n  ")
			col = 2
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(q)
		col += len(q)
	}
	return b.String()
}
