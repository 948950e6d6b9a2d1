#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sweep.sh: ends the processes of this job on this host, whatever parents they have left, but those that
# it descends from. A process belongs to the job that its environment names; in an allocation of many
# launches, to the launch.
mine=${ASSAY_LAUNCH_ID:+ASSAY_LAUNCH_ID=$ASSAY_LAUNCH_ID}
mine=${mine:-SLURM_JOB_ID=$SLURM_JOB_ID}
spared=" "
pid=$$
while [ "${pid:-0}" -gt 1 ]; do
    spared="$spared$pid "
    pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null)
done
for round in 1 2 3 4 5 6 7 8 9 10; do
    left=
    job=$(grep -lzsx "$mine" /proc/[0-9]*/environ | tr -dc '0-9\n')
    for pid in $job; do
        case $spared in *" $pid "*) continue ;; esac
        kill -KILL "$pid" 2>/dev/null && left="$left $pid"
    done
    [ -n "$left" ] || break
    echo "round $round: ended$left"
    sleep 0.05
done
