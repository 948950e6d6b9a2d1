#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# session.sh DAEMONS LIMIT_S COMMAND...: one launch on the job's allocation, phase by phase.
#   DAEMONS  none, lam, prte or pvm: boot the library's daemons first, halt them afterwards in any case
#   LIMIT_S  seconds after which the command is ended (status 124)
# Prints the begin and end of each phase as JSON lines; exits with the command's status. Each line
# begins after a newline, as the command's text may lack its last one, and carries the secret that
# ASSAY_SESSION_SECRET holds; what is started here does not get it.
# shellcheck disable=SC2317  # finish and what it calls run from a trap
set -uo pipefail
daemons=$1 limit_s=$2
shift 2
here=$(dirname "$(readlink -f "$0")")

secret=${ASSAY_SESSION_SECRET:-}
unset ASSAY_SESSION_SECRET
say() { printf '\n{"assay":"%s","secret":"%s",%s}\n' "$1" "$secret" "$2"; }
stamp() { say stamp "\"name\":\"$1\",\"at\":$EPOCHREALTIME"; }
failed() {
    say error "\"where\":\"session\",\"message\":\"$1\""
    exit 125
}

# What the library's own part (lam.sh, prte.sh, pvm.sh) says is used here: daemon_environment sets
# boot_command; daemon_host prints a host's line of hosts_file; daemon_halt halts. Each host has a
# folder of its own for temporary files, on the others made and removed by step.sh.
boot() {
    hosts_file=$daemons.hosts
    export ASSAY_STEPKEEPER=$here/stepkeeper ASSAY_NODE_TMP=/tmp/assay-$daemons-$SLURM_JOB_ID
    node_tmp=$ASSAY_NODE_TMP-$(hostname)
    mkdir -m 700 "$node_tmp" || failed "cannot make $node_tmp"
    export TMPDIR=$node_tmp
    daemon_environment
    for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do daemon_host "$host"; done >"$hosts_file"
    stamp boot_begin
    exec 3< <(exec "$ASSAY_STEPKEEPER" - "${boot_command[@]}" 2>&1 </dev/null)
    keeper=$!
    local line status=none
    while [ "$status" = none ] && IFS= read -r line <&3; do
        printf '%s\n' "$line" >>"$daemons.boot.out"
        case $line in "stepkeeper: "*) status=${line#stepkeeper: } ;; esac
    done
    stamp boot_end
    [ "$status" = 0 ] && return
    cat "$daemons.boot.out" >&2
    failed "booting the daemons of $daemons failed with status $status"
}

halt() {
    stamp halt_begin
    daemon_halt >"$daemons.halt.out" 2>&1
    kill -TERM "$keeper" 2>/dev/null && wait "$keeper" 2>/dev/null
    stamp halt_end
}

finish() {
    trap - EXIT TERM INT HUP
    [ -n "${keeper:-}" ] && halt
    [ -n "${node_tmp:-}" ] && rm -rf "$node_tmp"
    stamp session_end
    : >launch.ended
}
trap finish EXIT
trap 'kill -TERM "${runner:-}" 2>/dev/null; exit 143' TERM INT HUP

say allocation "\"nodes\":\"$SLURM_JOB_NODELIST\",\"host\":\"$(hostname)\",\"daemons\":\"$daemons\""
stamp session_begin
# Remedies for faults of a library, chosen by the site for each environment.
[ -z "${ASSAY_PRELOAD:-}" ] || export LD_PRELOAD=$here/$ASSAY_PRELOAD
if [ "$daemons" != none ]; then
    # shellcheck source=lam.sh
    . "$here/$daemons.sh"
    boot
fi
export ASSAY_LAUNCHED_AT=$EPOCHREALTIME
ASSAY_LAUNCH_HOST=$(hostname)
export ASSAY_LAUNCH_HOST
stamp launch_begin
timeout -k 5 "$limit_s" "$@" </dev/null &
runner=$!
wait $runner
status=$?
stamp launch_end
say exit "\"status\":$status"
exit $status
