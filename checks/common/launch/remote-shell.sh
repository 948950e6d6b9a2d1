#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# remote-shell.sh [OPTION...] HOST COMMAND...: stands in for rsh or ssh where nodes take neither, as a
# launcher's remote shell: COMMAND on HOST of the job's allocation, for as long as it runs. Options, such as
# --external-launcher of MPICH 4.2, mean nothing to srun.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec srun --overlap --mpi=none -N1 -n1 -w "$host" /bin/sh -c "$*" </dev/null
