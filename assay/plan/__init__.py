# SPDX-License-Identifier: Apache-2.0
"""From a campaign and a site to every case, its layout, its cost and its place in each block."""

from assay.plan.cases import WHOLE, Narrowing
from assay.plan.planner import block_order, completed, launch_limit_s, make_plan
from assay.plan.render import render_plan
from assay.plan.times import Clock, clock_of, earlier_times, interval

__all__ = [
    "WHOLE",
    "Clock",
    "Narrowing",
    "block_order",
    "clock_of",
    "completed",
    "earlier_times",
    "interval",
    "launch_limit_s",
    "make_plan",
    "render_plan",
]
