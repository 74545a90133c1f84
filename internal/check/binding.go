package check

import (
	"strconv"
	"strings"

	"github.com/nearmetal/nearmetal/internal/logscan"
)

// binding are faults of where ranks and threads run.
func binding() []Check {
	return []Check{
		{Code: "BND001", Key: "ompi-binding-overload", Layer: "binding", Severity: Error,
			Title:  "more ranks (or cores per rank) than cores to bind to",
			Cause:  "mpirun is to bind each rank to cores of its own, but the allocation or cpuset has fewer: hyper-threads counted as cores, PE=N too large, or a small cgroup.",
			Breaks: "the run is refused",
			Fix:    []Fix{user("mpirun --bind-to none …, or --use-hwthread-cpus, or :overload-allowed; ask for the cores: --cpus-per-task=N")},
			Source: "https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html",
			Rules:  []Rule{on(84, `requested more cpus per process|more cpus? per proc\w* than|your job failed to map|tried to bind a new process, but something went wrong|conflicting .{0,20}cpus-per`), on(92, `binding more\s*$|processes than cpus (?:on a resource|available in your allocation)|result in binding more`), on(84, `unable to bind (?:process|to)|hwloc_set_cpubind.{0,40}(?:fail|error)|binding .{0,40}(?:not supported|failed)|could not bind`)}},
		{Code: "BND002", Key: "affinity-outside-cgroup", Layer: "binding", Severity: Error,
			Title:  "a program pins itself to CPUs outside its cgroup",
			Cause:  "taskset, numactl, KMP_AFFINITY or a launcher uses absolute CPU numbers, but Slurm gave the job others.",
			Breaks: "the program stops, or all threads fall on one core",
			Fix:    []Fix{user("drop the pinning, or derive it: taskset -cp $$; srun --cpu-bind=cores; numactl -s")},
			Source: "https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html",
			Rules:  []Rule{on(93, `failed to set pid \d+'s affinity: invalid argument|sched_setaffinity.{0,60}(?:invalid argument|fail)|pthread_setaffinity_np.{0,40}(?:fail|invalid|error)`), on(86, `libnuma: warning: cpu argument \S+ is out of range|cpu argument \S+ out of range|<\S+> is invalid$|requested cpu.{0,40}not in .{0,20}(?:cpuset|affinity)`), on(82, `kmp_affinity.{0,80}(?:not a subset|invalid|ignored|out of range)|omp: warning #\d+: (?:affinity|os proc)`)}},
		{Code: "BND003", Key: "too-few-cpus-in-cgroup", Layer: "binding", Severity: Warning,
			Title:  "the job has only one or two CPUs",
			Cause:  "The job's cpuset holds one core (Slurm's default of one CPU per task), so threads, compressions and proxies share it.",
			Breaks: "everything threaded is many times slower, and may look hung",
			Fix:    []Fix{user("srun -c 16 … (--cpus-per-task), or --exclusive; nproc in the step; ENROOT_SQUASH_OPTIONS='-noI -noD -noF -noX -no-duplicates' for imports")},
			Source: "https://github.com/NVIDIA/pyxis/issues/40",
			Rules:  []Rule{{Score: 84, All: []Line{{Re: `cpus_allowed_list:\s+\S+`, Test: fewCPUs}}}, on(64, `this dataloader will create \d+ worker processes in total. our suggested max number`)}},
		{Code: "BND004", Key: "mpirun-binds-to-core", Layer: "binding", Severity: Warning,
			Title:  "mpirun binds each rank to one core",
			Cause:  "By default mpirun binds a rank to a single core (two ranks or fewer) or NUMA domain, so NCCL's proxy and other threads share it.",
			Breaks: "GPU transfers and threaded programs run at a fraction",
			Fix:    []Fix{user("mpirun --bind-to none …   # or --map-by slot:PE=N; --report-bindings shows it")},
			Source: "https://github.com/NVIDIA/nccl/issues/644",
			Rules: []Rule{{Score: 74, All: []Line{{Re: `# avg bus bandwidth\s*: [\d.]+`, Test: slowBus}}, Need: []string{`mpirun|mpiexec`}, None: []string{`--bind-to (?:none|numa|socket)`, `net/socket|network socket`}},
				on(72, `rank \d+ bound to socket \d+\[core \d+\[hwt [\d-]+\]\]|mcw rank \d+ bound to .{0,10}core:?L?\d+\[hwt`).with(`nccl|omp_num_threads|threads|slow`)}},
		{Code: "BND005", Key: "ranks-unbound-across-numa", Layer: "binding", Severity: Warning,
			Title:  "ranks are not bound and wander between NUMA domains",
			Cause:  "Binding is off (--cpu-bind=none, --bind-to none) on a node with several NUMA domains, so ranks migrate away from their memory, GPU and NIC.",
			Breaks: "latency and bandwidth suffer by factors",
			Fix:    []Fix{user("srun --cpu-bind=rank_ldom --mem-bind=local …   # or --cpu-bind=cores, mpirun --map-by numa --bind-to numa; GPUs: --gpu-bind=closest")},
			Source: "https://slurm.schedmd.com/mc_support.html",
			Rules: []Rule{on(76, `cpu-bind=rank_ldom`), on(72, `mcw rank \d+ is not bound|rank \d+ is not bound \(or bound to all available`),
				on(74, `cpu[-_]bind=(?:verbose,)?none|cpu-bind=verbose,none|cpu-bind=none`).with(`numa|socket|epyc|slow|latency|decode`)}},
		{Code: "BND006", Key: "omp-oversubscription", Layer: "binding", Severity: Warning,
			Title:  "more threads than cores",
			Cause:  "Each rank starts as many threads as the node has cores (OMP_NUM_THREADS unset or nproc --all), so they compete.",
			Breaks: "threaded programs are many times slower",
			Fix:    []Fix{user("export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores OMP_PROC_BIND=close")},
			Source: "https://www.openmp.org/spec-html/5.0/openmpch6.html",
			Rules:  []Rule{on(78, `omp_num_threads=\$\(nproc`), on(70, `oversubscri(?:bed|ption|bing)\b.{0,60}(?:core|cpu|thread|processor)|number of threads .{0,60}(?:exceeds|more than).{0,30}(?:core|cpu|processor)|more threads than (?:cores|cpus|available)|hpl warning.{0,60}oversub`)}},
		{Code: "BND007", Key: "numa-policy-denied", Layer: "binding", Severity: Warning,
			Title:  "memory policy calls are not permitted",
			Cause:  "set_mempolicy, mbind or move_pages are blocked by the container's seccomp filter or capabilities.",
			Breaks: "memory lands on the wrong NUMA node",
			Fix:    []Fix{user("docker run --cap-add SYS_NICE --security-opt seccomp=unconfined …")},
			Source: "https://docs.docker.com/engine/security/seccomp/",
			Rules:  []Rule{on(84, `set_mempolicy: operation not permitted|mbind: operation not permitted|set_mempolicy.{0,40}(?:fail|not permitted)|numa_\w+.{0,40}operation not permitted|support binding memory to the process location|get_mempolicy: operation not permitted`)}},
	}
}

