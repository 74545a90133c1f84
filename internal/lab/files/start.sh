#!/bin/sh
# Starts the daemons of one node, without systemd. Safe to run again: a daemon
# that lives is left alone. Usage: start.sh NODE
set -eu
node=$1
# Daemons belong to the node's control groups, also when they are started anew
# from outside; without control groups there is nothing to join.
for procs in /sys/fs/cgroup/*/cgroup.procs; do
	if [ -e "$procs" ]; then echo $$ >"$procs"; fi
done
running() { pgrep -x "$1" >/dev/null; }
install -d -o munge -g munge -m 755 /run/munge
install -d -o munge -g munge -m 700 /var/log/munge /var/lib/munge
running munged || setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged
install -d -o slurm -g slurm -m 755 /var/log/slurm /var/lib/slurm /var/lib/slurm/slurmctld /run/slurm
install -d -o root -g root -m 755 /var/lib/slurm/slurmd
if [ "$node" = head ]; then
	running slurmctld || /usr/sbin/slurmctld
else
	running slurmd || /usr/sbin/slurmd -N "$node"
fi
