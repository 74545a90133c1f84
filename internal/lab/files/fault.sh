#!/bin/sh
# Plants a fault in the node that it runs in, or takes it away again.
# Usage: fault.sh NAME on|off
# shellcheck disable=SC2016 # what a prolog expands is in single quotes
set -eu
fault=$1 state=$2
here=/run/nearmetal
plugins=$(dirname "$(find /usr/lib -name mpi_pmi2.so | head -n 1)")

# munged with what follows as further environment; a new one may need a moment
# until the old one has let go of its socket.
munged() {
	pkill -x munged || true
	i=0
	while pgrep -x munged >/dev/null && [ $i -lt 100 ]; do sleep 0.05; i=$((i + 1)); done
	env "$@" setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged
}

# prolog FILE: lines that TaskProlog runs for every task of the node.
prolog() {
	install -d $here/prolog
	if [ "$state" = on ]; then cat >"$here/prolog/$fault"; else rm -f "$here/prolog/$fault"; fi
}

case $fault:$state in
memlock:on) prlimit --memlock=65536: --pid "$(pgrep -x slurmd)" ;;
memlock:off) prlimit --memlock="$(prlimit --memlock --noheadings --raw --output HARD --pid "$(pgrep -x slurmd)"):" --pid "$(pgrep -x slurmd)" ;;
no-pmix:on) for f in "$plugins"/mpi_pmix*.so; do mv "$f" "$f.off"; done ;;
no-pmix:off) for f in "$plugins"/mpi_pmix*.so.off; do mv "$f" "${f%.off}"; done ;;
wrong-gds:*) echo 'echo export PMIX_MCA_gds=ds21' | prolog ;;
munge-key:on)
	cp -p /etc/munge/munge.key $here/munge.key
	head -c 128 /dev/urandom >/etc/munge/munge.key
	munged
	;;
munge-key:off)
	cat $here/munge.key >/etc/munge/munge.key
	munged
	# slurmctld hears of ended jobs at once from a slurmd that registers anew.
	pkill -x slurmd || true
	while pgrep -x slurmd >/dev/null; do sleep 0.05; done
	/bin/sh $here/start.sh "$(hostname)"
	;;
shm-small:on) mount -o remount,size=1m /dev/shm ;;
shm-small:off) mount -o remount,size=50% /dev/shm ;;
tmp-full:on)
	mount -o remount,size=1m /tmp
	dd if=/dev/zero of=/tmp/.nearmetal-fill bs=4k 2>/dev/null || true
	;;
tmp-full:off)
	rm -f /tmp/.nearmetal-fill
	mount -o remount,size=50% /tmp
	;;
tmp-noexec:on) mount -o remount,noexec /tmp ;;
tmp-noexec:off) mount -o remount,exec /tmp ;;
tmp-read-only:on) mount -o remount,ro /tmp ;;
tmp-read-only:off) mount -o remount,rw /tmp ;;
sharens-race:*) echo 'echo export APPTAINER_SHARENS=1' | prolog ;;
# SLURM_TASK_PID is the task itself, which has not become the program yet.
one-core:*) echo 'taskset -cp 0 "$SLURM_TASK_PID" >/dev/null' | prolog ;;
dead-interface:on)
	ip link add docker0 type bridge
	ip addr add 172.17.0.1/16 dev docker0
	ip link set docker0 up
	;;
dead-interface:off) ip link del docker0 ;;
permissions:on) chmod 600 /dev/fuse ;;
permissions:off) chmod 666 /dev/fuse ;;
clock-skew:on)
	gcc -shared -fPIC -O1 -DOFFSET=120 -o $here/skew.so $here/skew.c
	chmod 755 $here/skew.so
	munged LD_PRELOAD=$here/skew.so
	;;
clock-skew:off) munged ;;
wrong-arch:on)
	# A root file system with a shell of another processor: an ELF header of
	# arm64 is all that anybody looks at before refusing it.
	dir=$(mktemp -d)
	mkdir -p "$dir/bin" "$dir/etc" "$dir/proc" "$dir/sys" "$dir/dev" "$dir/tmp" "$dir/usr"
	printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000\267\000\001\000\000\000' >"$dir/bin/sh"
	printf '\170\000\100\000\000\000\000\000\100\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\100\000\070\000\001\000\000\000\000\000\000\000' >>"$dir/bin/sh"
	printf '\001\000\000\000\005\000\000\000\000\000\000\000\000\000\000\000\000\000\100\000\000\000\000\000\000\000\100\000\000\000\000\000\204\000\000\000\000\000\000\000\204\000\000\000\000\000\000\000\000\020\000\000\000\000\000\000' >>"$dir/bin/sh"
	# mov x0, #0; mov x8, #93 (exit); svc #0
	printf '\000\000\200\322\250\013\200\322\001\000\000\324' >>"$dir/bin/sh"
	chmod 755 "$dir/bin/sh" "$dir"
	cp "$dir/bin/sh" "$dir/bin/true"
	install -d -m 1777 /shared/faults
	rm -rf /shared/faults/wrong-arch
	cp -r "$dir" /shared/faults/wrong-arch
	rm -rf "$dir"
	;;
wrong-arch:off) rm -rf /shared/faults/wrong-arch ;;
nested-mpirun:on)
	install -d -m 1777 /shared/faults
	cat >/shared/faults/nested-mpirun.sh <<-'EOF'
		#!/bin/sh
		# The mistake: mpirun starts all ranks again in every task of srun.
		set -x
		exec srun -N1 -n2 --mpi=pmix mpirun -np 2 --oversubscribe "$@"
	EOF
	chmod 755 /shared/faults/nested-mpirun.sh
	;;
nested-mpirun:off) rm -f /shared/faults/nested-mpirun.sh ;;
*)
	echo "no fault $fault $state" >&2
	exit 1
	;;
esac
