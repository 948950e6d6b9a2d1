# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: Apache-2.0
# PVM's daemons, for session.sh: its environment, the command that boots them on $hosts_file, their end.
# The site sets PVM_ROOT.

# The daemon's name, as /proc tells it.
daemon=pvmd3

daemon_environment() {
    export PVM_RSH=$here/srun-agent.sh PVM_VMID=assay-${ASSAY_LAUNCH_ID:-$SLURM_JOB_ID}
    export PVM_TMP=$TMPDIR
    # The console exits at the end of its input; the daemons it started stay.
    boot_command=(pvm "$hosts_file")
}

daemon_host() { printf '%s\n' "$1"; }

daemon_halt() { timeout -k 2 "$halt_s" pvm <<<halt; }
