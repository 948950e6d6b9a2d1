#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2046,SC2086
# The prolog that each node runs before a job: what spin.sh has started goes on.
: >/cluster/node/awake.$SLURM_JOB_ID
kill -CONT $(cat /cluster/node/spinners)
exit 0
