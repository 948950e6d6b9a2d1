#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2034,SC2046
# The epilog that each node runs after a job: nothing of the job is left. Slurm runs it when all
# slurmstepds of the job have ended. Spared are slurmd, what keeps cores awake for other jobs, what
# descends from a slurmstepd, which is another job's, and what entered the node from outside, so that its
# chain of parents ends at 0: that of what has left its parents ends at 1. Daemons of LAM, PVM and PRRTE
# have their keeper as parent.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /cluster/node || exit 0
mine=awake.$SLURM_JOB_ID
[ ! -s "$mine" ] || kill -KILL "$(cat "$mine")"
rm -f "$mine"
awake=" $(cat awake.* spinners 2>/dev/null | tr '\n' ' ') "
[ ! -f spinners ] || ls awake.* >/dev/null 2>&1 || kill -STOP $(cat spinners)
spared() {
    at=$1
    while [ "$at" -gt 1 ]; do
        case $awake in *" $at "*) return 0 ;; esac
        case $(readlink "/proc/$at/exe") in */sbin/slurmd* | */sbin/slurmstepd*) return 0 ;; esac
        parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$at/status" 2>/dev/null)
        # What has ended meanwhile left its child to another parent: from the child on again.
        if [ -n "$parent" ]; then at=$parent; else
            [ "$at" != "$1" ] || return 0
            at=$1
        fi
    done
    [ "$at" = 0 ]
}
for round in 1 2 3 4 5 6 7 8 9 10; do
    left=
    for process in /proc/[0-9]*; do
        pid=${process#/proc/}
        [ "$pid" != 1 ] && ! spared "$pid" || continue
        kill -KILL "$pid" 2>/dev/null && left=yes
    done
    [ -n "$left" ] || break
    sleep 0.02
done
# The folders of daemons, whose own keeper was ended before it could remove them.
rm -rf /tmp/assay-*-"$SLURM_JOB_ID"-*
exit 0
