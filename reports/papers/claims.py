# SPDX-License-Identifier: Apache-2.0
"""Claims of a study held against a run: each holds, does not, is not resolved or untestable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from records.flags import shares_cores
from records.plan import PlannedCase
from reports.analysis import Analysis
from reports.notation.units import ReadableUnit, count_text, readable_unit, three_digits
from reports.notation.values import between
from reports.papers.definition import Claim, Measured
from reports.papers.fields import measured_field
from reports.papers.matching import Point, rows_like, why_nothing
from reports.papers.steps import Field, Values, joined
from reports.show.rows import environments
from reports.show.tables import Cell, Column, Table
from reports.statistics.descriptive import LEVEL, gap, mean_half_width, summarise

HOLDS, FAILS = "holds", "does not hold"
UNRESOLVED, UNTESTABLE = "not resolved", "cannot be tested here"


@dataclass(frozen=True)
class Verdict:
    """What became of a claim: in an environment, or, with "", as a whole."""

    environment: str
    word: str
    because: str


@dataclass(frozen=True)
class Judged:
    """A claim with its verdicts."""

    claim: Claim
    verdicts: list[Verdict]

    @property
    def word(self) -> str:
        """The verdict in a word: of environments that agree, else the one that says least."""
        words = {verdict.word for verdict in self.verdicts}
        if {HOLDS, FAILS} <= words:
            return DIFFERS
        return next(word for word in (UNTESTABLE, UNRESOLVED, HOLDS, FAILS) if word in words)

    @property
    def because(self) -> str:
        """The reasons, each once, with the environments that have it."""
        names: dict[str, list[str]] = {}
        for verdict in self.verdicts:
            names.setdefault(verdict.because, []).append(verdict.environment)
        told = ((", ".join(filter(None, who)), why) for why, who in names.items())
        return "; ".join(f"{who}: {why}" if who else why for who, why in told)


#: The word for a claim that holds in one environment and not in another.
DIFFERS = "differs between libraries"
#: Fewer launches decide no claim: of two, t is 12.7 and the interval says nothing.
LEAST_LAUNCHES = 3
#: An interval whose ends lie further apart is not told by its ends.
WIDEST = 1000


def judge(claim: Claim, analysis: Analysis) -> list[Verdict]:
    """The verdicts of a claim: one for each environment that it can be asked of."""
    if claim.value is None:
        return [Verdict("", UNTESTABLE, claim.untestable)]
    found: Field | None = None
    sides = [one for one in (claim.value, claim.than) if one]
    alone = any("environment" in one.where for one in sides)
    for measured in sides:
        field = measured_field(analysis, measured, claim.match)
        if not field.values:
            return [Verdict("", UNTESTABLE, _absent(measured, analysis))]
        field = _as_one(field) if alone else field
        found = field if found is None else joined(found, field, lambda a, b: a / b)
    assert found is not None
    names = {name for by in found.values.values() for name in by}
    if not names:
        return [Verdict("", UNTESTABLE, "the run has no point that both sides share")]
    order = [""] if alone else environments(analysis, names)
    asked = _judged_at_each if claim.each else _judged
    unit = _unit(claim, analysis)
    return [
        Verdict(name, UNTESTABLE, why)
        if (why := _on_shared_cores(analysis, sides, found, name))
        else asked(claim, found, name, unit)
        for name in order
    ]


def _on_shared_cores(
    analysis: Analysis, sides: Sequence[Measured], field: Field, name: str
) -> str | None:
    """Why no machine's speed decides the claim, and what would; None where no core was shared."""
    values = [by[name] for by in field.values.values() if name in by]
    shared = sum(shares_cores(one.flags) for one in values)
    if not shared:
        return None
    parts = [part for side in sides for part in (side, side.over, side.times) if part]
    rows = [row for part in parts for row in rows_like(analysis, part) if shares_cores(row.flags)]
    cases = [analysis.case(row) for row in rows]
    nodes = max((one.nodes for one in cases), default=1)
    cores = max((_cores_per_node(one) for one in cases), default=1)
    return (
        f"in {shared} of {count_text(len(values), 'point')} busy ranks shared cores: the times are"
        f" the scheduler's; needed: {count_text(nodes, 'node')} with"
        f" {count_text(cores, 'core')} each that no other node shares"
    )


