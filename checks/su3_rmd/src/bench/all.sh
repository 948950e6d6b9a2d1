#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# all.sh [MOST_US]: build su3_rmd for every MPI library of this machine, time it, print the table.
set -euo pipefail
cd "$(dirname "$0")"
out=$(mktemp -d /tmp/assay-bench.XXXXXX)
trap 'rm -rf "$out"' EXIT
chmod 755 "$out"
for library in mpich openmpi lam; do
    command -v "mpicc.$library" >/dev/null || continue
    for precision in single double; do
        make --no-print-directory -s -j2 -C .. CC="mpicc.$library" OUT="$out/$library" \
            PRECISION="$precision"
    done
    ./run.sh "mpicc.$library" "$out/$library" "$out/lines"
done
make --no-print-directory -s -C .. roofline OUT="$out"
"$out/roofline" >"$out/limits"
python3 -B table.py "$out/lines" "$out/limits" "$@"
