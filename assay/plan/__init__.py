# SPDX-License-Identifier: Apache-2.0
"""From a campaign and a site to every case, its layout, its cost and its place in each block."""

from assay.plan.clock import Clock, clock_of, interval
from assay.plan.durations import Durations, earlier_runs
from assay.plan.narrowing import WHOLE, MoreBlocks, Narrowing
from assay.plan.planner import block_order, completed, launch_limit_s, make_plan, runs_alone
from assay.plan.render import render_plan
from assay.plan.short import measured_in

__all__ = [
    "WHOLE",
    "Clock",
    "Durations",
    "MoreBlocks",
    "Narrowing",
    "block_order",
    "clock_of",
    "completed",
    "earlier_runs",
    "interval",
    "launch_limit_s",
    "make_plan",
    "measured_in",
    "render_plan",
    "runs_alone",
]
