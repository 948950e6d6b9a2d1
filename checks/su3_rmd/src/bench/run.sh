#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CC OUT LINES: run su3_rmd of both precisions below OUT on lattices from 4^3 x 8 to
# 16^3 x 32 with CC's own launcher, and add a line to the file LINES for each run:
# library precision lattice ranks kernel, then the program's own lines as one JSON array.
set -euo pipefail

export cc=$1 # for launcher.sh
out=$(cd "$2" && pwd)
lines=$(realpath "$3")
here=$(cd "$(dirname "$0")" && pwd)
repetitions=${REPETITIONS:-3}
# shellcheck source-path=SCRIPTDIR source=../../../common/src/proof/launcher.sh
source "$here/../../../common/src/proof/launcher.sh"
chmod 711 "$work"

input() { # input NX NT TRAJECTORIES
    local name
    echo "prompt 0"
    for name in nx ny nz; do echo "$name $1"; done
    printf '%s\n' "nt $2" "iseed 5682304" "warms 1" "trajecs $3" "traj_between_meas 1" "beta 6.0" \
        "microcanonical_time_step 0.01" "steps_per_trajectory 4" "fresh" "forget"
}

measure() { # measure PRECISION NX NT TRAJECTORIES RANKS KERNEL
    local notes
    input "$2" "$3" "$4" >"$work/in"
    chmod 644 "$work/in"
    notes=$(timeout 300 "${launch[@]}" -np "$5" "$out/su3_rmd_$1" --input "$work/in" --json - \
        --kernel "$6" </dev/null | grep '^{"assay":"\(metric\|note\)"' | paste -sd,)
    printf '%s %s %s %s %s [%s]\n' "$library" "$1" "$2x$3" "$5" "$6" "$notes" >>"$lines"
}

for ((repetition = 0; repetition < repetitions; repetition++)); do
    for precision in single double; do
        for shape in "4 8 100" "6 12 40" "8 16 20" "12 24 4" "16 32 2"; do
            read -r nx nt trajectories <<<"$shape"
            for ranks in 1 2; do
                measure "$precision" "$nx" "$nt" "$trajectories" "$ranks" auto
            done
            [[ $library != mpich ]] || measure "$precision" "$nx" "$nt" "$trajectories" 1 plain
        done
    done
done
