#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# result-file.sh PATTERN PROGRAM ARGUMENT...: one rank of a program that leaves its result in a file; the
# first rank prints the files that PATTERN matches.
pattern=$1
shift
"$@"
status=$?
rank=${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}
[ "$rank" != 0 ] || find . -maxdepth 1 -type f -name "$pattern" -exec cat {} +
exit $status
