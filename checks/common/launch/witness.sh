#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# witness.sh COMMAND...: one process without MPI. Tells where it runs and what Slurm records of its step,
# as the evidence library does for ranks of MPI.
host=$(hostname)
read -r boot </proc/sys/kernel/random/boot_id
while IFS=$': \t' read -r key value _; do
    [ "$key" != Cpus_allowed_list ] || allowed=$value
done </proc/self/status
cpus=
for range in ${allowed//,/ }; do
    for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do cpus=$cpus${cpus:+,}$cpu; done
done
step=$(scontrol show step "$SLURM_JOB_ID.$SLURM_STEP_ID" 2>/dev/null)
nodes=${ASSAY_NODES:-}
[[ $step =~ [[:space:]]NodeList=([^[:space:]]+) ]] && nodes=${BASH_REMATCH[1]}
printf '\n{"assay":"evidence","token":"%s","library":"none: no MPI","library_file":"","ranks":[{"rank":0,"host":"%s","cpus":[%s],"boot_id":"%s","pid":%d,"start":%s}],"links":[],"variables":{"step_nodes":"%s"}}\n' \
    "${ASSAY_TOKEN:-}" "$host" "$cpus" "$boot" $$ "${EPOCHREALTIME/[!0-9]/.}" "$nodes"
exec "$@"
