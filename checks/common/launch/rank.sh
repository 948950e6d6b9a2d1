#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rank.sh LIBRARIES INPUT PROGRAM ARGUMENT...: one rank.
#   LIBRARIES  libraries beside this script to preload before those of LD_PRELOAD; comma-separated, or -
#   INPUT      file for its standard input
here=$(dirname "$(readlink -f "$0")")
for library in $(echo "${1#-}" | tr , ' '); do
    before=${before:+$before:}$here/$library
done
input=$2
shift 2
LD_PRELOAD=$before${before:+${LD_PRELOAD:+:}}$LD_PRELOAD exec "$@" <"$input"
