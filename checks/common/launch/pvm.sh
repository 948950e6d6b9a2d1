# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: Apache-2.0
# PVM's daemons, for session.sh: its environment, the command that boots them on $hosts_file, their end.
# PVM_ROOT is the site's to say.

daemon_environment() {
    export PVM_RSH=$here/srun-agent.sh PVM_VMID=assay-$SLURM_JOB_ID
    export PVM_TMP=$TMPDIR
    # At the end of its input the console leaves; the daemons it started stay.
    boot_command=(pvm "$hosts_file")
}

daemon_host() { printf '%s\n' "$1"; }

# The console ends with the daemon that it halts; the keeper leaves when the last host has halted.
daemon_halt() {
    timeout -k 2 8 pvm <<<halt
    timeout 4 tail -s 0.02 --pid="$keeper" -f /dev/null
}
