# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: Apache-2.0
# PRRTE's daemons (Open MPI 5), for session.sh: its environment, the command that boots them on
# $hosts_file, their end. prte starts those of the other hosts by srun itself, each under step.sh.

# The daemon's name, as /proc tells it.
daemon=prte

daemon_environment() {
    boot_command=(prte --daemonize --report-uri prte.uri --hostfile "$hosts_file"
        --launch-agent "$here/step.sh prted")
}

daemon_host() { printf '%s slots=%s\n' "$1" "$SLURM_NTASKS_PER_NODE"; }

daemon_halt() {
    local folder pterm
    folder=$(dirname "$(command -v prte)")
    # Where a distribution has another name for it, pterm is PuTTY's terminal.
    for pterm in pterm.openmpi pterm.prrte prte-term pterm; do [ ! -x "$folder/$pterm" ] || break; done
    timeout -k 2 "$halt_s" "$folder/$pterm" --dvm-uri file:prte.uri </dev/null
}
