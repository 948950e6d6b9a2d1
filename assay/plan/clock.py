# SPDX-License-Identifier: Apache-2.0
"""Single clock: how long a planned run takes, and how long one that has begun takes still."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from statistics import median

from checks.common.definition import CheckDefinition
from checks.common.registry import CHECKS, Checks, definitions
from records.run.interims import Interim, asked_blocks
from records.run.plan import Plan, PlannedCase
from records.run.record import Record
from records.run.record_lines import Entry
from records.run.run_directory import RunDirectory
from records.values import utc_seconds

#: To how many launches that were seen an estimate amounts.
TRUST = {"measured": 0.3, "scaled": 0.1, "rough": 0.01}
#: Gaps between launches after which their median is believed, and how many of the last are kept.
FEW, GAPS = 3, 200


def interval(started_at: str | None, ended_at: str | None) -> tuple[float, float] | None:
    """Begin and end of a launch in seconds since 1970. Records that were made while a clock was set
    back may end before they began: None, as where a time is missing."""
    began, ended = utc_seconds(started_at or ""), utc_seconds(ended_at or "")
    return None if began is None or ended is None or ended < began else (began, ended)


def builds_of(case: PlannedCase, checks: Checks) -> list[str]:
    """The builds that a case needs, by name; its check may be none of these."""
    programs = checks.get(case.check, CheckDefinition).builds
    return [f"{program}-{case.environment}" for program in programs]


def program_of(build: str) -> str:
    """The program of a build."""
    return build.partition("-")[0]


class Pace:
    """The time between launches, and how many run side by side, by launches in the order of their
    ends. Builds and pauses of a run that stopped do not count: of the gaps after which nothing was
    new the median does."""

    def __init__(self) -> None:
        #: Seconds of launches, seconds in which at least one ran, and the end of the last one.
        self._busy_s = self._covered_s = 0.0
        self.reached: float | None = None
        self._gaps: deque[float] = deque(maxlen=GAPS)
        #: Builds that launches had so far; seconds before those that had new ones, by program.
        self.built: set[str] = set()
        self._builds_s: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, began: float, ended: float, builds: Iterable[str]) -> tuple[float, set[str]]:
        """Take in a launch that needs these builds; gives for how long none ran before it, and
        which of the builds none before it had."""
        before = began if self.reached is None else self.reached
        gap, new = max(0.0, began - before), {*builds} - self.built
        for build in new if self.reached is not None else ():
            self._builds_s[program_of(build)].append(gap / len(new))
        if not new:
            self._gaps.append(gap)
        self.built |= new
        self._busy_s += ended - began
        self._covered_s += max(0.0, ended - max(began, before))
        self.reached = max(ended, before)
        return gap, new

    def between_s(self, otherwise_s: float) -> float:
        """Seconds between two launches."""
        return median(self._gaps) if len(self._gaps) >= FEW else otherwise_s

    def builds_s(self, builds: Iterable[str], otherwise_s: float) -> float:
        """Seconds of builds, each by those of its program that were seen, and another value."""
        seen = (self._builds_s[program_of(build)] for build in builds if build not in self.built)
        return sum((otherwise_s + sum(gaps)) / (1 + len(gaps)) for gaps in seen)

    def at_once(self, otherwise: float) -> float:
        """Launches that run side by side."""
        if len(self._gaps) < FEW or not self._covered_s:
            return otherwise
        return max(1.0, self._busy_s / self._covered_s)


class Clock:
    """Seconds that are left of a run: the plan's estimates, corrected by what its launches took.

    `begun`: when the run began, in seconds since 1970; without it and `records` it is the time of
    the whole run, up to the first judgement of a sequential design, or of all `blocks`.
    """

    def __init__(
        self,
        plan: Plan,
        interims: Sequence[Interim] = (),
        records: Iterable[Record | Entry] = (),
        begun: float | None = None,
        blocks: int | None = None,
    ) -> None:
        self._times, self._begun, self._pace = plan.times, begun, Pace()
        self._checks = {**CHECKS, **definitions(plan.brought)}
        asked = asked_blocks(plan, interims)
        feasible = [case for case in plan.cases if case.skipped is None]
        self._cases = {case.id: case for case in feasible}
        self._left = {
            case.id: set(range(1, (blocks or asked[case.environment, case.check]) + 1))
            for case in feasible
        }
        #: Seconds that launches took, by case; of each check, and of all, what they took and what
        #: they were estimated at.
        self._took: defaultdict[str, list[float]] = defaultdict(list)
        self._seen: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for one in records:
            self.add(one)

    def add(self, one: Record | Entry) -> None:
        """Take in a record of the run."""
        case = self._cases.get(one.case_id)
        if case is None or one.block < 1:
            return
        self._left[case.id].discard(one.block)
        if (times := interval(one.started_at, one.ended_at)) is not None:
            self._pace.add(*times, builds_of(case, self._checks))
            took_s = times[1] - times[0]
            self._took[case.id].append(took_s)
            for seen in (self._seen[""], self._seen[case.check]):
                seen[0], seen[1] = seen[0] + took_s, seen[1] + case.estimate_s

    def launch_s(self, case_id: str) -> float:
        """Seconds of a launch, by the estimate and those that were seen, without the gap before."""
        case, took = self._cases[case_id], self._took[case_id]
        trust = TRUST[case.estimated_by]
        # Launches of its check tell whether estimates are too low or too high; until one was seen
        # those of all checks.
        ratio, prior_s = 1.0, trust * case.estimate_s
        for took_s, estimated_s in (self._seen[""], self._seen[case.check]):
            if estimated_s:
                ratio = (ratio * prior_s + took_s) / (prior_s + estimated_s)
        return (ratio * prior_s + sum(took)) / (trust + len(took))

    def left_s(self, now: float | None = None) -> float:
        """Seconds left; at the time `now` of a run that goes on, without what its launch or builds
        under way have taken."""
        times, pace = self._times, self._pace
        launches = sum(map(len, self._left.values()))
        if not launches:
            return 0.0
        launches_s = sum(len(left) * self.launch_s(one) for one, left in self._left.items() if left)
        launches_s += launches * pace.between_s(times.between_s)
        launches_s /= pace.at_once(times.at_once)
        ahead_s = pace.builds_s(times.builds, times.build_s)
        ahead_s += times.start_s if pace.reached is None else 0.0
        since = pace.reached if pace.reached is not None else self._begun
        spent_s = 0.0
        if now is not None and since is not None:
            spent_s = min(max(0.0, now - since), ahead_s + launches_s / launches)
        return ahead_s + launches_s - spent_s


def clock_of(run: RunDirectory, records: Iterable[Record | Entry]) -> Clock:
    """The clock of a run that has these records."""
    begun = utc_seconds(run.provenance().started_at or "")
    return Clock(run.plan(), run.interims(), records, begun)
