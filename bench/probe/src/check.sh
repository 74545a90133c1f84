#!/bin/sh
# check.sh PROBE PROBE-WITH-SANITIZERS: the exit codes that src/probe.h promises.
# shellcheck disable=SC2086 # MPIRUN and flags are lists of words
set -u
: "${MPIRUN:=mpirun --oversubscribe}"
probe=$(realpath "$1") san=$(realpath "$2")
export ASAN_OPTIONS=detect_leaks=0
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
bad=0

# want CODE COMMAND...
want() {
    code=$1
    shift
    "$@" >"$tmp/out" 2>"$tmp/err"
    got=$?
    [ "$got" -eq "$code" ] && return
    echo "FAIL exit $got, want $code: $*"
    tail -5 "$tmp/err"
    bad=1
}

for p in "$probe" "$san"; do
    want 0 $MPIRUN -n 2 "$p" --all -m 1:64K --json "$tmp/all.json"
    grep -q '"type":"end"' "$tmp/all.json" || { echo "FAIL no end in JSON"; bad=1; }
    [ -e "$tmp/all.json.part" ] && { echo "FAIL .part left"; bad=1; }
    want 0 $MPIRUN -n 3 "$p" -b mbw_mr,alltoall,allgather,allreduce -m 4:4K -i 3 -x 1 -c 3
    want 0 $MPIRUN -n 2 "$p" -b alltoall -M 64K --json -
    grep -q '"type":"skipped"' "$tmp/out" || { echo "FAIL nothing skipped"; bad=1; }
    for b in latency bw bibw mbw_mr allreduce allgather alltoall bcast; do
        want 3 $MPIRUN -n 2 "$p" -b $b -m 4:64 -i 2 --corrupt
    done
    want 4 $MPIRUN -n 2 "$p" --expect-ranks 3
    want 4 env SLURM_NTASKS=2 "$p" -b init
    want 4 $MPIRUN -n 2 "$p" --pair 0:7
    want 1 $MPIRUN -n 2 "$p" -b init --json /nonexistent/x.json
    want 1 $MPIRUN -n 2 "$p" -b init --json /dev/full
    for flags in --nonsense "-m 8:4" "-m x" "-i 0" "-b nope" "--pair 1:1" "-m 99999999999" extra; do
        want 2 "$p" $flags
    done
done
[ $bad -eq 0 ] && echo "probe: all exit codes as promised"
exit $bad
