# SPDX-License-Identifier: Apache-2.0
"""Claims of a study held against a run: each holds, does not, is not resolved or untestable."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reports.analysis import Analysis, Row
from reports.notation.units import count_text, three_digits
from reports.notation.values import between
from reports.papers.definition import Claim, Measured
from reports.papers.matching import Point, most_launched, point_of, rows_like
from reports.statistics.descriptive import LEVEL, summarise

HOLDS, FAILS = "holds", "does not hold"
UNRESOLVED, UNTESTABLE = "not resolved", "cannot be tested here"

_Blocks = Mapping[int, float]


@dataclass(frozen=True)
class Verdict:
    """What became of a claim: in an environment, or, with "", as a whole."""

    environment: str
    word: str
    because: str


def judge(claim: Claim, analysis: Analysis) -> list[Verdict]:
    """The verdicts of a claim: one for each environment that it can be asked of."""
    if claim.value is None:
        return [Verdict("", UNTESTABLE, claim.untestable)]
    named = any("environment" in one.where for one in (claim.value, claim.than) if one)
    if named:
        return [_verdict(claim, analysis, "")]
    rows = rows_like(analysis, claim.value)
    names = dict.fromkeys(analysis.case(row).environment for row in rows)
    if not names:
        return [Verdict("", UNTESTABLE, _absent(claim.value))]
    return [_verdict(claim, analysis, name) for name in names]


def _absent(measured: Measured) -> str:
    told = ", ".join(f"{place} {value}" for place, value in measured.where.items())
    return f"the run has no {measured.metric} of {measured.check}" + (
        f" with {told}" if told else ""
    )


def _verdict(claim: Claim, analysis: Analysis, environment: str) -> Verdict:
    assert claim.value is not None
    sides = [
        _by_point(claim, analysis, one, environment) for one in (claim.value, claim.than) if one
    ]
    for side, measured in zip(sides, (claim.value, claim.than), strict=False):
        if not side and measured is not None:
            return Verdict(environment, UNTESTABLE, _absent(measured))
    blocks, points = _ratios(sides)
    if points == 0:
        return Verdict(environment, UNTESTABLE, "the run has no point that both sides share")
    return _judged(claim, environment, blocks, points)


def _by_point(
    claim: Claim, analysis: Analysis, measured: Measured, environment: str
) -> dict[Point, Row]:
    groups: dict[Point, list[Row]] = {}
    for row in rows_like(analysis, measured):
        if environment in ("", analysis.case(row).environment):
            groups.setdefault(point_of(analysis, row, claim.match), []).append(row)
    return {point: most_launched(rows) for point, rows in groups.items()}


def _ratios(sides: Sequence[dict[Point, Row]]) -> tuple[list[float], int]:
    """Logarithms of the ratio, a mean over the points, by block that has all of them; points."""
    shared = set.intersection(*(set(side) for side in sides))
    logs: dict[int, list[float]] = {}
    for point in sorted(shared):
        series: list[_Blocks] = [side[point].series.by_block() for side in sides]
        for block in set.intersection(*(set(one) for one in series)):
            values = [one[block] for one in series]
            if all(value > 0 for value in values):
                rest = math.log(values[1]) if len(values) > 1 else 0.0
                logs.setdefault(block, []).append(math.log(values[0]) - rest)
    most = max(map(len, logs.values()), default=0)
    return [float(np.mean(one)) for one in logs.values() if len(one) == most], most


def _judged(claim: Claim, environment: str, logs: list[float], points: int) -> Verdict:
    summary = summarise(logs)
    interval = summary.mean_interval
    over = f"n = {summary.n}, {count_text(points, 'point')}"
    told = three_digits(math.exp(summary.mean))
    above = claim.more_than is not None
    limit = claim.more_than if claim.more_than is not None else claim.less_than
    assert limit is not None
    asked = f"asked {'above' if above else 'below'} {limit:g}"
    if interval is None:
        return Verdict(environment, UNRESOLVED, f"{told}, {asked}; {over}")
    low, high = math.exp(interval.low), math.exp(interval.high)
    because = f"{told} ({LEVEL:.0%}: {between(low, high, three_digits)}), {asked}; {over}"
    if above:
        word = HOLDS if low > limit else FAILS if high <= limit else UNRESOLVED
    else:
        word = HOLDS if high < limit else FAILS if low >= limit else UNRESOLVED
    return Verdict(environment, word, because)
