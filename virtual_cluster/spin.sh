#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086
# Starts a process on each core of a node that runs where no other wants to, and stops it until a prolog
# lets it go on; checks/common/src/assay/usage.c knows it by its name. The scheduler takes its session
# as a group, and would give it half of a core: the group must have the lowest priority too, and of all
# users the kernel takes ten such wishes a second.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /cluster/node || exit
echo "$$" >spinners
until [ ! -e /proc/self/autogroup ] || echo 19 >/proc/self/autogroup; do sleep 0.1; done 2>/dev/null
spinners=
for part in $(sed -n "s/Cpus_allowed_list:.//p" /proc/self/status | tr , " "); do
    for core in $(seq "${part%-*}" "${part#*-}"); do
        chrt --idle 0 nice -n 19 taskset -c "$core" /cluster/bin/assay-spinner -c "while :; do :; done" &
        spinners="$spinners $!"
    done
done
until [ "$(pgrep -cx assay-spinner)" = "$(echo "$spinners" | wc -w)" ]; do sleep 0.01; done
kill -STOP $spinners
echo "$$$spinners" >spinners
! ls awake.* >/dev/null 2>&1 || kill -CONT $spinners
wait
