#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# step.sh COMMAND: what srun-agent.sh runs on a host. COMMAND runs under the step's keeper, which
# stays until the daemons that COMMAND leaves behind are gone; then the host's own folder goes.
trap : TERM INT HUP
if [ -n "$ASSAY_NODE_TMP" ]; then
    PVM_TMP=$ASSAY_NODE_TMP-$(hostname)
    export PVM_TMP
    mkdir -m 700 "$PVM_TMP" || exit 1
fi
"$ASSAY_STEPKEEPER" - /bin/sh -c "$1"
status=$?
[ -z "$ASSAY_NODE_TMP" ] || rm -rf "$PVM_TMP"
exit $status
