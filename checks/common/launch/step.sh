#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# step.sh COMMAND...: run by srun-agent.sh and prte on a host. COMMAND runs under the step's keeper, which
# waits until the daemons that COMMAND leaves behind have ended; then the host's folder is removed, and
# that they have ended is noted in the working folder that the job's hosts share.
trap : TERM INT HUP
TMPDIR=$ASSAY_NODE_TMP-$(hostname)
PVM_TMP=$TMPDIR
export TMPDIR PVM_TMP
mkdir -m 700 "$TMPDIR" || exit 1
"$ASSAY_STEPKEEPER" - "$@"
status=$?
# The session's end ends its srun, which hands the signal to all processes of the step.
trap '' TERM INT HUP
kind=${ASSAY_NODE_TMP##*/assay-}
: >"${kind%%-*}.ended.$(hostname)"
rm -rf "$TMPDIR"
exit $status
