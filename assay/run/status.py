# SPDX-License-Identifier: Apache-2.0
"""Run that a command line means, and its status: counts, failures with their reasons, time left."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Annotated, Literal, cast

from assay.plan.times import clock_of
from records.errors import AssayError
from records.flags import INVALID_ON_PURPOSE
from records.forms import Form, Part, key
from records.run.interims import Interim, asked_blocks, has_ended
from records.run.plan import Plan
from records.run.queue_state import CurrentJob, read_current
from records.run.record import CASE_ID, latest_attempts
from records.run.record_lines import Ledger
from records.run.run_directory import RESULTS, RunDirectory, newest_runs, open_run
from records.text.plain_text import grouped, one_line

Fits = Callable[[RunDirectory], bool]
State = Literal["complete", "failed", "running", "stopped"]
BadStatus = Literal["failed", "wrong", "lost"]
OK: Literal["ok"] = "ok"
#: How a launch ended that gave no number.
BAD: tuple[BadStatus, ...] = ("failed", "wrong", "lost")
_OF_BAD = attrgetter("status", "reason", "environment", "check", "output")


class ReasonPart(Part):
    """Launches that ended badly for one reason; the texts may differ in names and numbers."""

    status: Annotated[BadStatus, key("Status with which they ended.")]
    reason: Annotated[str, key("The most frequent text.")]
    launches: Annotated[int, key("Number of launches.")]
    environments: Annotated[list[str], key("Environments in which they were.")]
    checks: Annotated[list[str], key("Checks that they were of.")]
    output: Annotated[
        str | None,
        key("Standard error of the first of them: a file below the run directory."),
    ]


class StatusForm(Form, kw_only=True):
    """`assay status`: how far a run is. Counts are of launches, the latest attempt each."""

    run_id: Annotated[str, key("The run's id.")]
    run: Annotated[str, key("The run directory.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    state: Annotated[
        State, key("failed: some launches ended badly, and not on purpose (exit status 1).")
    ]
    complete: Annotated[bool, key("True if every planned launch has a final record.")]
    planned: Annotated[
        int, key("Launches that the plan asks for, as far as a sequential design has come.")
    ]
    done: Annotated[int, key("Launches that have a record.")]
    counts: Annotated[
        dict[Literal["ok", "failed", "wrong", "lost"], int],
        key("Launches by how they ended, zeros too."),
    ]
    on_purpose: Annotated[int, key("Number of the wrong ones that are so on purpose.")]
    reasons: Annotated[list[ReasonPart], key("Bad launches by why, the most frequent first.")]
    failures: Annotated[
        list[str], key("Every bad launch in a line, attempts that were replaced too.")
    ]
    skipped_cases: Annotated[int, key("Cases that do not fit the site.")]
    left_s: Annotated[
        float, key("Seconds left, by the plan's times and those of the launches so far.")
    ]
    told: Annotated[list[str], key("Parts of its campaign that the plan left out, and why.")]
    judged: Annotated[list[str], key("Sentences on what a sequential design has come to.")]
    open: Annotated[list[str], key("Questions that a sequential design has still to answer.")]
    ended: Annotated[bool, key("True if a sequential design has ended, and for any other.")]
    driven: Annotated[bool | None, key("True if a driver is at the run; null: not looked for.")]
    current: Annotated[CurrentJob | None, key("Job that the driver is at.")]

    @property
    def failed(self) -> int:
        """Launches that ended badly, and not on purpose."""
        return sum(self.counts[word] for word in BAD) - self.on_purpose


def run_status(run: RunDirectory, ledger: Ledger | None = None) -> StatusForm:
    """The status of a run from its plan and its records; its own driver gives its `ledger`."""
    plan, records = run.plan(), (ledger or run.ledger()).entries
    latest = latest_attempts((record for record in records if record.block > 0), CASE_ID).values()
    feasible = [case for case in plan.cases if case.skipped is None]
    driven, interims = None if ledger else run.is_driven(), run.interims()
    asked, counts = asked_blocks(plan, interims), Counter(record.status for record in latest)
    bad = [record for record in latest if record.status in BAD]
    unwanted = [record for record in bad if INVALID_ON_PURPOSE not in record.flags]
    planned = sum(asked[case.environment, case.check] for case in feasible)
    ended = has_ended(plan, interims)
    complete = len(latest) == planned and not counts["lost"] and ended
    on_the_way: State = "complete" if complete else "running" if driven else "stopped"
    return StatusForm(
        run_id=run.run_id,
        run=str(run.path),
        campaign=plan.campaign,
        site=plan.site,
        state="failed" if unwanted else on_the_way,
        complete=complete,
        planned=planned,
        done=len(latest),
        counts={word: counts[word] for word in (OK, *BAD)},
        on_purpose=len(bad) - len(unwanted),
        reasons=failed_for([_OF_BAD(record) for record in unwanted]),
        failures=[
            f"{record.case_id} {record.environment} block {record.block} attempt {record.attempt}:"
            f" {record.status}: {one_line(record.reason or '')}"
            for record in records
            if record.status in BAD
        ],
        skipped_cases=len(plan.cases) - len(feasible),
        left_s=clock_of(run, records).left_s(time.time() if driven else None),
        told=plan.told(),
        judged=_judged(plan, interims),
        open=interims[-1].open if interims else [],
        ended=ended,
        driven=driven,
        current=read_current(run.path) if driven else None,
    )


def _judged(plan: Plan, interims: Sequence[Interim]) -> list[str]:
    """Sentences on how far a sequential design has come."""
    if plan.sequential is None:
        return []
    first = f"judged after block {plan.sequential.interims[0]} for the first time"
    so_far = interims[-1].told(plan) if interims else [f"{first}, of at most {plan.blocks}"]
    return [*so_far, *(extension.told() for extension in plan.sequential.extensions)]


def failed_for(bad: Sequence[tuple[str, str | None, str, str, str | None]]) -> list[ReasonPart]:
    """Bad launches by why they ended, the most frequent first; `bad` has the status, reason,
    environment, check and standard error of each."""
    found = []
    for group in grouped(launch[:2] for launch in bad):
        _, _, names, checks, outputs = zip(*(bad[place] for place in group.places), strict=True)
        whose = sorted({*names}), sorted({*checks}), next(filter(None, outputs), None)
        count = len(group.places)
        found.append(ReasonPart(cast(BadStatus, group.status), group.reason, count, *whose))
    return found


def counted_text(status: StatusForm) -> str:
    """ "74 of 75 launches have a record: 70 ok, 4 failed"."""
    counts = {str(word): launches for word, launches in status.counts.items()}
    if status.on_purpose:
        counts["wrong"] -= status.on_purpose
        counts["wrong on purpose"] = status.on_purpose
    told = ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "none"
    return f"{status.done} of {status.planned} launches have a record: {told}"


def now_text(status: StatusForm) -> str | None:
    """Sentence on what an unfinished run does; None where it was not looked for."""
    if status.driven is None:
        return None
    if not status.driven:
        return "it is not running"
    current = status.current
    if current is None:
        return "it is running"
    return one_line(f"{current.what} {current.queue.told()}")


def run_of(
    name: str | None, fits: Fits = lambda _: True, kind: str = "run", first: str = "assay run quick"
) -> RunDirectory:
    """The run of this name, else the newest that `fits`, which is said on standard error. Raises
    AssayError where there is none; `kind` is the noun for it, `first` the command that makes it."""
    if name is not None:
        return open_run(name)
    found = next(fitting(fits), None)
    if found is None:
        raise AssayError(f"no {kind} below {RESULTS}/ yet; make one, e.g. with: {first}")
    print(f"the newest {kind}: {found.path}", file=sys.stderr)
    return open_run(str(found.path))


def fitting(fits: Fits = lambda run: bool(run.plan())) -> Iterator[RunDirectory]:
    """The runs below results/ that fit, by default those whose plan can be read, the newest first;
    damaged ones are none of them."""
    for run in newest_runs():
        with suppress(AssayError):
            if fits(run):
                yield run
