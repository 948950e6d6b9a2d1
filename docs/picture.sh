#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/picture.sh RUN [PICTURE]: the head of a run's report as PNG, docs/report.png by default, taken
# by headless Chromium (`make picture` takes the newest run).
set -euo pipefail
cd "$(dirname "$0")/.."
run=${1:?docs/picture.sh RUN [PICTURE]}
picture=$(realpath -m "${2:-docs/report.png}")
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
options=(--headless=new --disable-gpu --disable-dev-shm-usage --hide-scrollbars "--window-size=1280,1140")
[ "$(id -u)" -ne 0 ] || options+=(--no-sandbox) # a browser of root refuses its own sandbox
chromium "${options[@]}" "--user-data-dir=$profile" "--screenshot=$picture" \
    "file://$(realpath "$run/report/index.html")" 2>"$profile/log" || { cat "$profile/log" >&2; exit 4; }
echo "$picture"
