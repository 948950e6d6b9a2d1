#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034
# node.sh NODE WORDS …: process 1 of a node, whose user's words begin each command. Starts slurmd, again
# when a job has ended it; where it fails the node ends. So it does with what keeps cores awake, where
# that is a program. Slurm would wait for jobs of which nothing is left, so it learns that the node was
# down. What was killed together ends one by one.
node=$1; shift
while :; do
    [ ! -x /cluster/bin/spin ] || pgrep -x assay-spinner >/dev/null ||
        setsid "$@" /cluster/bin/spin &
    "$@" slurmd -D -N "$node" &
    status=0
    wait $! || status=$?
    [ "$status" = 0 ] || [ "$status" -gt 128 ] || exit "$status"
    for look in 1 2 3 4 5 6 7 8 9 10; do
        pgrep slurmstepd >/dev/null || break
        sleep 0.1
    done
    pgrep slurmstepd >/dev/null ||
        "$@" scontrol update "NodeName=$node" State=DOWN Reason="all of its processes were ended"
done
