# shellcheck shell=bash
# What demo.sh, lab-test.sh and bench.sh share: a lab with our binaries, the
# probe compiled natively, and an image made by nearmetal from a recipe.
#   . scripts/lab-env.sh LAB_DIR
LAB=$1
SHARED=$LAB/shared
IMAGE=/shared/images/openmpi-debian.sif
labctl() { bin/nearmetal-lab "$@" --dir "$LAB"; }
# The lab's own flags come first: what follows NODE belongs to the command.
as_alice() { bin/nearmetal-lab exec --dir "$LAB" --user alice head -- "$@"; }
as_alice_online() { bin/nearmetal-lab exec --dir "$LAB" --user alice --net host head -- "$@"; }
as_root() { bin/nearmetal-lab exec --dir "$LAB" head -- "$@"; }

# lab_install puts the binaries and the probe's source into the lab, and
# compiles the probe there with the nodes' own mpicc.
lab_install() {
  as_root install -d -m 1777 /shared/images /shared/runs
  as_root install -d /shared/bin /shared/src/probe
  install -m 755 bin/nearmetal bin/nearmetal-enter "$SHARED/bin/"
  install -m 644 bench/probe/src/*.[ch] "$SHARED/src/probe/"
  as_root sh -c 'cd /shared/src/probe && mpicc -O2 -o /shared/bin/.probe ./*.c -ldl && mv /shared/bin/.probe /shared/bin/nearmetal-probe'
}

# lab_image builds the image unless one of the same recipe is there.
lab_image() {
  as_alice_online /shared/bin/nearmetal build --base localimage:/shared/bases/trixie -o "$IMAGE" openmpi-debian
}
