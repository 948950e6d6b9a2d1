#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# srun-agent.sh HOST COMMAND...: LAM's and PVM's replacement of rsh. Runs COMMAND on HOST of the job's
# allocation and returns its status, while the Slurm step lasts as long as the daemons that COMMAND
# leaves behind: the step's keeper adopts them, so that they end with the job however Slurm tracks
# processes.
set -euo pipefail
host=$1
shift
# Slurm would make this host's TMPDIR on the other one; step.sh makes its own.
exec 3< <(exec env -u TMPDIR srun --overlap --mpi=none -N1 -n1 -w "$host" \
    "$(dirname "$0")/step.sh" /bin/sh -c "$*" 2>&1 </dev/null)
while IFS= read -r line <&3; do
    case $line in
        "stepkeeper: "*) exit "${line#stepkeeper: }" ;;
        *) printf '%s\n' "$line" ;;
    esac
done
echo "srun-agent: the step on $host ended before its command did" >&2
exit 1
