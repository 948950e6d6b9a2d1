# SPDX-License-Identifier: Apache-2.0
"""Times of launches: estimates learned from an earlier run, and what is left of a run.

The estimate of a case is the median of its own launches, else the shipped one, which is rough.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from checks.common.registry import Checks
from records.errors import AssayError
from records.run.interims import Interim, asked_blocks
from records.run.plan import Plan, PlannedCase, Times
from records.run.provenance import SiteAsRun
from records.run.record import Record
from records.run.record_lines import Entry
from records.run.run_directory import RunDirectory, newest_runs
from records.values import utc_seconds

#: The newest run directories that are looked at.
MOST_LOOKED_AT = 500
#: Shipped seconds: the proof of an environment, the start of a session, one build, and the time
#: between two launches.
PROOF_S, SESSION_S, BUILD_S, BETWEEN_S = 2.0, 3.0, 5.0, 0.5
#: Gaps between launches after which their median is believed, and how many of the last are kept.
FEW, GAPS = 3, 200


def interval(started_at: str | None, ended_at: str | None) -> tuple[float, float] | None:
    """Begin and end of a launch in seconds since 1970. Records that were made while a clock was set
    back may end before they began: None, as where a time is missing."""
    began, ended = utc_seconds(started_at or ""), utc_seconds(ended_at or "")
    return None if began is None or ended is None or ended < began else (began, ended)


class Clock:
    """Seconds that are left of a run: the plan's estimates, corrected by what its launches took, in
    the order of their ends.

    `begun`: when the run began, in seconds since 1970; without it and `records` it is the time of
    the whole run, up to the first judgement of a sequential design, or of all `blocks`. Before the
    first launch of a check in an environment programs are built; pauses of a run that stopped are
    gaps between launches, too, which the median does not heed.
    """

    def __init__(
        self,
        plan: Plan,
        interims: Sequence[Interim] = (),
        records: Iterable[Record | Entry] = (),
        begun: float | None = None,
        blocks: int | None = None,
    ) -> None:
        self._times = plan.times
        asked = asked_blocks(plan, interims)
        self._cases = {case.id: case for case in plan.cases if case.skipped is None}
        self._left = {
            case.id: set(range(1, (blocks or asked[case.environment, case.check]) + 1))
            for case in self._cases.values()
        }
        #: Seconds that launches took, by case; of each check, and of all, what they took and what
        #: they were estimated at.
        self.took: defaultdict[str, list[float]] = defaultdict(list)
        self._seen: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        #: Seconds in which at least one launch ran, end of the last one, and gaps between two.
        self._covered_s, self._reached = 0.0, begun
        self._gaps: deque[float] = deque(maxlen=GAPS)
        self._built = set[tuple[str, str]]()
        for record in records:
            self.add(record)

    def add(self, record: Record | Entry) -> None:
        """Take in a record of the run."""
        case = self._cases.get(record.case_id)
        if case is None or record.block < 1:
            return
        self._left[case.id].discard(record.block)
        if (times := interval(record.started_at, record.ended_at)) is None:
            return
        began, ended = times
        before = began if not self._built or self._reached is None else self._reached
        if (built := (case.check, case.environment)) in self._built:
            self._gaps.append(max(0.0, began - before))
        self._built.add(built)
        self._covered_s += max(0.0, ended - max(began, before))
        self._reached = max(ended, before)
        self.took[case.id].append(ended - began)
        for seen in (self._seen[""], self._seen[case.check]):
            seen[0], seen[1] = seen[0] + ended - began, seen[1] + case.estimate_s

    @property
    def between_s(self) -> float:
        """Seconds between two launches."""
        return median(self._gaps) if len(self._gaps) >= FEW else self._times.between_s

    @property
    def at_once(self) -> float:
        """Launches that run side by side."""
        if len(self._gaps) < FEW or not self._covered_s:
            return self._times.at_once
        return max(1.0, self._seen[""][0] / self._covered_s)

    def launch_s(self, case_id: str) -> float:
        """Seconds of a launch, without the gap before: those that were seen, else the estimate,
        corrected by the launches of its check, or of all."""
        case, took = self._cases[case_id], self.took[case_id]
        if took:
            return sum(took) / len(took)
        took_s, estimated_s = self._seen[case.check] if case.check in self._seen else self._seen[""]
        return case.estimate_s * (took_s / estimated_s if estimated_s else 1.0)

    def left_s(self, now: float | None = None) -> float:
        """Seconds left; at the time `now` of a run that goes on, without what its launch or builds
        under way have taken."""
        launches = sum(map(len, self._left.values()))
        if not launches:
            return 0.0
        launches_s = sum(len(left) * self.launch_s(one) for one, left in self._left.items() if left)
        launches_s = (launches_s + launches * self.between_s) / self.at_once
        times, ahead_s, spent_s = self._times, 0.0, 0.0
        if not self._built:
            ahead_s = times.start_s + len(times.builds) * times.build_s
        if now is not None and self._reached is not None:
            spent_s = min(max(0.0, now - self._reached), ahead_s + launches_s / launches)
        return ahead_s + launches_s - spent_s


def clock_of(run: RunDirectory, records: Iterable[Record | Entry]) -> Clock:
    """The clock of a run that has these records."""
    begun = utc_seconds(run.provenance().started_at or "")
    return Clock(run.plan(), run.interims(), records, begun)


class Earlier(NamedTuple):
    """An earlier run of a campaign, with the clock of its ok launches."""

    run: str
    clock: Clock


def with_times(
    cases: Sequence[PlannedCase], checks: Checks, earlier: Earlier | None
) -> tuple[list[PlannedCase], Times]:
    """Cases of these checks, whose estimates are shipped ones, with the medians of their launches
    in an earlier run; and the time of a run besides its launches: until the first one each
    environment is proved, and a session begins."""
    took = earlier.clock.took if earlier else {}
    timed = [
        replace(case, estimate_s=round(median(s), 3), rough_s=case.estimate_s, measured=len(s))
        if (s := took.get(case.id))
        else case
        for case in cases
    ]
    feasible, needed, built = set[str](), set[str](), set[str]()
    for case in timed:
        if case.skipped is None:
            feasible.add(case.environment)
            names = [f"{one}-{case.environment}" for one in checks[case.check].builds]
            needed.update(names)
            built.update(names if case.measured else ())
    times = Times(
        runs=[earlier.run] if earlier else [],
        start_s=SESSION_S + PROOF_S * len(feasible),
        builds=sorted(needed - built),
        build_s=BUILD_S,
        between_s=round(earlier.clock.between_s, 3) if earlier else BETWEEN_S,
        at_once=round(earlier.clock.at_once, 3) if earlier else 1.0,
    )
    return timed, times


def earlier_times(site: SiteAsRun, campaign: str) -> Earlier | None:
    """Times in the newest run of a campaign below results/ on a site's partition; runs that are
    damaged are left out."""
    for run in islice(newest_runs(), MOST_LOOKED_AT):
        with suppress(AssayError):
            was, plan = run.provenance().site, run.plan()
            alike = (was.name, was.partition) == (site.name, site.partition)
            if plan.campaign == campaign and alike:
                good = [entry for entry in run.ledger().entries if entry.status == "ok"]
                if (clock := Clock(plan, records=good)).took:
                    return Earlier(run.run_id, clock)
    return None
