#!/usr/bin/env bash
# Measures what we claim, each figure beside its peer or limit, into bench-out/figures.json.
#   scripts/bench.sh LAB_DIR [GROUP]
# Groups that need Slurm run inside the lab as an ordinary user.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lab-env.sh "${1:?usage: bench.sh LAB_DIR [GROUP]}"
groups=${2:-run launch-cgroup launch bench xfer doctor compare cli build}
out=bench-out/figures.json
mkdir -p bench-out
go build -trimpath -o bin/ ./bench/figures

in_lab() { # the file travels into the lab and back
  [ "${2:-}" = kept ] || labctl up --nodes 2
  lab_install
  lab_image
  install -m 755 bin/figures "$SHARED/bin/"
  as_root install -d -o alice /shared/bench-out
  [ ! -e "$out" ] || install -m 666 "$out" "$SHARED/bench-out/figures.json"
  as_alice /shared/bin/figures -group "$1" -bin /shared/bin -image "$IMAGE" -out /shared/bench-out/figures.json
  cp "$SHARED/bench-out/figures.json" "$out"
}

many_ranks() { # a lab of its own, whose nodes claim more CPUs than there are
  local roots=$LAB
  (
    LAB=$LAB-many
    bin/nearmetal-lab up --nodes 2 --slurm linuxproc --cpus 16 --dir "$LAB" --cache "$roots"
    trap 'labctl down' EXIT
    SHARED=$LAB/shared
    mkdir -p "$SHARED/images"
    cp -u "$roots/shared/${IMAGE#/shared/}" "$SHARED/images/" 2>/dev/null || true
    in_lab "$1" kept
  )
}

for g in $groups; do
  printf '\n== %s\n' "$g"
  case $g in
  run | launch-cgroup | bench) in_lab "$g" ;;
  launch) many_ranks launch ;;
  xfer)
    make --no-print-directory xfer
    bin/figures -group xfer -bin bin -out "$out"
    ;;
  *) bin/figures -group "$g" -bin bin -out "$out" ;;
  esac
done
printf '\nfigures: %s\n' "$PWD/$out"
