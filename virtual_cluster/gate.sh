# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced first by what host.py starts, where /proc is still the caller's: it tells its id and
# waits for one line. If its starter is killed before it has recorded the process, the line never
# comes and the process ends by itself. `ready` says that all is made.
set -e
read -r me _ </proc/self/stat
echo "$me"
read -r _ || exit 1
exec 3>&1 </dev/null >&2
ready() {
    echo ready >&3
    exec 3>&-
}
