package campaign

import (
	"fmt"
	"time"

	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/store"
	"github.com/nearmetal/nearmetal/slurm"
)

// Design is what a user asks for.
type Design struct {
	Suites          []string
	Arms            []store.Arm
	Nodes           int // of the allocation
	Blocks, Warmups int
	Seed            uint64
	Timeout         time.Duration // of one launch
	Job             slurm.Plan    // partition, account, time … of the allocation
	Image           *store.Image
	Version, Host   string
	Now             time.Time
	Explain         bool           // ask the libraries what they chose
	Retries         int            // starts of a launch after one that failed
	Stop            store.StopRule // fewer than Blocks are enough
}

// New makes the run directory of a design.
func New(path string, d Design) (*store.Dir, error) {
	if d.Blocks < 1 || d.Warmups < 0 || d.Nodes < 1 {
		return nil, fail.Usagef("--blocks 10 --warmups 1 -N 2", "%d blocks, %d warm-ups, %d nodes: cannot be run", d.Blocks, d.Warmups, d.Nodes)
	}
	var cases []bench.Case
	for _, name := range d.Suites {
		s, err := FindSuite(name)
		if err != nil {
			return nil, err
		}
		c, err := s.Cases(d.Nodes)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c...)
	}
	var arms []string
	for _, a := range d.Arms {
		arms = append(arms, a.Name)
	}
	m := store.Manifest{
		Version: d.Version, Created: d.Now.UTC(), Host: d.Host,
		Seed: d.Seed, Warmups: d.Warmups, Blocks: d.Blocks, Timeout: d.Timeout,
		Cases: cases, Arms: d.Arms, Image: d.Image, Job: allocation(d.Job, d.Nodes, cases),
		Explain: d.Explain, Retries: d.Retries, Stop: d.Stop,
		Schedule: bench.Schedule(cases, arms, d.Warmups, d.Blocks, d.Seed),
	}
	if err := m.Plausible(PlanOf); err != nil {
		return nil, err
	}
	return store.Create(path, m)
}

// allocation asks for what the largest case needs on each node.
func allocation(job slurm.Plan, nodes int, cases []bench.Case) slurm.Plan {
	job.Nodes, job.Ranks, job.PerNode = nodes, 0, 1
	for _, c := range cases {
		job.PerNode = max(job.PerNode, (c.Ranks+c.Nodes-1)/c.Nodes)
	}
	return job
}

// Estimate says how long the rest of a run takes, from the launches so far.
func Estimate(runs []bench.Run, missing int) (time.Duration, bool) {
	if len(runs) == 0 {
		return 0, false
	}
	last := runs[max(0, len(runs)-20):]
	var sum time.Duration
	for _, r := range last {
		sum += r.End.Sub(r.Start)
	}
	return sum / time.Duration(len(last)) * time.Duration(missing), true
}

// Label is a launch in a few words: "block 3, container, 1 node, 2 ranks".
func Label(l bench.Launch) string {
	block := fmt.Sprintf("block %d", l.Block+1)
	if l.Block == bench.WarmUp {
		block = "warm-up"
	}
	return fmt.Sprintf("%s, %s, %s", block, l.Arm, l.Case)
}
