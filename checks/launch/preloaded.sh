#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# preloaded.sh LIBRARY[,LIBRARY...] PROGRAM ARGUMENT...: one rank, with libraries that lie beside
# this script laid before its own.
here=$(dirname "$(readlink -f "$0")")
for library in $(echo "$1" | tr , ' '); do
    before=${before:+$before:}$here/$library
done
shift
LD_PRELOAD=$before${LD_PRELOAD:+:$LD_PRELOAD} exec "$@"
