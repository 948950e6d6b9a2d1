#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# evidence.sh PROGRAM ARGUMENT...: one rank of a foreign test, its stdin and stdout untouched.
# Preloads the evidence into a program that is linked with MPI; that writes to launch.evidence beside this
# script. A remedy that the site chose for the environment (preload.so) is preloaded too.
# As srun and mpirun do, a program is looked for in the working folder too.
case $1 in
*/*) ;;
*) command -v "$1" >/dev/null || [ ! -x "./$1" ] || { name=./$1 && shift && set -- "$name" "$@"; } ;;
esac
here=$(dirname "$(readlink -f "$0")")
program=$(command -v "$1")
if [ -e "$here/libassay_evidence.so" ] && LC_ALL=C grep -qs 'libmpi[a-z_]*\.so' "$program"; then
    before=$here/libassay_evidence.so
    export ASSAY_EVIDENCE_FILE="$here/launch.evidence"
fi
[ ! -e "$here/preload.so" ] || before=${before:+$before:}$here/preload.so
[ -z "${before:-}" ] || export LD_PRELOAD="$before${LD_PRELOAD:+:$LD_PRELOAD}"
exec "$@"
