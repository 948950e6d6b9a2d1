#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scratch.sh begin|end: on a node, the folder of a launch for files on storage under test, $ASSAY_SCRATCH.
#   begin  note in FOLDER.job whose it is; remove what killed launches of this user left beside it: folders
#          whose job this cluster's Slurm does not have any more, and those without a note after a day
#   end    remove it, whatever the program left in it
case $1 in
    begin)
        umask 077
        echo "${SLURM_CLUSTER_NAME:-none} ${SLURM_JOB_ID:-0}" >"$ASSAY_SCRATCH.job"
        for left in "${ASSAY_SCRATCH%-*}"-*; do
            folder=${left%.job}
            if [ ! -O "$left" ] || [ -L "$left" ] || [ "$folder" = "$ASSAY_SCRATCH" ]; then continue; fi
            if read -r cluster job 2>/dev/null <"$folder.job"; then
                [ "$cluster" = "${SLURM_CLUSTER_NAME:-none}" ] || continue
                # A controller that does not answer says nothing of the job.
                found=$(squeue --noheader --states=all --format=%T --jobs="$job" 2>&1)
                case $found in
                    "" | *"Invalid job id"* | COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | DEADLINE | BOOT_FAIL) ;;
                    *) continue ;;
                esac
            elif [ -z "$(find "$left" -maxdepth 0 -mmin +1440)" ]; then
                continue
            fi
            echo "left by a launch that was killed, removed: $folder"
            rm -rf "$folder" "$folder.job"
        done
        ;;
    end) rm -rf "$ASSAY_SCRATCH" "$ASSAY_SCRATCH.job" ;;
esac
