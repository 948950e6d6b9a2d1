#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# remote-shell.sh HOST COMMAND...: stands in for rsh or ssh where nodes take neither, as a launcher's
# remote shell: COMMAND on HOST of the job's allocation, for as long as it runs.
host=$1
shift
exec srun --overlap --mpi=none -N1 -n1 -w "$host" /bin/sh -c "$*" </dev/null
