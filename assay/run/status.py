# SPDX-License-Identifier: Apache-2.0
"""Status of a run: counts, failures with their reasons, time left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.plan import clock_of
from records.flags import INVALID_ON_PURPOSE
from records.run.interims import Interim, asked_blocks, has_ended
from records.run.plan import Plan
from records.run.queue_state import CurrentJob, read_current
from records.run.record import CASE_ID, Status, latest_attempts
from records.run.record_lines import Entry, Ledger
from records.run.run_directory import RunDirectory
from records.text.plain_text import one_line
from records.text.reasons import grouped
from reports import commands
from reports.commands import NOTHING, NextCommand

OK: Status = "ok"
#: How a launch ended that gave no number.
BAD: tuple[Status, ...] = ("failed", "wrong", "lost")


class Bad(NamedTuple):
    """A launch that ended badly, whose it is, and where its stderr is kept."""

    status: Status
    reason: str | None
    environment: str
    check: str
    output: str | None


@dataclass(frozen=True)
class FailedFor:
    """Bad launches with one reason: whose they are, and what the first one printed."""

    status: str
    reason: str
    launches: int
    environments: list[str]
    checks: list[str]
    output: str | None


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
    site: str = ""
    path: str = ""
    #: Bad launches among `counts` by why they ended, the most frequent first; how many of `counts`
    #: are wrong on purpose.
    reasons: list[FailedFor] = field(default_factory=list)
    on_purpose: int = 0
    #: The command that goes on with it.
    resume: NextCommand = NOTHING

    @property
    def failed(self) -> int:
        """Launches that ended badly, and not on purpose."""
        return sum(self.counts.get(word, 0) for word in BAD) - self.on_purpose

    @property
    def complete(self) -> bool:
        """True when every launch has a final record, none is lost, and nothing is to be judged."""
        return self.done == self.planned and not self.counts.get("lost") and self.ended


def run_status(run: RunDirectory, ledger: Ledger | None = None) -> RunStatus:
    """The status of a run from its plan and its records; its own driver gives its `ledger`."""
    plan, records = run.plan(), (ledger or run.ledger()).entries
    latest = latest_attempts((record for record in records if record.block > 0), CASE_ID).values()
    feasible = [case for case in plan.cases if case.skipped is None]
    driven, interims = None if ledger else run.is_driven(), run.interims()
    asked, counts = asked_blocks(plan, interims), Counter(record.status for record in latest)
    bad = [record for record in latest if record.status in BAD]
    unwanted = [record for record in bad if INVALID_ON_PURPOSE not in record.flags]
    return RunStatus(
        run_id=run.run_id,
        campaign=plan.campaign,
        site=plan.site,
        path=str(run.path),
        planned=sum(asked[case.environment, case.check] for case in feasible),
        done=len(latest),
        counts={str(word): n for word in (OK, *BAD) if (n := counts[word])},
        skipped_cases=len(plan.cases) - len(feasible),
        failures=[
            f"{r.case_id} {r.environment} block {r.block} attempt {r.attempt}: {r.status}:"
            f" {one_line(r.reason or '')}"
            for r in records
            if r.status in BAD
        ],
        left_s=clock_of(run, records).left_s(time.time() if driven else None),
        told=plan.told(),
        judged=_judged(plan, interims),
        open=interims[-1].open if interims else [],
        ended=has_ended(plan, interims),
        driven=driven,
        current=read_current(run.path) if driven else None,
        reasons=failed_for(unwanted),
        on_purpose=len(bad) - len(unwanted),
        resume=commands.resume(str(run.path), run.provenance().asked.checks),
    )


def _judged(plan: Plan, interims: Sequence[Interim]) -> list[str]:
    """Sentences on how far a sequential design has come."""
    if plan.sequential is None:
        return []
    first = f"judged after block {plan.sequential.interims[0]} for the first time"
    so_far = interims[-1].told(plan) if interims else [f"{first}, of at most {plan.blocks}"]
    return [*so_far, *(extension.told() for extension in plan.sequential.extensions)]


def failed_for(bad: Sequence[Bad | Entry]) -> list[FailedFor]:
    """Bad launches by why they ended, the most frequent first."""
    found = []
    for group in grouped((record.status, record.reason) for record in bad):
        mine = [bad[place] for place in group.places]
        names, checks = ({one.environment for one in mine}, {one.check for one in mine})
        output = next((one.output for one in mine if one.output), None)
        whose = sorted(names), sorted(checks), output
        found.append(FailedFor(group.status, group.reason, len(mine), *whose))
    return found


def counted_text(status: RunStatus) -> str:
    """ "74 of 75 launches have a record: 70 ok, 4 failed"."""
    counts = dict(status.counts)
    if status.on_purpose:
        counts["wrong"] -= status.on_purpose
        counts["wrong on purpose"] = status.on_purpose
    told = ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "none"
    return f"{status.done} of {status.planned} launches have a record: {told}"


def now_text(status: RunStatus) -> str | None:
    """Sentence on what an unfinished run does; None where it was not looked for."""
    if status.driven is None:
        return None
    if not status.driven:
        return "it is not running"
    current = status.current
    return one_line(f"{current.what} {current.queue.told()}") if current else "it is running"
