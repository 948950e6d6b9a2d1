#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# session.sh DAEMONS LIMIT_S COMMAND...: one launch on the job's allocation, phase by phase.
#   DAEMONS  none, or lam: boot the library's daemons first, halt them afterwards, whatever happened
#   LIMIT_S  seconds after which the command is ended (status 124)
# Prints each phase's begin and end as JSON lines; leaves the command's exit status.
# shellcheck disable=SC2317  # finish and what it calls run from a trap
set -uo pipefail
daemons=$1 limit_s=$2
shift 2
here=$(dirname "$(readlink -f "$0")")

stamp() { printf '{"assay":"stamp","name":"%s","at":%s}\n' "$1" "$EPOCHREALTIME"; }
failed() {
    printf '{"assay":"error","where":"session","message":"%s"}\n' "$1"
    exit 125
}

lam_environment() {
    export LAM_MPI_SESSION_SUFFIX=assay-$SLURM_JOB_ID
    export ASSAY_STEPKEEPER=$here/stepkeeper
    TMPDIR=$(mktemp -d "/tmp/assay-lam-$SLURM_JOB_ID.XXXXXX")
    export TMPDIR
}

lam_boot() {
    scontrol show hostnames "$SLURM_JOB_NODELIST" |
        sed "s/\$/ cpu=$SLURM_NTASKS_PER_NODE/" >lam.hosts
    stamp boot_begin
    exec 3< <(exec "$ASSAY_STEPKEEPER" - lamboot -b -ssi boot rsh \
        -ssi boot_rsh_agent "$here/srun-agent.sh" -ssi boot_rsh_no_n 1 lam.hosts \
        2>&1 </dev/null)
    keeper=$!
    local line status=none
    while [ "$status" = none ] && IFS= read -r line <&3; do
        printf '%s\n' "$line" >>lam.boot.out
        case $line in "stepkeeper: "*) status=${line#stepkeeper: } ;; esac
    done
    stamp boot_end
    [ "$status" = 0 ] && return
    cat lam.boot.out >&2
    failed "lamboot failed with status $status"
}

lam_halt() {
    stamp halt_begin
    timeout -k 2 8 lamhalt >lam.halt.out 2>&1 </dev/null
    kill -TERM "$keeper" 2>/dev/null && wait "$keeper" 2>/dev/null
    stamp halt_end
    rm -rf "$TMPDIR"
}

finish() {
    trap - EXIT TERM INT HUP
    [ "$daemons" = lam ] && [ -n "${keeper:-}" ] && lam_halt
    stamp session_end
    : >launch.ended
}
trap finish EXIT
trap 'kill -TERM "${runner:-}" 2>/dev/null; exit 143' TERM INT HUP

printf '{"assay":"allocation","nodes":"%s","host":"%s"}\n' "$SLURM_JOB_NODELIST" "$(hostname)"
stamp session_begin
# Remedies for faults of a library, chosen by the site for each environment.
[ -z "${ASSAY_PRELOAD:-}" ] || export LD_PRELOAD=$here/$ASSAY_PRELOAD
if [ "$daemons" = lam ]; then
    lam_environment
    lam_boot
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
printf '{"assay":"exit","status":%d}\n' $status
exit $status
