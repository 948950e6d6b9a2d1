#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CC OUT: prove the profile of a known program on 1 to 4 ranks, linked in and preloaded, alone
# and together with the evidence library.
set -euo pipefail

export cc=$1 # for launcher.sh
out=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
failed=0
# shellcheck source-path=SCRIPTDIR source=../../../../../checks/common/src/proof/launcher.sh
source "$here/../../../../../checks/common/src/proof/launcher.sh"

prove() { # prove WHAT PROGRAM [evidence]
    for ranks in 1 2 3 4; do
        echo "== $library: $1, $ranks ranks"
        timeout 600 "${launch[@]}" -np "$ranks" "$out/$2" </dev/null >"$work/lines" || failed=1
        LD_PRELOAD='' python3 -B "$here/prove_profile.py" "$ranks" "${@:3}" <"$work/lines" || failed=1
    done
}

profile=$out/libassay_profile.so evidence=$out/libassay_evidence.so
prove "linked in" prove_profile
prove "linked in with evidence" prove_profile_evidence evidence
preload "$profile"
prove "preloaded" prove_plain
prove "preloaded on a program with evidence" prove_plain_evidence evidence
preload "$profile" "$evidence"
prove "preloaded before evidence" prove_plain evidence
preload "$evidence" "$profile"
prove "preloaded after evidence" prove_plain evidence
exit "$failed"
