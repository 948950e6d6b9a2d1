#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scaling.sh [REPETITIONS]: build su3_rmd in single precision for MPICH, or else Open MPI, and tell
# what a second rank gains.
set -euo pipefail
cd "$(dirname "$0")"
out=$(mktemp -d /tmp/assay-bench.XXXXXX)
trap 'rm -rf "$out"' EXIT
for library in mpich openmpi none; do
    if command -v "mpicc.$library" >/dev/null; then break; fi
done
if [[ $library == none ]]; then
    echo "skipped: needs mpicc.mpich or mpicc.openmpi"
    exit 0
fi
make --no-print-directory -s -j2 -C .. su3_rmd roofline CC="mpicc.$library" OUT="$out" PRECISION=single
python3 -B scaling.py "$out/su3_rmd_single" "$out/roofline" "$library" "$@"
