# SPDX-License-Identifier: Apache-2.0
"""A check in a few rows: points spread over what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from reports.analysis.cells import ESTIMAND
from reports.analysis.run import Analysis, Row, flags_of
from reports.load.loading import AtKey
from reports.notation.units import count_text, counts_text, readable_unit, sentence_case
from reports.show.lines import joined
from reports.show.rows import in_reading_order, row_label, side_by_side, value_cell
from reports.show.tables import Cell, Table, pivot, slug

#: Rows of the table.
MOST_POINTS = 5


@lru_cache(maxsize=32)
def headline_table(analysis: Analysis, check: str) -> Table | None:
    """The check's deciding metric, environments side by side; each value leads to its launches."""
    metric = analysis.deciding_metric(check)
    if not metric:
        return None
    rows = analysis.rows_of(check, metric)
    if any(row.series.at_value("construct") == "Send/Recv" for row in rows):
        rows = [row for row in rows if row.series.at_value("construct") == "Send/Recv"]
    points: dict[str, list[Row]] = {}
    labels: dict[tuple[int, AtKey], str] = {}
    for row in in_reading_order(analysis, rows):
        key = analysis.run.first_alike[row.series.case], row.series.at
        label = labels.get(key)
        if label is None:
            label = labels[key] = row_label(analysis, row)
        points.setdefault(label, []).append(row)
    chosen = _spread(analysis, points)
    means = {label: [row.summary.mean for row in points[label]] for label in chosen}
    units = {label: readable_unit(rows[0].unit, values) for label, values in means.items()}
    alone = len({*units.values()}) == 1

    def cell(line: list[Row]) -> Cell:
        if not line:
            return Cell("–", title="no valid launch")
        made = value_cell(line, units[row_label(analysis, line[0])], label=not alone)
        return replace(made, href=f"#case-{slug(analysis.case(line[0]).id)}", badges=())

    shown = [row for label in chosen for row in points[label]]
    n = counts_text((row.summary.n for row in shown), "launch")
    better = analysis.register.metrics[metric].better
    unit = next(iter(units.values())).label if alone else ""
    title = joined(analysis.register.metric_title(metric), unit, f"{better} is better")
    common = [flag for flag in flags_of(shown) if all(flag in row.flags for row in shown)]

    def lead(row: Row) -> Cell:
        badges = tuple(flag for flag in flags_of([row]) if flag not in common)
        return Cell(row_label(analysis, row), badges=badges)

    left = len(points) - len(chosen)
    note = f"Mean ± s of n = {n}; a value leads to its raw output."
    compared = any(cell.check == check for cell in analysis.comparisons.overall)
    note += f" {ESTIMAND}" if compared else ""
    note += f" {count_text(left, 'further point')} below." if left else ""
    note += f" All are {', '.join(common)}." if common else ""
    return pivot(
        shown,
        [("case", lead)],
        [side_by_side(analysis, shown, cell)],
        anchor=f"headline-{slug(check)}",
        title=sentence_case(title),
        note=note,
    )


def _spread(analysis: Analysis, points: dict[str, list[Row]]) -> list[str]:
    """At most MOST_POINTS labels: ends and middle of each curve, of as many curves as there are."""
    curves: dict[str, list[str]] = {}
    for label, (row, *_) in points.items():
        case = analysis.case(row)
        words = [str(value) for _, value in row.series.at if isinstance(value, str)]
        name = analysis.labels[case.check].name(case)
        curves.setdefault(" ".join([name, *words]), []).append(label)
    each = max(1, MOST_POINTS // len(curves))
    ends = [label for labels in curves.values() for label in _evenly(labels, each)]
    return _evenly(ends, MOST_POINTS)


def _evenly(items: Sequence[str], most: int) -> list[str]:
    """At most `most` of the items, the last and, of two and more, the first among them."""
    if len(items) <= most:
        return list(items)
    if most == 1:
        return [items[-1]]
    return [items[round(index * (len(items) - 1) / (most - 1))] for index in range(most)]
