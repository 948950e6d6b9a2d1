#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CC OUT PRECISION CHECK…: run the check programs OUT/CHECK_PRECISION at 1 to 4 ranks and
# check_program.py, with CC's own launcher on this host.
set -euo pipefail

export cc=$1 # for launcher.sh
out=$(cd "$2" && pwd)
precision=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
failed=0
# shellcheck source-path=SCRIPTDIR source=../../proof/launcher.sh
source "$here/../../proof/launcher.sh"

for ranks in 1 2 3 4; do
    for check in "$@"; do
        echo "== $library: $check $precision, $ranks ranks"
        timeout 300 "${launch[@]}" -np "$ranks" "$out/${check}_$precision" </dev/null || failed=1
    done
done
mkdir -p "$work/files"
chmod 777 "$work/files"
python3 -B "$here/check_program.py" "$out/su3_rmd_$precision" "$precision" "$work/files" \
    "${launch[@]}" || failed=1
exit "$failed"
