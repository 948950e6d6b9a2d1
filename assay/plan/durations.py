# SPDX-License-Identifier: Apache-2.0
"""Times of launches in earlier runs of a site, for the times of a plan.

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

from assay.plan.clock import Pace, builds_of, interval
from checks.common.registry import Checks, checks_with
from records.errors import AssayError
from records.input_files import line_batches, opened
from records.run.plan import PlannedCase, Times
from records.run.provenance import SiteAsRun
from records.run.record import Status
from records.run.run_directory import RunDirectory, newest_runs
from records.values import utc_seconds

#: The newest run directories that are looked at, and runs and launches of a case that are counted.
MOST_LOOKED_AT, MOST_RUNS, MOST_LAUNCHES = 500, 20, 20
#: A launch that took longer had its clock set: Slurm's partitions seldom allow a week.
MOST_LAUNCH_S = 7 * 86400.0
#: Shipped seconds: the proof of an environment, the start of a session, one build, and the time
#: between two launches.
PROOF_S, SESSION_S, BUILD_S, BETWEEN_S = 2.0, 3.0, 5.0, 0.5
#: Shipped values of a run: seconds of a build and between launches, launches side by side, the time
#: before the first one in proportion to the shipped one.
_SHIPPED = {"build_s": BUILD_S, "between_s": BETWEEN_S, "at_once": 1.0, "start": 1.0}
#: Seconds before the first launch of a check in an environment that mean that it was built.
BUILT_S = 3.0


class Timed(msgspec.Struct, frozen=True, gc=False):
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
        #: The values of `_SHIPPED` in each run, and the builds that it had.
        self._seen: defaultdict[str, list[float]] = defaultdict(list)
        self._built = set[str]()
        for run in earlier:
            with suppress(AssayError):
                self._add(run)

    def _add(self, run: RunDirectory) -> None:
        plan, begun = run.plan(), utc_seconds(run.provenance().started_at or "")
        cases, checks = {case.id: case for case in plan.cases}, checks_with(plan.brought)
        rough_start_s = start_s(plan.cases)
        pace, before = Pace(), set(self._built)
        for launch in [*_timed(run)]:
            case, times = cases.get(launch.case_id), interval(launch.started_at, launch.ended_at)
            if case is None or times is None or launch.block < 1:
                continue
            is_first = pace.reached is None
            gap_s, new = pace.add(*times, builds_of(case, checks))
            new -= before
            if is_first and begun is not None:
                first_s = max(0.0, times[0] - begun)
                # With builds before it the first launch does not tell what the start took.
                began_s = min(first_s, rough_start_s) if new else first_s
                self._seen["start"].append(began_s / rough_start_s)
                gap_s = first_s - rough_start_s
            if new and gap_s > BUILT_S:
                self._seen["build_s"].append(gap_s / len(new))
            took_s = times[1] - times[0]
            if launch.status == "ok" and took_s <= MOST_LAUNCH_S:
                self._took[case.id].append(took_s)
                for key in ((case.check,), (case.check, case.environment)):
                    self._cases[key][case.id] = case
        if pace.reached is not None:
            self.runs.insert(0, run.run_id)
            self._built |= pace.built
            self._seen["between_s"].append(pace.between_s(BETWEEN_S))
            self._seen["at_once"].append(pace.at_once(1.0))

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
        """The time of a run of the cases of these checks besides its launches."""
        feasible = [case for case in cases if case.skipped is None]
        needed = {build for case in feasible for build in builds_of(case, checks)}
        values = {
            name: round(median(self._seen[name] or [shipped]), 3)
            for name, shipped in _SHIPPED.items()
        }
        return Times(
            runs=self.runs,
            start_s=round(values.pop("start") * start_s(cases), 3),
            builds=sorted(needed - self._built),
            **values,
        )


#: Without earlier runs: shipped values.
SHIPPED = Durations()


def start_s(cases: Iterable[PlannedCase]) -> float:
    """Shipped seconds until the first launch: the proof of each environment, and a session."""
    return SESSION_S + PROOF_S * len({case.environment for case in cases if not case.skipped})


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


def _timed(run: RunDirectory) -> Iterator[Timed]:
    """The times in the records of a run. Raises AssayError for a file of anything else."""
    with opened(run.records_file) as file:
        for _, text, _ in line_batches(file, run.records_file):
            try:
                yield from _lines.decode_lines(text)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                raise AssayError(f"{run.records_file}: holds what is no record: {error}") from error


_lines = msgspec.json.Decoder(Timed)
#: Attributes that have to be the same of two sites for one to tell of the other.
_SAME = tuple(
    attrgetter(name) for name in ("name", "partition", "cores_per_node", "network.bits_per_second")
)
