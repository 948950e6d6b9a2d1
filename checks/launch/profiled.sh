#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profiled.sh PROGRAM ARGUMENT...: one rank, with the MPI profile laid before its library.
here=$(dirname "$(readlink -f "$0")")
LD_PRELOAD=$here/libassay_profile.so${LD_PRELOAD:+:$LD_PRELOAD} exec "$@"
