#!/usr/bin/env bash
# Runs the tests that need a real cluster, and leaves no lab behind that was
# not there before.
#   scripts/lab-test.sh LAB_DIR [go test arguments]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lab-env.sh "${1:?usage: lab-test.sh LAB_DIR}"
shift
labctl up --nodes 2
trap 'labctl down' EXIT
lab_install
lab_image
NEARMETAL_LAB_DIR=$LAB NEARMETAL_LAB_IMAGE=$IMAGE NEARMETAL_BIN=$PWD/bin \
  go test -tags lab -count=1 -p 1 -timeout 20m "$@" ./internal/labtest/... ./internal/lab/...
