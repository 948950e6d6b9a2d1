#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2086
# The prolog that each node runs before a job. Cores sleep only in states that take at most 3 microseconds to
# leave, as with the profile `latency-performance` of tuned; in a virtual machine not at all, since to
# wake one takes 20 to 70 microseconds there, ten times a message. The kernel grants this as long as a process
# holds the file open, which has a session of its own, because slurmd ends all that is left of the
# prolog's group.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
setsid -w sh -c '(
exec 3>/dev/cpu_dma_latency
if grep -q "^flags.* hypervisor" /proc/cpuinfo; then most="\0\0\0\0"; else most="\003\0\0\0"; fi
printf "$most" >&3 && exec tail -f /dev/null
) >/dev/null 2>&1 &
echo "$!" >"$0"' /cluster/node/awake.$SLURM_JOB_ID </dev/null >/dev/null 2>&1
exit 0
