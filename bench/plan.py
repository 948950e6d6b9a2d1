# SPDX-License-Identifier: Apache-2.0
"""Plan of 100,000 cases, from the campaign's text to the rendered plan (goal: 10 s)."""

from __future__ import annotations

import time

from assay.plan import make_plan, render_plan
from assay.schema import campaign_from_text
from assay.sites.site import SiteFacts

_CAMPAIGN = """
schema: 1
name: bench
question: how long does planning take?
environments: [a, b, c, d]
cases:
  - check: hpl
    matrix:
      grid: [{grids}]
      n: [{sizes}]
"""


def main(_: list[str]) -> None:
    """Plan 25,000 combinations in four environments and print the seconds of each step."""
    grids = ", ".join(f"{{p: {p}, q: {q}}}" for p in range(1, 6) for q in range(1, 6))
    sizes = ", ".join(str(1000 + n) for n in range(1000))
    site = SiteFacts("bench", 64, 8, 2**37, {name: {"mpi"} for name in "abcd"})
    begun = time.perf_counter()
    campaign = campaign_from_text(
        "bench.yaml", _CAMPAIGN.replace("{grids}", grids).replace("{sizes}", sizes)
    )
    loaded = time.perf_counter()
    plan = make_plan(campaign, site)
    planned = time.perf_counter()
    characters = len(render_plan(plan))
    done = time.perf_counter()
    print(
        f"{plan.totals.cases} cases: load {loaded - begun:.2f} s, plan {planned - loaded:.2f} s,"
        f" render {done - planned:.2f} s ({characters} characters), total {done - begun:.2f} s"
    )
