#!/usr/bin/env bash
# Builds nearmetal-enter with the sanitizers and puts hostile lines, environments and cards into it.
#   check.sh OUT_DIR
set -euo pipefail
cd "$(dirname "$0")"
out=${1:?usage: check.sh OUT_DIR}
mkdir -p "$out"
flags=(-std=c11 -O1 -g -Wall -Wextra -Werror -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all -I.)
mapfile -t parts < <(printf '%s\n' ./*.c | grep -v '/main.c$')
gcc "${flags[@]}" -o "$out/enter-test" test/units.c "${parts[@]}"
gcc "${flags[@]}" -o "$out/enter-asan" ./*.c
export ASAN_OPTIONS=detect_leaks=0 # it ends by exec
"$out/enter-test"
long=$(head -c 100000 /dev/zero | tr '\0' x)
for words in "" 0 -1 1 99 3x 999999999999999999999; do # no such line: usage, exit code 125
  code=0
  "$out/enter-asan" "$words" apptainer x 2>/dev/null || code=$?
  [ "$code" = 125 ] || { echo "error: WORDS '$words': exit code $code"; exit 1; }
done
# No Apptainer behind it: the line is executed as it is, whatever is in it.
# shellcheck disable=SC2016
got=$(SLURM_JOB_ID="$long" SLURM_GTIDS=",,,$long" "$out/enter-asan" 2 printf '%s|' '$(x)' "$long" 2>&1 || true)
[ "$got" = "\$(x)|$long|" ] || { echo "error: the line was changed: ${got:0:200}"; exit 1; }
echo "enter: hostile lines ok"
