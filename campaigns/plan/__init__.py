# SPDX-License-Identifier: Apache-2.0
"""From a campaign and a site to every case, its layout, its cost and its place in each block."""

from campaigns.plan.model import Plan, PlannedCase, Totals
from campaigns.plan.order import block_order
from campaigns.plan.planner import launch_limit_s, make_plan
from campaigns.plan.render import render_plan

__all__ = [
    "Plan",
    "PlannedCase",
    "Totals",
    "block_order",
    "launch_limit_s",
    "make_plan",
    "render_plan",
]
