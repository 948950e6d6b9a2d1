# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: Apache-2.0
# LAM's daemons, for session.sh: its environment, the command that boots them on $hosts_file, their end.

# The daemon's name, as /proc tells it.
daemon=lamd

daemon_environment() {
    export LAM_MPI_SESSION_SUFFIX=assay-${ASSAY_LAUNCH_ID:-$SLURM_JOB_ID}
    boot_command=(lamboot -b -ssi boot rsh -ssi boot_rsh_agent "$here/srun-agent.sh"
        -ssi boot_rsh_no_n 1 "$hosts_file")
}

daemon_host() { printf '%s cpu=%s\n' "$1" "$SLURM_NTASKS_PER_NODE"; }

daemon_halt() { timeout -k 2 "$halt_s" lamhalt </dev/null; }
