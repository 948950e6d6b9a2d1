# SPDX-License-Identifier: Apache-2.0
"""Rows of a run that measure what a study measured, by what tells their points apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from records.plan import PlannedCase
from reports.analysis import Analysis, Row
from reports.papers.definition import Measured
from reports.show.lines import line_rate

Point = tuple[str, ...]

#: What a case has of a parameter that it does not state: cases state what was there from the first
#: version of their check on, and of later parameters what differs from this.
DEFAULTS = {"transport": "library", "hops": 0, "mpi_profile": False, "cpus_per_task": 1}


def plain_value(value: Any) -> str:
    """A coordinate as a text that is the same for 4, 4.0 and "4"."""
    try:
        return f"{float(value):.12g}"
    except (TypeError, ValueError):
        return str(value)


def found_at(analysis: Analysis, row: Row, place: str) -> Any:
    """What a row has at a place such as params.n, at.message_bytes or ranks; None without it."""
    case = analysis.case(row)
    kind, _, name = place.partition(".")
    if kind == "params":
        return case.params.get(name, DEFAULTS.get(name))
    if kind == "at":
        return row.series.at_value(name)
    return getattr(case, kind)


def point_of(analysis: Analysis, row: Row, places: Iterable[str | None]) -> Point:
    """What a row has at all of the places; "" where a run has no such place."""
    return tuple(plain_value(found_at(analysis, row, one)) if one else "" for one in places)


def rows_like(analysis: Analysis, measured: Measured) -> list[Row]:
    """The rows of a run that hold these values."""
    wanted = {place: _texts(value) for place, value in measured.where.items()}
    rows = analysis.rows_of(measured.check, measured.metric)
    if measured.on_purpose:
        checks = (analysis.case(row).check for row in analysis.invalid)
        rows = [
            row
            for row, check in zip(analysis.invalid, checks, strict=True)
            if (check, row.series.metric) == (measured.check, measured.metric)
        ]
    return [
        row
        for row in rows
        if all(plain_value(found_at(analysis, row, place)) in v for place, v in wanted.items())
    ]


def why_absent(analysis: Analysis, measured: Measured) -> str:
    """Why a run lacks a quantity: no nominal rate, or why its first such case was skipped."""
    if measured.of_line_rate and not line_rate(analysis):
        return f"site {analysis.run.plan.site} states no nominal rate of its network"
    return next((c.skipped for c in _cases_like(analysis, measured) if c.skipped is not None), "")


def why_nothing(analysis: Analysis, measured: Measured) -> str:
    """The same where a run has nothing of the quantity, or that it was planned in vain."""
    planned = any(_cases_like(analysis, measured))
    in_vain = "no launch of its cases has a value" if planned else ""
    return why_absent(analysis, measured) or in_vain


def _cases_like(analysis: Analysis, measured: Measured) -> Iterator[PlannedCase]:
    wanted = {
        place.removeprefix("params."): v
        for place, v in measured.where.items()
        if "at." not in place
    }
    for case in analysis.run.plan.cases:
        known = {**DEFAULTS, **case.params, "ranks": case.ranks, "environment": case.environment}
        if case.check == measured.check and all(
            plain_value(known.get(name)) in _texts(value) for name, value in wanted.items()
        ):
            yield case


def _texts(value: Any) -> set[str]:
    return {plain_value(one) for one in (value if isinstance(value, list) else [value])}


def library_of(environment: str) -> str:
    """The library that an environment's name begins with: lam of lam-lamd."""
    return environment.partition("-")[0]
