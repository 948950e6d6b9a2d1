#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# login-end.sh PROGRAM [OPTION...]: where the harness runs, the end of a program of two ends whose other
# one a job starts on its node (tcp_pair with one rank). Waits in the launch's folder for the file
# `listening` with host and port, until the launch or the harness has ended.
set -uo pipefail
until [ -s listening ]; do
    if [ -e launch.ended ] || ! kill -0 "$PPID" 2>/dev/null; then exit 0; fi
    # NFS looks anew into a folder that this host has changed.
    rm -f calling && : >calling
    sleep 0.2
done
read -r host port <listening
# Not every login node resolves the names of nodes; Slurm knows their addresses.
getent hosts "$host" >/dev/null ||
    host=$(scontrol show node "$host" | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p')
exec "$@" --host="$host" --port="$port"
