# SPDX-License-Identifier: Apache-2.0
"""Tables of statistics as plain data; HTML and Markdown render the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest

from records.axes import axis_of
from reports.analysis import Analysis, Row
from reports.notation.labels import CheckLabels, point_text, value_text
from reports.notation.units import (
    ReadableUnit,
    decimals,
    fixed,
    percent,
    readable_unit,
    si_text,
)
from reports.statistics.descriptive import Interval

#: Longer tables are cut in HTML and Markdown, with a line saying so; summary.csv has every row.
MOST_ROWS = 600


@dataclass(frozen=True, slots=True)
class Cell:
    """Text with what may stand at it: a title with SI values, a link, badges, a library's sign."""

    text: str
    title: str = ""
    href: str = ""
    badges: tuple[str, ...] = ()
    environment: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading; numeric ones are set flush right."""

    title: str
    numeric: bool = False
    environment: str = ""


def columns_of(
    texts: Sequence[str], numbers: Sequence[str], after: Sequence[str] = ()
) -> list[Column]:
    """Columns by their headings: of words, then of numbers, then of words again."""
    return [
        *(Column(title) for title in texts),
        *(Column(title, numeric=True) for title in numbers),
        *(Column(title) for title in after),
    ]


@dataclass(frozen=True)
class Table:
    """Rows of cells. `groups` are positions of rows that begin a group; `total` counts all rows
    where the table is cut."""

    anchor: str
    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    note: str = ""
    total: int = 0
    groups: frozenset[int] = frozenset()

    @property
    def omitted(self) -> int:
        """Rows not shown."""
        return max(0, self.total - len(self.rows))


def slug(text: str) -> str:
    """`text` as a part of an HTML id."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in text)[:80]


def constant_note(labels: CheckLabels) -> str:
    """What all cases of a check have in common."""
    parts = [
        f"{name} {value_text(value)}"
        for name, value in sorted(labels.constant.items())
        if not axis_of(name).lists
    ]
    return "The same for all cases: " + ", ".join(parts) + "." if parts else ""


STATISTICS = (
    "n of blocks",
    "mean",
    "s",
    "CV",
    "95 % interval of the mean",
    "median",
    "interval of the median",
    "least",
    "greatest",
)


def metric_table(analysis: Analysis, check: str, metric: str) -> Table | None:
    """All cases of a check with the complete statistics of one metric."""
    found = analysis.rows_of(check, metric)
    if not found:
        return None
    rows = in_reading_order(analysis, found, MOST_ROWS)
    unit = readable_unit(rows[0].unit, (row.summary.mean for row in rows))
    columns = [
        Column("case"),
        Column("environment"),
        *(Column(name, numeric=True) for name in STATISTICS),
        Column("unit"),
    ]
    cells: list[list[Cell]] = []
    groups, last = set(), ""
    for row in rows:
        label = row_label(analysis, row)
        if label != last:
            groups.add(len(cells))
        cells.append(_statistics_row(analysis, row, label, unit, repeated=label == last))
        last = label
    definition = analysis.register.metrics[metric]
    title = f"{analysis.register.metric_title(metric)}, {definition.better} is better"
    return Table(
        f"table-{slug(check)}-{slug(metric)}",
        title[:1].upper() + title[1:] if title[0].islower() else title,
        columns,
        cells,
        f"{definition.definition}.",
        len(found),
        frozenset(groups),
    )


def row_label(analysis: Analysis, row: Row) -> str:
    """Case and point in words."""
    case = analysis.case(row)
    parts = analysis.labels[case.check].parts(case)
    parts += [point_text(name, value) for name, value in row.series.at]
    return ", ".join(parts) or "all parameters fixed"


def in_reading_order(analysis: Analysis, rows: Iterable[Row], most: int | None = None) -> list[Row]:
    """By ranks and parameters, then by point, then by environment; the first `most` or all."""
    environments = {name: place for place, name in enumerate(analysis.looks)}
    orders = _case_orders(analysis)

    def key(row: Row) -> tuple[object, ...]:
        case = analysis.case(row)
        order = orders.get(row.series.case)
        if order is None:
            varying = analysis.labels[case.check].varying
            order = (case.ranks, *(_sortable(case.params.get(name)) for name in varying))
            orders[row.series.case] = order
        at = tuple(_sortable(value) for _, value in row.series.at)
        return order, at, environments[case.environment]

    return sorted(rows, key=key) if most is None else nsmallest(most, rows, key=key)


@lru_cache(maxsize=2)
def _case_orders(analysis: Analysis) -> dict[int, tuple[object, ...]]:
    """The place of each case by ranks and parameters, filled in as it is asked for."""
    del analysis
    return {}


def _sortable(value: object) -> tuple[float, str]:
    return (value, "") if isinstance(value, int | float) else (0.0, str(value))


def _statistics_row(
    analysis: Analysis, row: Row, label: str, unit: ReadableUnit, *, repeated: bool
) -> list[Cell]:
    case, summary = analysis.case(row), row.summary
    places = decimals(summary.mean / unit.factor, (summary.stddev or 0) / unit.factor)

    def value(number: float | None) -> Cell:
        text = fixed(None if number is None else number / unit.factor, places)
        return Cell(text, title=f"{si_text(number)} {row.unit}" if number is not None else "")

    return [
        Cell(label, href=f"#case-{slug(case.id)}", quiet=repeated),
        Cell(case.environment, environment=case.environment, badges=row.flags),
        Cell(f"{summary.n} of {analysis.run.plan.blocks}"),
        value(summary.mean),
        value(summary.stddev),
        Cell(percent(summary.cv, 2)),
        interval_cell(summary.mean_interval, unit, places, row.unit),
        value(summary.median),
        interval_cell(summary.median_interval, unit, places, row.unit),
        value(summary.least),
        value(summary.greatest),
        Cell(unit.label, title=f"1 {unit.label} = {unit.factor:g} {row.unit}"),
    ]


def interval_cell(interval: Interval | None, unit: ReadableUnit, places: int, si: str) -> Cell:
    """ "low … high"; the title has level, method and SI values."""
    if interval is None:
        return Cell("–", title="needs more launches: the mean's 2, the median's 6")
    low, high = (fixed(end / unit.factor, places) for end in (interval.low, interval.high))
    title = (
        f"{percent(interval.level, 2)} by {interval.method}:"
        f" {si_text(interval.low)} to {si_text(interval.high)} {si}"
    )
    return Cell(f"{low} … {high}", title=title)
