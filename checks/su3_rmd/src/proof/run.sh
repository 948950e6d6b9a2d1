#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CC OUT PRECISION PROOF…: run the proofs OUT/PROOF_PRECISION at 1 to 4 ranks and
# tests/prove_program.py, with CC's own launcher on this host.
set -euo pipefail

export cc=$1 # for launcher.sh
out=$(cd "$2" && pwd)
precision=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
failed=0
# shellcheck source-path=SCRIPTDIR source=../../../common/src/proof/launcher.sh
source "$here/../../../common/src/proof/launcher.sh"

for ranks in 1 2 3 4; do
    for proof in "$@"; do
        echo "== $library: $proof $precision, $ranks ranks"
        timeout 600 "${launch[@]}" -np "$ranks" "$out/${proof}_$precision" </dev/null || failed=1
    done
done
echo "== $library: su3_rmd $precision"
mkdir -p "$work/files"
chmod 777 "$work/files"
python3 -B "$here/../../tests/prove_program.py" "$out/su3_rmd_$precision" "$precision" "$work/files" \
    "${launch[@]}" || failed=1
exit "$failed"
