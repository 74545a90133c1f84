// Package lab is a real Slurm cluster on one machine: real slurmctld, slurmd,
// munged, PMIx, Open MPI and Apptainer, on nodes that are sets of namespaces
// over one shared root filesystem.
//
//	the machine ── root filesystem (mmdebstrap, cached by the digest of its inputs)
//	 │                 │ lower directory of each node's overlay
//	 ├─ fabric: net namespace, holds bridge br0; no link to the machine's network
//	 │     ├── v-head ── eth0 10.77.0.1    ┐
//	 │     ├── v-n1   ── eth0 10.77.0.11   │ veth pairs
//	 │     └── v-n2   ── eth0 10.77.0.12   ┘
//	 ├─ head: mount, uts, ipc, net, pid, cgroup namespaces
//	 │     tini ─ munged, slurmctld;  /home and /shared bound from DIR
//	 ├─ n1:  the same; own /tmp, /run, /dev, /dev/shm, /proc, /sys
//	 │     tini ─ munged, slurmd ─ slurmstepd ─ ranks ─ (Apptainer's own namespaces)
//	 └─ n2 …
//
// Nothing outlives the processes: when a node's first process is killed, the
// kernel takes its processes, mounts and network with it, and with the fabric
// the bridge goes. Those few processes carry the lab's mark in their
// environment and are found again by it, never by a remembered pid. What is
// left for down to remove are the control groups and DIR/run.
//
// # How a node starts
//
// up starts a copy of the program in new namespaces. The copy waits at a pipe
// for its configuration, which comes when its end of the veth pair is in
// place; when up is killed before, the pipe closes and the copy ends. The copy
// mounts, pivots, starts the daemons, says ready and becomes tini.
//
// # Cores
//
// All nodes share the machine's cores, and each node's first core is the same
// one. In the cgroup form Slurm gives a job whole sockets (CR_Socket, one
// socket on usual machines), and task/affinity binds by itself only when the
// ranks of a node fill its cores. Hence, on two cores:
//
//	srun -N2 -n2    one rank a node: mask 0x3 on both, each floats to a core of its own
//	srun -N1 -n2    two ranks of one node: masks 0x1 and 0x2
//
// An explicit --cpu-bind=cores with one rank a node binds both ranks to core 0
// of the one machine; they then take turns, which looks like a hang. The
// linuxproc form binds nothing and pretends more CPUs than there are.
//
// # Accounting
//
// slurmdbd with MariaDB is left out (the packages alone would add more than
// 200 MB to the root); finished jobs are in /var/log/slurm/jobcomp.log.
package lab
