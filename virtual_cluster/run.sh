# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# run.sh COMMAND …: becomes a daemon.
. "${0%/*}/gate.sh"
ready
exec "$@"
