#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole way of a new user on a foreign Slurm cluster, and what may happen there, with `make
# test-site`: prints what users read, and times. Arguments go to pytest, e.g. -k maintenance.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "test-site: a foreign cluster needs root: sudo make test-site" >&2; exit 4; }
export ASSAY_TEST_SITE=1
exec .venv/bin/python -m pytest -s -v setup/foreign_cluster/tests "$@"
