#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# launch_each.sh CC OUT [LIBRARY…]: for each line `RANKS PROGRAM OPTION…` of standard input, run the
# program below OUT with CC's launcher on this host, the libraries preloaded; print its output, then
# `@ STATUS`.
set -euo pipefail

export cc=$1 # for launcher.sh
out=$(cd "$2" && pwd)
# shellcheck source-path=SCRIPTDIR source=launcher.sh
source "$(cd "$(dirname "$0")" && pwd)/launcher.sh"
if (($# > 2)); then preload "${@:3}"; fi

while read -r ranks program options; do
    read -ra words <<<"$options"
    status=0
    timeout 300 "${launch[@]}" -np "$ranks" "$out/$program" "${words[@]}" 2>&1 </dev/null || status=$?
    printf '\n@ %d\n' "$status"
done
