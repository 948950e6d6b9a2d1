#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# step.sh COMMAND...: what srun-agent.sh and prte run on a host. COMMAND runs under the step's keeper, which
# stays until the daemons that COMMAND leaves behind are gone; then the host's own folder goes.
trap : TERM INT HUP
TMPDIR=$ASSAY_NODE_TMP-$(hostname)
PVM_TMP=$TMPDIR
export TMPDIR PVM_TMP
mkdir -m 700 "$TMPDIR" || exit 1
"$ASSAY_STEPKEEPER" - "$@"
status=$?
rm -rf "$TMPDIR"
exit $status
