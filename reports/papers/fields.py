# SPDX-License-Identifier: Apache-2.0
"""Quantities over their points, printed ones and a run's in the same form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import mul, truediv
from statistics import median

from reports.analysis import Analysis, Row, flags_of
from reports.papers.definition import Column, Key, Measured, PrintedTable, Step, Study
from reports.papers.laws import expanded
from reports.papers.matching import Point, plain_value, point_of, rows_like
from reports.papers.steps import Field, Values, each, joined, stepped
from reports.show.lines import line_rate

#: Between the columns of then, where a table has none across.
NONE_ACROSS = ""


def printed_key(item: Key, row: Mapping[str, str]) -> str:
    """What a printed row has of a key, in the words of a run."""
    text = row[item.column] if item.column else item.then
    return plain_value(item.today.get(text, text))


def across_of(study: Study, table: PrintedTable, row: Mapping[str, str]) -> str:
    """What a printed row stands under, in words for readers."""
    texts = (study.words.get(text, text) for name in table.across if (text := row[name]))
    return " ".join(texts) or NONE_ACROSS


def printed_field(study: Study, table: PrintedTable, column: Column) -> Field:
    """The printed values of a column in SI units, by the table's keys."""
    rows: Iterable[Mapping[str, str]] = study.printed(table)
    if table.law:
        rows = list(expanded(rows, table.law))
    axes = [item.column or item.title for item in table.keys]
    further = _further(axes, column.steps)

    def field(name: str, factor: float) -> Field:
        found: dict[Point, dict[str, Values]] = {}
        for row in rows:
            if row[name]:
                point = *(printed_key(item, row) for item in table.keys), *(row[a] for a in further)
                value = Values({0: float(row[name]) * factor})
                found.setdefault(point, {}).setdefault(across_of(study, table, row), value)
        return Field((*axes, *further), found)

    if column.over:
        quotient = joined(field(column.column, column.factor), field(column.over, 1.0), truediv)
        return stepped(quotient, column.steps)
    return stepped(field(column.column, column.factor), column.steps)


def measured_field(analysis: Analysis, measured: Measured, axes: Sequence[str | None]) -> Field:
    """A quantity of a run by these places; "" on an axis that a run has not.

    Where several cases share a point that of most launches counts, and of its points in a launch
    the median.
    """
    named = [one or f"no place {number}" for number, one in enumerate(axes)]
    further = _further(named, measured.steps)
    places = (*axes, *further)
    groups: dict[tuple[Point, str], dict[int, list[Row]]] = {}
    for row in rows_like(analysis, measured):
        if measured.of_line_rate and analysis.case(row).nodes < 2:
            continue  # no message crossed the network
        key = point_of(analysis, row, places), analysis.case(row).environment
        groups.setdefault(key, {}).setdefault(row.series.case, []).append(row)
    found: dict[Point, dict[str, Values]] = {}
    for (point, name), cases in groups.items():
        rows = max(cases.values(), key=lambda one: one[0].summary.n)
        found.setdefault(point, {})[name] = _together(rows)
    field = stepped(Field((*named, *further), found), measured.steps)
    for other, formula in ((measured.over, truediv), (measured.times, mul)):
        if other is not None:
            field = joined(field, measured_field(analysis, other, axes), formula)
    if measured.of_line_rate:
        rate = line_rate(analysis)
        field = each(field, lambda value: value / rate) if rate else Field(field.axes, {})
    return each(field, lambda value: 1 - value) if measured.rest else field


def _together(rows: Sequence[Row]) -> Values:
    """The median over rows of a case, block by block."""
    blocks: dict[int, list[float]] = {}
    for row in rows:
        for block, value in row.series.by_block().items():
            blocks.setdefault(block, []).append(value)
    flags = rows[0].flags if len(rows) == 1 else flags_of(rows)
    medians = {block: median(found) for block, found in blocks.items()}
    return Values(medians, flags, rows[0].series.case)


def _further(axes: Sequence[str], steps: Iterable[Step]) -> list[str]:
    """The axes that steps name beside these."""
    named = (axis for step in steps for axis in step.named)
    return [axis for axis in dict.fromkeys(named) if axis not in axes]
