# SPDX-License-Identifier: Apache-2.0
"""Which blocks come next in a sequential design: the run is judged by the code that reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from records.interims import Ended, Interim, write_interims
from records.ledger import Entry
from records.plan import Plan
from records.run_directory import RunDirectory


def judge(run: RunDirectory, entries: Sequence[Entry]) -> Interim | None:
    """Judge a run whose launches that are asked for are done, and keep the judgement with it;
    `entries` are those of all its records.

    None for a fixed design, and when the last judgement has ended the run. The same records give
    the same judgement, whoever was killed meanwhile.
    """
    plan, interims = run.plan(), run.interims()
    if plan.sequential is None or (interims and interims[-1].ended):
        return None
    from reports.choice.races import judge_after  # slow: SciPy
    from reports.load.loading import load_run  # slow: SciPy

    block = plan.sequential.interims[len(interims)]
    found = judge_after(load_run(run.path), block)
    ended: Ended | None = None
    if not found.open:
        ended = "answered"
    elif block == plan.blocks or not found.going:
        ended = "blocks"
    elif _too_dear(plan, entries, found.going, plan.sequential.interims[len(interims) + 1]):
        ended = "node_hours"
    going = found.going if ended is None else {}
    made = Interim(block=block, open=found.open, going=going, ended=ended)
    write_interims(run.interims_file, [*interims, made])
    return made


def _too_dear(
    plan: Plan, records: Sequence[Entry], going: Mapping[str, list[str]], following: int
) -> bool:
    """Whether limits.node_hours does not suffice up to the block `following`, at what launches of
    what goes on took so far."""
    allowed = plan.limits.get("node_hours")
    if allowed is None:
        return False
    total = further = 0.0
    last = max((record.block for record in records), default=0)
    for record in records:
        if record.started_at and record.ended_at:
            began, ended = map(datetime.fromisoformat, (record.started_at, record.ended_at))
            # Records that were made while a clock was set back may end before they began.
            used = max(0.0, (ended - began).total_seconds()) * record.nodes / 3600
            total += used
            if record.check in going.get(record.environment, ()):
                further += used * (following - last) / max(1, last)
    return total + further > allowed
