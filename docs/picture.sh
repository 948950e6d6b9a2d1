#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/picture.sh RUN [PICTURE]: the head of a run's report as PNG, docs/report.png by default, taken
# by headless Chromium (`make picture` takes the newest run).
set -euo pipefail
page=$(realpath "${1:?docs/picture.sh RUN [PICTURE]}/report/index.html")
picture=$(realpath -m "${2:-$(dirname "$0")/report.png}")
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
options=(--headless=new --disable-gpu --disable-dev-shm-usage --hide-scrollbars "--window-size=1280,1140")
[ "$(id -u)" -ne 0 ] || options+=(--no-sandbox) # a browser of root refuses its own sandbox
chromium "${options[@]}" "--user-data-dir=$profile" "--screenshot=$picture" \
    "file://$page" 2>"$profile/log" || { cat "$profile/log" >&2; exit 4; }
echo "$picture"
