#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make bench`: what the harness itself costs. Prints measured numbers; judges nothing but the goals
# of the benchmarks that carry one.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "== plan of 100,000 cases (goal: 10 s)"
.venv/bin/python -m bench.plan
echo "== overhead a launch on a virtual cluster (goal: 0.3 s beyond the job's own run time)"
if [ "$(id -u)" -eq 0 ]; then
    .venv/bin/python -m bench.overhead
else
    echo "skipped: needs root for a virtual cluster; run: sudo make bench"
fi
echo "== su3_rmd on every MPI library (goal: 0.6 µs a site and step, single, 8³×16, one rank)"
checks/su3_rmd/src/bench/all.sh 0.6
echo "== what the intervals cover on simulated launches (goal: 93–97 %)"
.venv/bin/python -m bench.statistics
echo "== wrong winners in simulated campaigns (goal: at most 5 %)"
.venv/bin/python -m bench.choice
echo "== laws of collective operations found in simulated times (goal: at most 5 % wrong)"
.venv/bin/python -m bench.collectives
echo "== report on 1,000,000 metric values (goal: 10 s, 1 GiB)"
.venv/bin/python -m bench.report
echo "== nightly verdicts on simulated series: delays, false alarms, cost of years of history"
.venv/bin/python -m bench.nightly
