# SPDX-License-Identifier: Apache-2.0
"""Campaigns with known truth in memory, shaped as mpi-choice: what `choice` judges."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec
import msgspec.structs
import numpy as np

from records.run.chain import Chain
from records.run.interims import UNTIL, Interim, asked_blocks
from records.run.plan import Extension, Plan, PlannedCase, Sequential
from records.run.provenance import Provenance
from records.run.record import Status
from records.tests import made
from reports.analysis.compare import Comparisons, compare_environments
from reports.load.loading import Launches, Run, Series
from reports.notation.labels import check_labels
from reports.statistics.descriptive import Matrix
from reports.tests.synthetic import case, register

NAMES = ("a", "b", "c", "d")
SIZES = tuple(8 * 2**step for step in range(13))
#: Check, deciding metric, parameters of its cases, and how many points a launch gives.
CHECKS: tuple[tuple[str, str, tuple[dict[str, Any], ...], int], ...] = (
    ("hpl", "rate", ({"n": 1500}, {"n": 3000}), 1),
    ("pt2pt", "half_round_trip", ({"placement": "between-nodes"},), len(SIZES)),
    ("startup", "all_heard", ({"ranks": 2}, {"ranks": 4}), 1),
)
WEIGHTS = {"hpl": 6.0, "pt2pt": 3.0, "startup": 1.0}
POINTS = sum(len(cases) * points for _, _, cases, points in CHECKS)
CASES = sum(len(cases) for _, _, cases, _ in CHECKS)

_STATUSES: tuple[Status, ...] = ("ok", "failed", "lost")

Noise = Callable[[np.random.Generator, tuple[int, ...]], Matrix]


def plan(blocks: int, names: Sequence[str]) -> Plan:
    """The plan of the campaign, case by case within each environment."""
    cases = [
        msgspec.convert(item | {"id": f"{check}-{name}-{place}"}, PlannedCase)
        for name in names
        for check, _, every, _ in CHECKS
        for place, item in enumerate(case(check, name, params) for params in every)
    ]
    known = {name: [*getattr(register(), name).values()] for name in ("metrics", "checks")}
    return made.plan_of(cases, blocks, weights=WEIGHTS, **known)


def judged(logs: Matrix, outcomes: Mapping[tuple[int, int], str] | None = None) -> Comparisons:
    """Comparisons that the report makes of ln of times, as `simulated_run` takes them."""
    run = simulated_run(logs, outcomes)
    return compare_environments(run, check_labels(run.plan.cases))


def simulated_run(
    logs: Matrix,
    outcomes: Mapping[tuple[int, int], str] | None = None,
    sequential: Sequential | None = None,
    interims: Sequence[Interim] = (),
) -> Run:
    """A run from ln of times, shape (environments, points, blocks).

    `outcomes` gives launches, by (position of the case, block from 0), that are "failed" or "lost".
    Of a sequential design only the launches that its judgements ask for are there.
    """
    count, _, blocks = logs.shape
    campaign = msgspec.structs.replace(plan(blocks, NAMES[:count]), sequential=sequential)
    asked = asked_blocks(campaign, interims)
    bad = outcomes or {}
    series: list[Series] = []
    launches: list[tuple[int, int, int]] = []
    for place, planned in enumerate(campaign.cases):
        environment, inside = divmod(place, CASES)
        here = range(asked[planned.environment, planned.check])
        good = np.array([b for b in here if (place, b) not in bad], dtype=np.int64)
        for block in here:
            status = bad.get((place, block), "ok")
            launches.append((place, block + 1, _STATUSES.index(status)))
        metric, points = _LAYOUT[inside]
        first = CASE_OF_POINT.index(inside)
        for point in range(first, first + points):
            times = np.exp(logs[environment, point, good])
            at = (("construct", "S/R"), ("message_bytes", SIZES[point - first]))
            values = 1e9 / times if metric == "rate" else times
            if len(good):
                series.append(Series(place, metric, at if points > 1 else (), good + 1, values))
    return Run(
        directory=Path(),
        plan=campaign,
        provenance=Provenance(),
        run_id="simulated",
        launches=_launches(launches),
        series=series,
        invalid=[],
        nodes=(),
        warnings=(),
        profiled=False,
        chain=cast(Chain, None),
        interims=tuple(interims),
    )


def extended_run(logs: Matrix, ends: Sequence[int]) -> Run:
    """A run of `ends[0]` blocks, extended to each further one of `ends` and judged after each."""
    names = NAMES[: logs.shape[0]]
    going = {name: [check for check, *_ in CHECKS] for name in names}
    extensions = [
        Extension(
            extended_at="2026-11-27T08:00:00Z",
            after=after,
            planned=after,
            interims=[end],
            going=going,
            records=after,
        )
        for after, end in pairwise(ends)
    ]
    design = Sequential(interims=[*ends], until=[*UNTIL], extensions=extensions)
    interims = [Interim(block=end, open=["?"], going={}, ended="blocks") for end in ends]
    return simulated_run(logs[:, :, : ends[-1]], None, design, interims)


def _launches(found: Sequence[tuple[int, int, int]]) -> Launches:
    """Launches of case, block and status, each the first attempt and alone."""
    case, block, kind = np.array(found, dtype=np.int64).reshape(-1, 3).T
    none = np.zeros(len(case), dtype=np.uint8)
    kinds = tuple((status, ()) for status in _STATUSES)
    return Launches(case, block, np.ones_like(case), kind, kinds, none == 0)


#: Metric and number of points of each case of an environment.
_LAYOUT = [(metric, points) for _, metric, cases, points in CHECKS for _ in cases]
#: The case of an environment, by position inside it, that a point belongs to.
CASE_OF_POINT = [case for case, (_, points) in enumerate(_LAYOUT) for _ in range(points)]
