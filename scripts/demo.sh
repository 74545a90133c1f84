#!/usr/bin/env bash
# The main job, end to end: lab → image → native and container, interleaved → report.
#   scripts/demo.sh LAB_DIR [BLOCKS]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lab-env.sh "${1:?usage: demo.sh LAB_DIR [BLOCKS]}"
blocks=${2:-10}
run=/shared/runs/demo-$(date +%Y%m%d-%H%M%S)

step() { printf '\n\033[1m%s\033[0m\n' "$*" >&2; }
[ -t 2 ] || step() { printf '\n%s\n' "$*" >&2; }

step "1/4  A Slurm cluster of two nodes on this machine"
labctl up --nodes 2
lab_install

step "2/4  An image with its own Open MPI, PMIx and UCX, from a recipe"
lab_image

step "3/4  MPI natively and in the container, interleaved, $blocks launches an arm"
as_alice /shared/bin/nearmetal bench mpi --image "$IMAGE" -N 2 --blocks "$blocks" -o "$run" --no-compare

step "4/4  The verdict"
as_alice /shared/bin/nearmetal compare "$run" || [ $? = 3 ]
verdict=$(as_alice /shared/bin/nearmetal report "$run" -o "$run/report.html" 2>&1)
mkdir -p bench-out
cp "$SHARED/${run#/shared/}/report.html" bench-out/report.html

step "verdict: ${verdict#*: }"
printf 'report:  %s\n' "$PWD/bench-out/report.html"
printf 'the lab is still up: bin/nearmetal-lab exec --dir %s --user alice head -- sinfo\n' "$LAB"
printf 'stop it with:        bin/nearmetal-lab down --dir %s\n' "$LAB"
