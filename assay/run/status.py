# SPDX-License-Identifier: Apache-2.0
"""How far a run is: counts, failures with their reasons, time left."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from records.interims import Interim, asked_blocks
from records.plain_text import one_line
from records.plan import Plan
from records.queue_state import CurrentJob, read_current
from records.record import CASE_ID, latest_attempts
from records.run_directory import RunDirectory


@dataclass(frozen=True)
class RunStatus:
    """Counts are of (case, block) pairs by their latest attempt; times in seconds; `told` is what
    the plan leaves of its campaign."""

    run_id: str
    campaign: str
    planned: int
    done: int
    counts: dict[str, int]
    skipped_cases: int
    failures: list[str]
    left_s: float
    told: list[str]
    #: Of a sequential design: what its judgements came to, what is open, whether it has ended.
    judged: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    ended: bool = True
    #: Whether a driver is at it, None: not looked for; where its current launch is, if that takes
    #: long enough to tell.
    driven: bool | None = None
    current: CurrentJob | None = None

    @property
    def complete(self) -> bool:
        """True when every launch has a final record, none is lost, and nothing is to be judged."""
        return self.done == self.planned and not self.counts.get("lost") and self.ended


def run_status(run: RunDirectory, *, by_driver: bool = False) -> RunStatus:
    """The status of a run from its plan and its records; `by_driver`: asked by its own driver."""
    plan, records = run.plan(), run.records()
    launched = (record for record in records if record.block > 0)
    latest = latest_attempts(launched, CASE_ID)
    feasible = {case.id: case for case in plan.cases if case.skipped is None}
    driven = None if by_driver else run.is_driven()
    interims = run.interims()
    asked = asked_blocks(plan, interims)
    missing = [
        case.estimate_s
        for case in feasible.values()
        for block in range(1, asked[case.environment, case.check] + 1)
        if (case.id, block) not in latest
    ]
    return RunStatus(
        run_id=run.run_id,
        campaign=plan.campaign,
        planned=sum(asked[case.environment, case.check] for case in feasible.values()),
        done=len(latest),
        counts=dict(Counter(record.status for record in latest.values())),
        skipped_cases=len(plan.cases) - len(feasible),
        failures=[
            f"{r.case_id} {r.environment} block {r.block} attempt {r.attempt}: {r.status}:"
            f" {one_line(r.reason or '')}"
            for r in records
            if r.status in ("failed", "wrong", "lost")
        ],
        left_s=sum(missing),
        told=plan.told(),
        judged=_judged(plan, interims),
        open=interims[-1].open if interims else [],
        ended=plan.sequential is None or bool(interims and interims[-1].ended),
        driven=driven,
        current=read_current(run.path) if driven else None,
    )


def render_status(status: RunStatus) -> str:
    """The status as lines of text."""
    counts = ", ".join(f"{n} {word}" for word, n in sorted(status.counts.items())) or "none"
    lines = [
        f"run {status.run_id} of campaign {status.campaign}",
        f"  {status.done} of {status.planned} launches have a record: {counts}",
        f"  {status.skipped_cases} cases do not fit the site and are skipped",
    ]
    lines += [f"  {text}" for text in [*status.told, *status.judged]]
    lines += [f"  open: {question}" for question in status.open]
    if status.done < status.planned:
        lines.append(f"  about {status.left_s / 60:.0f} min are left, by the plan's estimates")
        lines += [f"  {_now(status)}"] if status.driven is not None else []
    lines += [f"  {failure}" for failure in status.failures]
    return "\n".join(lines)


def _judged(plan: Plan, interims: list[Interim]) -> list[str]:
    """How far a sequential design is."""
    if plan.sequential is None:
        return []
    if not interims:
        first = plan.sequential.interims[0]
        return [f"judged after block {first} for the first time, of at most {plan.blocks}"]
    return interims[-1].told(plan)


def _now(status: RunStatus) -> str:
    """What the run is doing."""
    if not status.driven:
        return f"it is not running; go on with: assay run --resume {status.run_id}"
    if status.current is None:
        return "it is running"
    current = status.current
    return one_line(f"{current.what} {current.queue.told()}")
