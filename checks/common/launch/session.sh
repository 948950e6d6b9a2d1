#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# session.sh DAEMONS LIMIT_S COMMAND...: one launch on the job's allocation, phase by phase.
#   DAEMONS  none, lam, prte or pvm: boot the library's daemons first, halt them afterwards in any case
#   LIMIT_S  seconds after which the command is ended (status 124)
# Prints the begin and end of each phase as JSON lines; exits with the command's status. Each line
# begins after a newline, as the command's text may lack its last one, and carries the launch's
# ASSAY_TOKEN.
# shellcheck disable=SC2317  # finish and what it calls run from a trap
set -uo pipefail
daemons=$1 limit_s=$2
shift 2
# Set in any case: mpirun warns of a variable that it is to forward and is not there.
export ASSAY_TOKEN=${ASSAY_TOKEN:-}
say() { printf '\n{"assay":"%s","token":"%s",%s}\n' "$1" "$ASSAY_TOKEN" "$2"; }
# The time of day with a point, whatever the locale puts between seconds and their parts.
now() { now=${EPOCHREALTIME/[!0-9]/.}; }
stamp() {
    local now
    now
    say stamp "\"name\":\"$1\",\"at\":$now"
}
stamp session_begin
here=$(cd "${0%/*}" && pwd -P)
failed() {
    say error "\"where\":\"session\",\"message\":\"$1\""
    exit 125
}

# Runs one of our scripts on every node of the job.
on_nodes() {
    local others=()
    # Without Slurm (keeper.py) there are none.
    [ -n "${ASSAY_NODES:-}" ] ||
        mapfile -t others < <(scontrol show hostnames "$SLURM_JOB_NODELIST" | grep -vx "$SLURMD_NODENAME")
    [ ${#others[@]} -eq 0 ] || srun --overlap --mpi=none --nodes=${#others[@]} --ntasks=${#others[@]} \
        --ntasks-per-node=1 --nodelist="$(IFS=, && echo "${others[*]}")" "$@" </dev/null
    "$@"
}

finish() {
    trap - EXIT TERM INT HUP
    [ -n "${keeper:-}" ] && halt
    [ -n "${node_tmp:-}" ] && rm -rf "$node_tmp"
    # Where Slurm lets daemonised processes outlive their job.
    [ -z "${ASSAY_SWEEP:-}" ] || on_nodes "$here/sweep.sh" >sweep.out 2>&1
    [ -z "${ASSAY_SCRATCH:-}" ] || on_nodes "$here/scratch.sh" end >>scratch.out 2>&1
    stamp session_end
    : >launch.ended
}
trap finish EXIT
trap 'kill -TERM "${runner:-}" 2>/dev/null; exit 143' TERM INT HUP

say allocation "\"nodes\":\"${ASSAY_NODES:-$SLURM_JOB_NODELIST}\",\"host\":\"$(hostname)\",\"daemons\":\"$daemons\""
[ -z "${ASSAY_SCRATCH:-}" ] || on_nodes "$here/scratch.sh" begin >scratch.out 2>&1
# Modules may have put Slurm's own srun before it, and a site may name that by its path.
if [ -n "${ASSAY_IN_ALLOCATION:-}" ]; then
    export PATH=$ASSAY_IN_ALLOCATION:$PATH
    for word; do
        shift
        case $word in /*/srun) word=srun ;; esac
        set -- "$@" "$word"
    done
fi
# Remedies for faults of a library, chosen by the site for each environment.
[ -z "${ASSAY_PRELOAD:-}" ] || export LD_PRELOAD=$here/$ASSAY_PRELOAD${LD_PRELOAD:+:$LD_PRELOAD}
if [ "$daemons" != none ]; then
    # shellcheck source=daemons.sh
    . "$here/daemons.sh"
    boot
fi
now
ASSAY_LAUNCH_HOST=$(hostname)
export ASSAY_LAUNCH_HOST ASSAY_LAUNCHED_AT=$now
stamp launch_begin
timeout -k 5 "$limit_s" "$@" </dev/null &
runner=$!
wait $runner
status=$?
stamp launch_end
[ "$status" = 0 ] || [ -z "${keeper:-}" ] || tell_dead_daemons
say exit "\"status\":$status"
exit $status