// performance are slow runs that print no error.
func performance() []Check {
	return []Check{
		{Code: "PRF001", Key: "intra-node-over-network", Layer: "performance", Severity: Warning,
			Title:  "ranks of one node do not use shared memory",
			Cause:  "Small messages between ranks of one node take more than 5 µs: they go through TCP or the network card because shared memory is not shared (private /dev/shm, namespaces) or excluded.",
			Breaks: "communication within a node is ten times slower",
			Fix:    []Fix{user("apptainer exec --sharens …, no --contain; unset OMPI_MCA_btl UCX_TLS; UCX_LOG_LEVEL=info shows the transport"), author("UCX 1.16 or later; UCX_POSIX_USE_PROC_LINK=n")},
			Source: "https://apptainer.org/docs/user/latest/mpi.html",
			Apart:  "run natively on the same node: below 1 µs → the container; the same → binding or transport selection",
			Rules:  []Rule{{Score: 62, See: slowIntraNode, Need: []string{`-N ?1\b|one node|single node|--nodes[= ]1\b|intra|same node|btl \S*(?:vader|sm)`}}},
			Clues:  []Clue{{`\befa\b|parallelcluster`, -20}}, DependsOn: []string{"cma-userns-denied", "ucx-posix-userns-denied", "efa-no-shared-memory"}},
		{Code: "PRF002", Key: "data-corruption-in-collective", Layer: "performance", Severity: Error,
			Title:  "the benchmark's results are wrong",
			Cause:  "The data check of nccl-tests or OSU failed: a broken link, P2P through an IOMMU, memory errors or a library bug.",
			Breaks: "every result of this machine is in doubt",
			Fix:    []Fix{user("NCCL_P2P_DISABLE=1, then NCCL_NET_GDR_LEVEL=LOC: which of them makes it right? run on other nodes"), admin("check ECC, NVLink and PCIe errors; iommu=pt")},
			Source: "https://github.com/NVIDIA/nccl-tests",
			Rules:  []Rule{{Score: 92, All: []Line{{Re: `# out of bounds values : \d+ failed`}}}, on(84, `data validation error|validation (?:failed|error)s?\b.{0,30}|out of bounds values : [1-9]\d* failed`)}},
		{Code: "PRF003", Key: "inter-node-over-tcp", Layer: "performance", Severity: Warning,
			Title:     "messages between nodes run over TCP on an RDMA network",
			Cause:     "UCX or libfabric chose tcp between nodes although HCAs are there: not bound into the container, no verbs provider, or excluded by UCX_TLS.",
			Breaks:    "latency of 20 µs and more instead of 1 to 2, a tenth of the bandwidth",
			Fix:       []Fix{user("ucx_info -d | grep -B1 -A1 mlx5; apptainer exec -B /dev/infiniband …; unset UCX_TLS FI_PROVIDER")},
			Source:    "https://openucx.readthedocs.io/en/master/faq.html",
			Rules:     []Rule{on(72, `inter-node cfg#\d+ .{0,40}tag\(tcp/|ep_cfg\[\d+\]: tag\(tcp/|cfg#\d+ tag\(tcp/`).with(`mlx5|infiniband|\bib\b|roce|hca`), on(60, `ep_cfg\[\d+\]: tag\(tcp/ib\d|tag\(tcp/ib\d`)},
			DependsOn: []string{"infiniband-not-bound", "ibverbs-provider-missing", "ib-port-down", "ofed-user-kernel-mismatch"}},
		{Code: "PRF004", Key: "gpu-link-slow", Layer: "performance", Severity: Warning,
			Title:  "GPUs talk through shared host memory",
			Cause:  "NCCL connects GPUs of one node via SHM instead of P2P: they are in different containers or namespaces, each rank sees only its own GPU, or P2P is off.",
			Breaks: "bandwidth within the node is a fraction of NVLink's",
			Fix:    []Fix{user("srun --gpu-bind=none --gpus-per-node=N …; unset NCCL_P2P_DISABLE; nvidia-smi topo -p2p r")},
			Source: "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-p2p-disable",
			Rules:  []Rule{on(64, `nccl_p2p_disable set (?:by environment )?to 1`), on(56, `via shm/direct/direct|via direct shared memory`).with(`nvlink|sxm|slow|h100|h200|a100|b200`)}},
	}
}

// fewCPUs holds for an affinity list of at most two CPUs.
func fewCPUs(h logscan.Hit) bool {
	_, list, _ := strings.Cut(h.Groups[0], ":")
	n := 0
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		a, b, span := strings.Cut(part, "-")
		lo, err := strconv.Atoi(a)
		if err != nil {
			return false
		}
		hi := lo
		if span {
			if hi, err = strconv.Atoi(b); err != nil {
				return false
			}
		}
		n += max(hi-lo+1, 0)
	}
	return n >= 1 && n <= 2
}
