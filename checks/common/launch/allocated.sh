#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# allocated.sh NODES RANKS RANKS_PER_NODE OUT ERR COMMAND...: a step of an allocation becomes like a job of
# its own.
#   NODES           names of the step's nodes, separated by commas; the step itself runs on the first
#   RANKS           ranks of the launch
#   RANKS_PER_NODE  ranks on each node
#   OUT ERR         files of COMMAND's output; the step's own then says when COMMAND begins and has ended,
#                   which srun passes on at once, long before the step is over. -: COMMAND gets the step's own
# What Slurm says of the step is replaced by what sbatch would say to a job of these nodes; steps that
# COMMAND starts stay on them, through the `srun` of in-allocation/, which session.sh finds by
# ASSAY_IN_ALLOCATION. ASSAY_LAUNCH_ID tells launches of one allocation apart.
nodes=$1 ranks=$2 per_node=$3 out=$4 err=$5
shift 5
here=$(cd "${0%/*}" && pwd -P)
export ASSAY_LAUNCH_ID=$SLURM_JOB_ID-$SLURM_STEP_ID
cpus=${SLURM_CPUS_ON_NODE:-$(nproc --all)}
for name in $(compgen -v SLURM_); do
    case $name in
        SLURM_CONF | SLURM_JOB_ID | SLURM_JOBID | SLURM_CLUSTER_NAME | SLURM_TOPOLOGY_*) ;;
        SLURM_JOB_PARTITION | SLURM_JOB_ACCOUNT | SLURM_JOB_QOS | SLURM_JOB_UID | SLURM_JOB_USER) ;;
        *) unset "$name" ;;
    esac
done
IFS=, read -ra names <<<"$nodes"
count=${#names[@]}
export SLURM_JOB_NODELIST=$nodes SLURM_NODELIST=$nodes SLURMD_NODENAME=${names[0]}
export SLURM_JOB_NUM_NODES=$count SLURM_NNODES=$count SLURM_CPUS_ON_NODE=$cpus
export SLURM_NTASKS=$ranks SLURM_NPROCS=$ranks SLURM_NTASKS_PER_NODE=$per_node
export SLURM_TASKS_PER_NODE="$per_node(x$count)" SLURM_JOB_CPUS_PER_NODE="$cpus(x$count)"
# Whoever runs assay by srun has a step that holds all CPUs; launches have their nodes to themselves.
export SLURM_OVERLAP=1
export ASSAY_IN_ALLOCATION=$here/in-allocation
export PATH=$ASSAY_IN_ALLOCATION:$PATH
[ "$out" != - ] || exec "$@"
printf 'begun %s\n' "$ASSAY_LAUNCH_ID"
trap : TERM INT HUP
"$@" >"$out" 2>"$err"
printf 'ended %s\n' $?
