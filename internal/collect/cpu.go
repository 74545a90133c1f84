package collect

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nearmetal/nearmetal/internal/site"
)

func (c *Collector) cpu() site.CPU {
	u := site.CPU{
		Governor:      c.textFact("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		NUMABalancing: c.intFact("proc/sys/kernel/numa_balancing"),
		HugePages:     c.intFact("proc/sys/vm/nr_hugepages"),
		THP:           c.textFact("sys/kernel/mm/transparent_hugepage/enabled"),
		Allowed:       c.allowed("self"),
	}
	if n := count(c.names("sys/devices/system/cpu"), "cpu"); n > 0 {
		u.Count = site.Of(n, "/sys/devices/system/cpu")
	}
	if n := count(c.names("sys/devices/system/node"), "node"); n > 0 {
		u.NUMANodes = site.Of(n, "/sys/devices/system/node")
	}
	c.procCPU(&u)
	if !c.Inside {
		ms, best, share := spin(c.Now)
		u.SpinMS, u.SpinBest, u.SpinCPU = site.Of(ms, spinSource), site.Of(best, spinSource), site.Of(share, spinSource)
	}
	return u
}

func (c *Collector) procCPU(u *site.CPU) {
	p, err := c.proc()
	if err != nil {
		return
	}
	if info, err := p.CPUInfo(); err == nil && len(info) > 0 {
		u.Model = site.Of(info[0].ModelName, "/proc/cpuinfo")
	}
	if m, err := p.Meminfo(); err == nil && m.MemTotalBytes != nil {
		u.MemTotal = site.Of(*m.MemTotalBytes, "/proc/meminfo")
	}
}

// count counts names of the form PREFIX and a number.
func count(names []string, prefix string) int {
	n := 0
	for _, name := range names {
		if _, err := strconv.Atoi(strings.TrimPrefix(name, prefix)); err == nil && strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// allowed is a process's Cpus_allowed_list (proc_pid_status(5)).
func (c *Collector) allowed(pid string) *site.Fact[string] {
	text, ok := c.text("proc/" + pid + "/status")
	if !ok {
		return nil
	}
	for _, line := range strings.Split(text, "\n") {
		if v, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return site.Of(strings.TrimSpace(v), "/proc/"+pid+"/status")
		}
	}
	return nil
}

const (
	spinSource = "SHA-256 of 8 MiB, best of 15"
	spinRounds = 15
)

// spin times a fixed piece of work. The best wall time grows when the CPU is
// taken away all the time (a quota); one that others use too lets some rounds
// through. The best CPU time grows only when the CPU itself is slow; share is how much of the time there was a CPU.
func spin(now func() time.Time) (ms, best, share float64) {
	block := make([]byte, 1<<20)
	walls, cpus := []float64{}, []float64{}
	for range spinRounds {
		wall, cpu := now(), processTime()
		for range 8 {
			sum := sha256.Sum256(block)
			block[0] = sum[0]
		}
		walls = append(walls, float64(now().Sub(wall))/1e6)
		cpus = append(cpus, float64(processTime()-cpu)/1e6)
	}
	total, used := sum(walls), sum(cpus)
	if total > 0 {
		share = min(used/total, 1)
	}
	return slices.Min(walls), slices.Min(cpus), share
}

func sum(v []float64) float64 {
	t := 0.0
	for _, x := range v {
		t += x
	}
	return t
}

// processTime is the CPU time of the process (clock_gettime(2)).
func processTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// maxRanks is how many processes are kept; a node has hundreds of cores at most.
const maxRanks = 1024

// ranks are the user's own processes of Slurm steps, ours excepted. The first
// process of each task counts, and launchers below it.
func (c *Collector) ranks() *site.Fact[[]site.Rank] {
	if c.Inside {
		return nil
	}
	var out []site.Rank
	for _, name := range c.names("proc") {
		pid, err := strconv.Atoi(name)
		if err != nil || len(out) == maxRanks {
			continue
		}
		if r, ok := c.rank(pid); ok {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b site.Rank) int { return a.PID - b.PID })
	return site.Of(out, "/proc/*/environ, status, cmdline")
}

func (c *Collector) rank(pid int) (site.Rank, bool) {
	dir := "proc/" + strconv.Itoa(pid)
	text, ok := c.text(dir + "/environ")
	env := parseEnviron(text)
	if !ok || env["SLURM_PROCID"] == "" || env["SLURM_STEP_ID"] == "" || env["SLURM_STEP_ID"] == "batch" {
		return site.Rank{}, false
	}
	cmd, _ := c.text(dir + "/cmdline")
	program := strings.TrimSpace(strings.ReplaceAll(cmd, "\x00", " "))
	step := env["SLURM_JOB_ID"] + "." + env["SLURM_STEP_ID"]
	if program == "" || env[collecting] != "" || strings.HasPrefix(program, "srun ") {
		return site.Rank{}, false
	}
	r := site.Rank{Step: step, PID: pid, Program: program[:min(len(program), 200)], Sharens: env["APPTAINER_SHARENS"] != "" || strings.Contains(program, "--sharens")}
	r.Rank, _ = strconv.Atoi(env["SLURM_PROCID"])
	r.Tasks, _ = strconv.Atoi(env["SLURM_STEP_NUM_TASKS"])
	if f := c.allowed(strconv.Itoa(pid)); f != nil {
		r.CPUs = f.Value
	}
	return r, true
}

func parseEnviron(text string) map[string]string {
	out := map[string]string{}
	for _, kv := range strings.Split(text, "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		out[name] = value
	}
	return out
}
