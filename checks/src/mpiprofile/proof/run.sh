#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh CC OUT: check the profile of a known program at 1 to 4 ranks, linked in and preloaded, alone
# and together with the evidence library.
set -euo pipefail

export cc=$1 # for launcher.sh
out=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
failed=0
# shellcheck source-path=SCRIPTDIR source=../../proof/launcher.sh
source "$here/../../proof/launcher.sh"

check() { # check WHAT PROGRAM [evidence]
    for ranks in 1 2 3 4; do
        echo "== $library: $1, $ranks ranks"
        timeout 60 "${launch[@]}" -np "$ranks" "$out/$2" </dev/null >"$work/lines" || failed=1
        LD_PRELOAD='' python3 -B "$here/check_profile.py" "$ranks" "${@:3}" <"$work/lines" || failed=1
    done
}

profile=$out/libassay_profile.so evidence=$out/libassay_evidence.so
check "linked in" check_profile
check "linked in with evidence" check_profile_evidence evidence
preload "$profile"
check "preloaded" check_plain
check "preloaded on a program with evidence" check_plain_evidence evidence
preload "$profile" "$evidence"
check "preloaded before evidence" check_plain evidence
preload "$evidence" "$profile"
check "preloaded after evidence" check_plain evidence
exit "$failed"
