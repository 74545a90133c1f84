#!/usr/bin/env bash
# Runs every fuzz target of the project for the given time each.
set -euo pipefail
time=${1:?usage: fuzz.sh TIME}
git grep -lE '^func Fuzz' -- '*_test.go' | while read -r file; do
  sed -nE 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/p' "$file" | while read -r target; do
    echo "== ./$(dirname "$file") $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$(dirname "$file")"
  done
done
