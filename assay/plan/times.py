# SPDX-License-Identifier: Apache-2.0
"""Times of launches: estimates learned from earlier runs of a site, and what is left of a run.

The estimate of a case is the median of its own launches; else that of the case of the same check
whose shipped estimate is nearest, in proportion to the shipped estimates; else the shipped
estimate. Shipped values are rough.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from operator import attrgetter
from statistics import median

import msgspec
from msgspec.structs import replace

from checks.common.brought import checks_with
from checks.common.definition import CheckDefinition
from checks.common.registry import Checks
from records.errors import AssayError
from records.input_files import line_batches, opened
from records.run.interims import Interim, asked_blocks
from records.run.plan import Plan, PlannedCase, Times
from records.run.provenance import SiteAsRun
from records.run.record import Record, Status
from records.run.record_lines import Entry
from records.run.run_directory import RunDirectory, newest_runs
from records.values import utc_seconds

#: The newest run directories that are looked at, and runs and launches of a case that are counted.
MOST_LOOKED_AT, MOST_RUNS, MOST_LAUNCHES = 500, 20, 20
#: A launch that took longer had its clock set: Slurm's partitions seldom allow a week.
MOST_LAUNCH_S = 7 * 86400.0
#: Shipped seconds: the proof of an environment, the start of a session, one build, and the time
#: between two launches.
PROOF_S, SESSION_S, BUILD_S, BETWEEN_S = 2.0, 3.0, 5.0, 0.5
#: To how many launches that were seen an estimate amounts.
TRUST = {"measured": 0.3, "scaled": 0.1, "rough": 0.01}
#: Gaps between launches after which their median is believed, and how many of the last are kept.
FEW, GAPS = 3, 200
#: Attributes that have to be the same of two sites for one to tell of the other.
_SAME = tuple(
    attrgetter(name) for name in ("name", "partition", "cores_per_node", "network.bits_per_second")
)


def interval(started_at: str | None, ended_at: str | None) -> tuple[float, float] | None:
    """Begin and end of a launch in seconds since 1970. Records that were made while a clock was set
    back may end before they began: None, as where a time is missing."""
    began, ended = utc_seconds(started_at or ""), utc_seconds(ended_at or "")
    return None if began is None or ended is None or ended < began else (began, ended)


class Pace:
    """The time between launches, and how many run side by side, by launches in the order of their
    ends. Before the first launch of a check in an environment programs are built; pauses of a run
    that stopped are gaps, too, which the median does not heed."""

    def __init__(self) -> None:
        #: Seconds of launches, seconds in which at least one ran, and the end of the last one.
        self._busy_s = self._covered_s = 0.0
        self.reached: float | None = None
        self._gaps: deque[float] = deque(maxlen=GAPS)
        self._built = set[tuple[str, str]]()

    def add(self, case: PlannedCase, began: float, ended: float) -> None:
        """Take in a launch of a case."""
        before = began if self.reached is None else self.reached
        if (built := (case.check, case.environment)) in self._built:
            self._gaps.append(max(0.0, began - before))
        self._built.add(built)
        self._busy_s += ended - began
        self._covered_s += max(0.0, ended - max(began, before))
        self.reached = max(ended, before)

    def between_s(self, otherwise_s: float) -> float:
        """Seconds between two launches."""
        return median(self._gaps) if len(self._gaps) >= FEW else otherwise_s

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
        asked = asked_blocks(plan, interims)
        self._cases = {case.id: case for case in plan.cases if case.skipped is None}
        self._left = {
            case.id: set(range(1, (blocks or asked[case.environment, case.check]) + 1))
            for case in self._cases.values()
        }
        #: Seconds that launches took, by case; of each check, and of all, what they took and what
        #: they were estimated at.
        self._took: defaultdict[str, list[float]] = defaultdict(list)
        self._seen: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for record in records:
            self.add(record)

    def add(self, record: Record | Entry) -> None:
        """Take in a record of the run."""
        case = self._cases.get(record.case_id)
        if case is None or record.block < 1:
            return
        self._left[case.id].discard(record.block)
        if (times := interval(record.started_at, record.ended_at)) is not None:
            self._pace.add(case, *times)
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
        ahead_s, since = 0.0, pace.reached
        if since is None:
            ahead_s, since = times.start_s + len(times.builds) * times.build_s, self._begun
        spent_s = 0.0
        if now is not None and since is not None:
            spent_s = min(max(0.0, now - since), ahead_s + launches_s / launches)
        return ahead_s + launches_s - spent_s


def clock_of(run: RunDirectory, records: Iterable[Record | Entry]) -> Clock:
    """The clock of a run that has these records."""
    begun = utc_seconds(run.provenance().started_at or "")
    return Clock(run.plan(), run.interims(), records, begun)


class _Timed(msgspec.Struct, frozen=True, gc=False):
    """The keys of a record that give the time of its launch."""

    case_id: str
    block: int
    status: Status
    started_at: str | None
    ended_at: str | None


class Durations:
    """Times of launches in `earlier` runs, the newest last; runs that are damaged are left out."""

    def __init__(self, earlier: Iterable[RunDirectory] = ()) -> None:
        self.runs: list[str] = []
        #: Seconds of ok launches by case; the cases by check, and by check and environment.
        self._took: defaultdict[str, deque[float]] = defaultdict(
            lambda: deque(maxlen=MOST_LAUNCHES)
        )
        self._cases: defaultdict[tuple[str, ...], dict[str, PlannedCase]] = defaultdict(dict)
        #: The builds that runs had; of each run the time between launches, and how many at once.
        self._built = set[str]()
        self._between_s, self._at_once = list[float](), list[float]()
        for run in earlier:
            with suppress(AssayError):
                self._add(run)

    def _add(self, run: RunDirectory) -> None:
        plan, pace = run.plan(), Pace()
        cases, checks = {case.id: case for case in plan.cases}, checks_with(plan.brought)
        for launch in [*_timed(run)]:
            case, times = cases.get(launch.case_id), interval(launch.started_at, launch.ended_at)
            if case is None or times is None or launch.block < 1:
                continue
            pace.add(case, *times)
            self._built |= _builds_of(case, checks)
            took_s = times[1] - times[0]
            if launch.status == "ok" and took_s <= MOST_LAUNCH_S:
                self._took[case.id].append(took_s)
                for key in ((case.check,), (case.check, case.environment)):
                    self._cases[key][case.id] = case
        if pace.reached is not None:
            self.runs.insert(0, run.run_id)
            self._between_s.append(pace.between_s(BETWEEN_S))
            self._at_once.append(pace.at_once(1.0))

    @cached_property
    def _by_size(self) -> dict[tuple[str, ...], list[PlannedCase]]:
        by_size = attrgetter("shipped_s")
        return {key: sorted(cases.values(), key=by_size) for key, cases in self._cases.items()}

    def estimated(self, case: PlannedCase) -> PlannedCase:
        """The case, whose estimate is the shipped one, with an estimate learned from launches."""
        measured, took = 0, self._took.get(case.id)
        if took:
            estimate_s, measured = median(took), len(took)
        elif (like := self._nearest(case)) is not None and like.shipped_s:
            estimate_s = median(self._took[like.id]) * case.estimate_s / like.shipped_s
        else:
            return case
        return replace(
            case, estimate_s=round(estimate_s, 3), rough_s=case.estimate_s, measured=measured
        )

    def _nearest(self, case: PlannedCase) -> PlannedCase | None:
        """The case of the check whose shipped estimate is nearest, if possible in the environment
        of this one."""
        known = self._by_size.get((case.check, case.environment), self._by_size.get((case.check,)))
        if known is None:
            return None
        index = bisect_left(known, case.estimate_s, key=attrgetter("shipped_s"))
        around = known[max(0, index - 1) : index + 1]
        return min(around, key=lambda other: abs(other.shipped_s - case.estimate_s))

    def times(self, cases: Sequence[PlannedCase], checks: Checks) -> Times:
        """The time of a run of the cases of these checks besides its launches: until the first one
        each environment is proved, and a session begins."""
        feasible = [case for case in cases if case.skipped is None]
        needed = {build for case in feasible for build in _builds_of(case, checks)}
        return Times(
            runs=self.runs,
            start_s=SESSION_S + PROOF_S * len({case.environment for case in feasible}),
            builds=sorted(needed - self._built),
            build_s=BUILD_S,
            between_s=round(median(self._between_s or [BETWEEN_S]), 3),
            at_once=round(median(self._at_once or [1.0]), 3),
        )


#: Without earlier runs: shipped values.
SHIPPED = Durations()


def _builds_of(case: PlannedCase, checks: Checks) -> set[str]:
    """The builds that a case needs, by name; its check may be none of these."""
    programs = checks.get(case.check, CheckDefinition).builds
    return {f"{program}-{case.environment}" for program in programs}


def earlier_runs(site: SiteAsRun) -> list[RunDirectory]:
    """The newest run directories below results/ of a site, the newest last: of the same partition,
    with nodes and network that agree as far as they are known."""
    runs: list[RunDirectory] = []
    for run in islice(newest_runs(), MOST_LOOKED_AT):
        try:
            was = run.provenance().site
        except AssayError:
            continue
        if all(of(was) == of(site) or None in (of(was), of(site)) for of in _SAME):
            runs.append(run)
        if len(runs) == MOST_RUNS:
            break
    return runs[::-1]


_lines = msgspec.json.Decoder(_Timed)


def _timed(run: RunDirectory) -> Iterator[_Timed]:
    """The times in the records of a run. Raises AssayError for a file of anything else."""
    with opened(run.records_file) as file:
        for _, text, _ in line_batches(file, run.records_file):
            try:
                yield from _lines.decode_lines(text)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                raise AssayError(f"{run.records_file}: holds what is no record: {error}") from error