def _cores_per_node(case: PlannedCase) -> int:
    ranks = max(case.ranks_per_node, -(-case.ranks // max(case.nodes, 1)))
    return ranks * (case.cpus_per_task or 1)


def _unit(claim: Claim, analysis: Analysis) -> ReadableUnit:
    """In which a claim's value is read: ratios have none."""
    value = claim.value
    limit = claim.more_than if claim.more_than is not None else claim.less_than
    if value is None or claim.than or value.over or value.times or value.steps or not limit:
        return ReadableUnit("", 1.0)
    return readable_unit(analysis.register.metrics[value.metric].unit, [limit])


def _absent(measured: Measured, analysis: Analysis) -> str:
    asked = {k: v if isinstance(v, list) else [v] for k, v in measured.where.items()}
    told = ", ".join(f"{k.split('.')[-1]} {' or '.join(map(str, v))}" for k, v in asked.items())
    lacks = f"the run has no {measured.metric} of {measured.check}" + (
        f" with {told}" if told else ""
    )
    why = why_nothing(analysis, measured)
    return f"{lacks}: {why}" if why else lacks


def _as_one(field: Field) -> Field:
    """The values of one environment, without its name."""
    found: dict[tuple[str, ...], dict[str, Values]] = {
        point: {"": one} for point, by in field.values.items() for one in by.values()
    }
    return Field(field.axes, found)


def _logs(field: Field, name: str) -> tuple[list[float], int]:
    """Logarithms, a mean over the points, by block that has all of them; points."""
    logs: dict[int, list[float]] = {}
    for point in sorted(field.values):
        one = field.values[point].get(name)
        for block, value in one.by_block.items() if one else ():
            if value > 0:
                logs.setdefault(block, []).append(math.log(value))
    most = max(map(len, logs.values()), default=0)
    return [float(np.mean(one)) for one in logs.values() if len(one) == most], most


def _judged_at_each(claim: Claim, field: Field, environment: str, unit: ReadableUnit) -> Verdict:
    """Holds where it holds at every value of a place; fails where it fails at one of them."""
    axis = field.axes.index(str(claim.each))
    parts: dict[str, dict[Point, dict[str, Values]]] = {}
    for point in sorted(field.values):
        if environment in field.values[point]:
            parts.setdefault(point[axis], {})[point] = field.values[point]
    found = {
        value: _judged(claim, Field(field.axes, part), environment, unit, len(parts))
        for value, part in parts.items()
    }
    order = (FAILS, UNTESTABLE, UNRESOLVED, HOLDS)
    value, worst = min(found.items(), key=lambda item: order.index(item[1].word))
    held = sum(one.word == HOLDS for one in found.values())
    because = f"holds at {held} of {len(found)}; {value}: {worst.because}"
    return Verdict(environment, worst.word, because)


def _judged(
    claim: Claim, field: Field, environment: str, unit: ReadableUnit, among: int = 1
) -> Verdict:
    """The verdict over all points; of several verdicts that may fail the level is shared."""
    logs, points = _logs(field, environment)
    if not logs:
        return Verdict(environment, UNTESTABLE, "no value is above 0")
    summary = summarise(logs)
    over = f"n = {summary.n}, {count_text(points, 'point')}"

    def text(log: float) -> str:
        return three_digits(math.exp(log) / unit.factor)

    told = f"{text(summary.mean)} {unit.label}".strip()
    above = claim.more_than is not None
    limit = claim.more_than if claim.more_than is not None else claim.less_than
    assert limit is not None
    asked = f"asked {'above' if above else 'below'} {limit / unit.factor:g}"
    grid = gap(np.array(logs))
    if summary.n < LEAST_LAUNCHES:
        few = "one launch" if summary.n == 1 else "two launches"
        because = f"{told}, {asked}; {count_text(points, 'point')}; {few}: not resolved"
        return Verdict(environment, UNRESOLVED, because)

    def half_width(level: float) -> float:
        """Never below the grid of the values: ties are no small variance."""
        return max(grid, mean_half_width(summary.n, level) * (summary.stddev or 0.0))

    alone, half = half_width(LEVEL), half_width(1 - (1 - LEVEL) / among)
    low, high = math.exp(summary.mean - alone), math.exp(summary.mean + alone)
    ends = between(summary.mean - alone, summary.mean + alone, text)
    if high > WIDEST * low:
        ends = f"ends more than a factor of {WIDEST:,} apart"
    because = f"{told} ({LEVEL:.0%}: {ends}), {asked}; {over}"
    if above:
        fails = math.exp(summary.mean + half) <= limit
        word = HOLDS if low > limit else FAILS if fails else UNRESOLVED
    else:
        fails = math.exp(summary.mean - half) >= limit
        word = HOLDS if high < limit else FAILS if fails else UNRESOLVED
    return Verdict(environment, word, because)


def claims_table(claims: list[Judged]) -> Table:
    """A line a claim and environment."""
    rows: list[list[Cell]] = []
    groups = set()
    for one in claims:
        groups.add(len(rows))
        for number, verdict in enumerate(one.verdicts):
            lead = Cell(one.claim.said, title=one.claim.where, quiet=number > 0)
            place = Cell(one.claim.where, quiet=number > 0)
            name = Cell(verdict.environment, environment=verdict.environment)
            rows.append([lead, place, name, Cell(verdict.word), Cell(verdict.because)])
    columns = [Column(t) for t in ("claim", "where", "environment", "verdict", "because")]
    return Table("claims", "What the paper claims", columns, rows, "", len(rows), frozenset(groups))
