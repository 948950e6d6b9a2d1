# SPDX-License-Identifier: Apache-2.0
"""Claims of a study held against a run: each holds, does not, is not resolved or untestable."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plugins.papers.fields import Field
from plugins.papers.run_values import Request, RunValues, uses_library
from plugins.papers.study import Claim, Study
from records.flags import shares_cores
from reports.analysis.run import Analysis
from reports.notation.units import (
    ReadableUnit,
    as_stated,
    between,
    count_text,
    readable_unit,
    significant,
)
from reports.show.rows import environments
from reports.statistics.descriptive import LEVEL, gap, mean_half_width, summarise

HOLDS, FAILS = "holds", "does not hold"
UNRESOLVED, UNTESTABLE = "not resolved", "cannot be tested here"
#: The word for a claim that holds in one environment and not in another.
DIFFERS = "differs between libraries"
#: Fewer launches decide no claim: of two, t is 12.7 and the interval says nothing.
LEAST_LAUNCHES = 3
#: An interval whose ends are further apart is not given by its ends.
WIDEST = 1000


@dataclass(frozen=True)
class Verdict:
    """Verdict on a claim: in an environment, or, with "", as a whole."""

    environment: str
    word: str
    because: str


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdicts."""

    claim: Claim
    verdicts: list[Verdict]

    @property
    def word(self) -> str:
        """The verdict in a word: of environments that agree, else the one that says least; those
        that cannot be tested count where no other can."""
        words = {verdict.word for verdict in self.verdicts}
        words = words - {UNTESTABLE} or words
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


def judge_claims(study: Study, analysis: Analysis) -> list[JudgedClaim]:
    """The claims of a study, each with its verdicts."""
    return [JudgedClaim(claim, judge(claim, analysis)) for claim in study.claims.values()]


def judge(claim: Claim, analysis: Analysis) -> list[Verdict]:
    """The verdicts of a claim: one for each environment that it can be asked of."""
    if claim.value is None:
        return [Verdict("", UNTESTABLE, claim.untestable)]
    fields: list[Field] = []
    requests: list[Request] = []
    for side in filter(None, (claim.value, claim.than)):
        run = RunValues(analysis, {place: place for place in claim.match})
        fields.append(side(run))
        requests += run.requests
        if not fields[-1].values:
            asked, why = run.requests[0], run.requests[0].why_nothing()
            because = f"the run has no {asked}{f': {why}' if why else ''}"
            return [Verdict("", UNTESTABLE, because)]
    alone = any("environment" in one.where for one in requests) or not any(
        uses_library(analysis.case(row)) for one in requests for row in one.rows
    )
    if alone:
        # The values of one environment, without its name.
        fields = [
            Field(field.axes, {at: {"": value} for at, _, value in field.items()}, field.made_by)
            for field in fields
        ]
    found = fields[0] if len(fields) == 1 else fields[0] / fields[1]
    names = {name for _, name, _ in found.items()}
    if not names:
        return [Verdict("", UNTESTABLE, "the run has no point that both sides share")]
    unit = ReadableUnit("", 1.0)
    if claim.limit and not found.made_by:  # ratios and what is calculated have no unit
        unit = readable_unit(analysis.register.metrics[requests[0].metric].unit, [claim.limit])
    asked_of = _judged_at_each if claim.each else _judged
    verdicts = []
    for name in [""] if "" in names else environments(analysis, names):
        clean, left_out = _without_shared_cores(analysis, requests, found, name)
        judged = asked_of(claim, clean, name, unit) if clean.values else (UNTESTABLE, "")
        verdicts.append(Verdict(name, judged[0], "; ".join(filter(None, (judged[1], left_out)))))
    return verdicts


def _without_shared_cores(
    analysis: Analysis, requests: Sequence[Request], field: Field, name: str
) -> tuple[Field, str]:
    """The points of an environment at which no busy ranks shared cores, and how many others were
    left out, with what would have given them; "" where none was."""
    values = {point: by for point, by in field.values.items() if name in by}
    clean = {point: by for point, by in values.items() if not shares_cores(by[name].flags)}
    kept = Field(field.axes, clean, field.made_by)
    if len(clean) == len(values):
        return kept, ""
    rows = [row for asked in requests for row in asked.rows if shares_cores(row.flags)]
    cases = [analysis.case(row) for row in rows]
    nodes = max((one.nodes for one in cases), default=1)
    fullest = (max(one.ranks_per_node, -(-one.ranks // max(one.nodes, 1))) for one in cases)
    cpus = ((one.cpus_per_task or 1) for one in cases)
    cores = max((ranks * each for ranks, each in zip(fullest, cpus, strict=True)), default=1)
    return kept, (
        f"{len(values) - len(clean)} of {count_text(len(values), 'point')} left out, where busy"
        f" ranks shared cores: the times are the scheduler's; needed: {count_text(nodes, 'node')}"
        f" with {count_text(cores, 'core')} each that no other node shares"
    )


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


def _judged_at_each(claim: Claim, field: Field, name: str, unit: ReadableUnit) -> tuple[str, str]:
    """Holds where it holds at every value of a place; fails where it fails at one of them."""
    axis = field.axes.index(claim.each)
    places = dict.fromkeys(p[axis] for p in sorted(field.values) if name in field.values[p])
    found = {}
    for place in places:
        part = {p: by for p, by in field.values.items() if p[axis] == place and name in by}
        found[place] = _judged(claim, Field(field.axes, part), name, unit, len(places))
    order = (FAILS, UNTESTABLE, UNRESOLVED, HOLDS)
    place, (word, why) = min(found.items(), key=lambda item: order.index(item[1][0]))
    held = sum(word == HOLDS for word, _ in found.values())
    return word, f"holds at {held} of {len(found)}; {place}: {why}"


def _judged(
    claim: Claim, field: Field, name: str, unit: ReadableUnit, among: int = 1
) -> tuple[str, str]:
    """The word over all points, and why; of several that may fail the level is shared."""
    logs, points = _logs(field, name)
    if not logs:
        return UNTESTABLE, "no value is above 0"
    summary, above, limit = summarise(logs), claim.more_than is not None, claim.limit

    def text(log: float) -> str:
        return significant(math.exp(log) / unit.factor)

    told = f"{text(summary.mean)} {unit.label}".strip()
    asked = f"asked {'above' if above else 'below'} {as_stated(limit / unit.factor)}"
    over = count_text(points, "point")
    if summary.n < LEAST_LAUNCHES:
        few = "one launch" if summary.n == 1 else "two launches"
        return UNRESOLVED, f"{told}, {asked}; {over}; {few}: not resolved"
    grid = gap(np.array(logs))

    def half_width(level: float) -> float:
        """Never below the grid of the values: ties are no small variance."""
        return max(grid, mean_half_width(summary.n, level) * (summary.stddev or 0.0))

    alone, half = half_width(LEVEL), half_width(1 - (1 - LEVEL) / among)
    low, high = math.exp(summary.mean - alone), math.exp(summary.mean + alone)
    ends = between(summary.mean - alone, summary.mean + alone, text)
    if high > WIDEST * low:
        ends = f"ends more than a factor of {WIDEST:,} apart"
    if above:
        holds, fails = low > limit, math.exp(summary.mean + half) <= limit
    else:
        holds, fails = high < limit, math.exp(summary.mean - half) >= limit
    word = HOLDS if holds else FAILS if fails else UNRESOLVED
    return word, f"{told} ({LEVEL:.0%}: {ends}), {asked}; n = {summary.n}, {over}"
