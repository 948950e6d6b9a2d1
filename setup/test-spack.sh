#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds LAM, MPICH and Open MPI with all programs by Spack, sources from the distribution's mirror and,
# as root, networking taken away, then runs campaign quick on them in a virtual cluster. Run by
# `make test-spack`; CLUSTER names the cluster, ASSAY_SPACK_HOME another place to build in.
set -euo pipefail
cd "$(dirname "$0")/.."
cluster=${CLUSTER:-spack-test}
setup/spack.sh
began=$SECONDS
.venv/bin/assay build --site virtual --mirror distribution
.venv/bin/assay build --site virtual --offline
home=${ASSAY_SPACK_HOME:-build/spack/home}
echo "test-spack: built in $((SECONDS - began)) s; $(du -sh "$home" | cut -f1) in $home," \
    "of which $(du -sh "$home/install" | cut -f1) installed"
.venv/bin/assay cluster up --name "$cluster" --image /
trap '.venv/bin/assay cluster down --name "$cluster"' EXIT
# Launches that failed are in the report, which is written all the same.
status=0
.venv/bin/assay run quick --site "virtual:$cluster" --with spack || status=$?
[ "$status" -le 1 ] || exit "$status"
.venv/bin/assay report
echo "test-spack: done after $((SECONDS - began)) s"
exit "$status"
