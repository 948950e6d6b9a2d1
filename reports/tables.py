# SPDX-License-Identifier: Apache-2.0
"""Tables of statistics and comparisons as plain data; HTML and Markdown render the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from campaigns.metrics import REGISTER
from reports.analysis import OUTLIER, Analysis, Row
from reports.comparison import Comparison
from reports.labels import CheckLabels, metric_title, value_text
from reports.plots import line_rate
from reports.statistics import Interval, Summary
from reports.units import (
    ReadableUnit,
    bytes_text,
    decimals,
    fixed,
    percent,
    readable_unit,
    si_text,
    signed_percent,
)

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
        if name not in ("constructs", "sizes")
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
    rows = in_reading_order(analysis, analysis.rows_of(check, metric))
    if not rows:
        return None
    unit = readable_unit(rows[0].unit, (row.summary.mean for row in rows))
    columns = [
        Column("case"),
        Column("environment"),
        *(Column(name, numeric=True) for name in STATISTICS),
        Column("unit"),
    ]
    cells: list[list[Cell]] = []
    groups, last = set(), ""
    for row in rows[:MOST_ROWS]:
        label = row_label(analysis, row)
        if label != last:
            groups.add(len(cells))
        cells.append(_statistics_row(analysis, row, label, unit, repeated=label == last))
        last = label
    title = f"{metric_title(metric)}, {REGISTER[metric].better} is better"
    return Table(
        f"table-{slug(check)}-{slug(metric)}",
        title[:1].upper() + title[1:] if title[0].islower() else title,
        columns,
        cells,
        REGISTER[metric].definition + ".",
        len(rows),
        frozenset(groups),
    )


def row_label(analysis: Analysis, row: Row) -> str:
    """Case and point in words."""
    case = analysis.case(row)
    parts = analysis.labels[case.check].parts(case)
    for name, value in row.series.at:
        parts.append(bytes_text(value) if name == "message_bytes" else value_text(value))
    return ", ".join(parts) or "all parameters fixed"


def in_reading_order(analysis: Analysis, rows: Iterable[Row]) -> list[Row]:
    """By ranks and parameters, then by point, then by environment."""
    environments = {name: place for place, name in enumerate(analysis.looks)}
    orders: dict[int, tuple[object, ...]] = {}

    def key(row: Row) -> tuple[object, ...]:
        case = analysis.case(row)
        order = orders.get(row.series.case)
        if order is None:
            varying = analysis.labels[case.check].varying
            order = (case.ranks, *(_sortable(case.params.get(name)) for name in varying))
            orders[row.series.case] = order
        at = tuple(_sortable(value) for _, value in row.series.at)
        return order, at, environments[case.environment]

    return sorted(rows, key=key)


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


def pt2pt_tables(analysis: Analysis) -> list[Table]:
    """For each curve (case parameters and construct): sizes down, environments side by side.

    Curves beyond the first 4 × MOST_ROWS sizes stand in summary.csv only; the last table says so.
    """
    titles: dict[tuple[int, str], str] = {}
    groups: dict[str, dict[tuple[int, str, str], Row]] = {}
    for row in analysis.rows_of("pt2pt", "half_round_trip", "bandwidth"):
        case = analysis.case(row)
        construct = str(row.series.at_value("construct") or "all")
        title = titles.get((row.series.case, construct))
        if title is None:
            title = ", ".join([construct, *analysis.labels["pt2pt"].parts(case)])
            titles[row.series.case, construct] = title
        size = row.series.at_value("message_bytes")
        key = (size if isinstance(size, int) else 0, row.series.metric, case.environment)
        groups.setdefault(title, {})[key] = row
    tables: list[Table] = []
    left = 4 * MOST_ROWS
    for title, found in groups.items():
        if left <= 0:
            break
        tables.append(_sizes_table(analysis, title, found, left))
        left -= len(tables[-1].rows)
    if len(tables) < len(groups):
        note = f"{len(groups) - len(tables)} further curves are in summary.csv only."
        tables[-1] = replace(tables[-1], note=note)
    return tables


def _sizes_table(
    analysis: Analysis, title: str, found: dict[tuple[int, str, str], Row], most: int
) -> Table:
    names = [name for name in analysis.looks if any(key[2] == name for key in found)]
    sizes = sorted({key[0] for key in found})
    units = {
        metric: readable_unit(
            REGISTER[metric].unit, (r.summary.mean for k, r in found.items() if k[1] == metric)
        )
        for metric in ("half_round_trip", "bandwidth")
    }
    columns = [Column("message", numeric=True)]
    for metric, unit in units.items():
        columns += [
            Column(f"{metric_title(metric)}, {unit.label}", numeric=True, environment=name)
            for name in names
        ]
    cells = [
        [
            Cell(bytes_text(size)),
            *(
                _compact_cell(found.get((size, metric, name)), unit, analysis.run.plan.blocks)
                for metric, unit in units.items()
                for name in names
            ),
        ]
        for size in sizes[: max(0, min(MOST_ROWS, most))]
    ]
    return Table(f"sizes-{slug(title)}", title, columns, cells, total=len(sizes))


def _compact_cell(row: Row | None, unit: ReadableUnit, blocks: int) -> Cell:
    if row is None:
        return Cell("–", title="no valid launch")
    summary = row.summary
    places = decimals(summary.mean / unit.factor, (summary.stddev or 0) / unit.factor)
    text = fixed(summary.mean / unit.factor, places)
    if summary.stddev is not None:
        text += f" ± {fixed(summary.stddev / unit.factor, places)}"
    badges = tuple(flag for flag in row.flags if not flag.startswith(OUTLIER))
    marked = "".join(f"; {flag}" for flag in row.flags)
    if summary.n != blocks:
        badges = (f"n = {summary.n}", *badges)
    return Cell(text, title=_full_text(summary, row.unit) + marked, badges=badges)


def _full_text(summary: Summary, unit: str) -> str:
    parts = [f"n = {summary.n}", f"mean {si_text(summary.mean)}"]
    if summary.stddev is not None and summary.mean_interval is not None:
        interval = summary.mean_interval
        parts += [
            f"s {si_text(summary.stddev)}",
            f"95 % interval {si_text(interval.low)} to {si_text(interval.high)}",
        ]
    parts += [
        f"median {si_text(summary.median)}",
        f"least {si_text(summary.least)}",
        f"greatest {si_text(summary.greatest)}",
    ]
    return ", ".join(parts) + f" {unit}"


def invalid_table(analysis: Analysis) -> Table | None:
    """The greatest apparent bandwidth of each construct and environment against the link's rate."""
    best: dict[tuple[str, str], Row] = {}
    for row in analysis.invalid:
        if row.series.metric == "bandwidth":
            key = str(row.series.at_value("construct")), analysis.case(row).environment
            if key not in best or row.summary.mean > best[key].summary.mean:
                best[key] = row
    if not best:
        return None
    rate = line_rate(analysis)
    cells = [_invalid_row(analysis, row, rate) for _, row in sorted(best.items())]
    columns = [
        Column("construct"),
        Column("environment"),
        Column("n", numeric=True),
        Column("message", numeric=True),
        Column("greatest apparent bandwidth ± s, MB/s", numeric=True),
        Column("of the link's rate", numeric=True),
    ]
    return Table("table-invalid", "Greatest apparent bandwidth", columns, cells, total=len(cells))


def _invalid_row(analysis: Analysis, row: Row, rate: float | None) -> list[Cell]:
    case, summary = analysis.case(row), row.summary
    unit = ReadableUnit("MB/s", 1e6)
    places = decimals(summary.mean / 1e6, (summary.stddev or 0) / 1e6)
    spread = f" ± {fixed(summary.stddev / 1e6, places)}" if summary.stddev is not None else ""
    size = row.series.at_value("message_bytes")
    return [
        Cell(str(row.series.at_value("construct"))),
        Cell(case.environment, environment=case.environment, href=f"#case-{slug(case.id)}"),
        Cell(str(summary.n)),
        Cell(bytes_text(size) if isinstance(size, int) else "–"),
        Cell(
            fixed(summary.mean / unit.factor, places) + spread,
            title=_full_text(summary, row.unit),
        ),
        Cell(percent(summary.mean / rate, 0) if rate else "not recorded"),
    ]


def comparison_table(anchor: str, title: str, cells: Sequence[Comparison], note: str = "") -> Table:
    """Comparisons with effect, interval and verdict."""
    columns = [
        Column("scope"),
        Column("cell"),
        Column("environment"),
        Column("against"),
        Column("n", numeric=True),
        Column("advantage", numeric=True),
        Column("interval", numeric=True),
        Column("level", numeric=True),
        Column("p, Holm", numeric=True),
        Column("verdict"),
    ]
    rows: list[list[Cell]] = []
    groups, last = set(), ""
    for cell in cells[:MOST_ROWS]:
        if f"{cell.scope}/{cell.label}" != last:
            groups.add(len(rows))
        rows.append(_comparison_row(cell))
        last = f"{cell.scope}/{cell.label}"
    return Table(anchor, title, columns, rows, note, len(cells), frozenset(groups))


def _comparison_row(cell: Comparison) -> list[Cell]:
    effect = cell.effect
    points = f"{cell.points} of {cell.points_planned} points" if cell.points_planned > 1 else ""
    head = [
        Cell(cell.scope, title=metric_title(cell.metric)),
        Cell(cell.label, title=points),
        Cell(
            cell.environment, environment=cell.environment, href=f"#case-{slug(cell.case_ids[0])}"
        ),
        Cell(cell.reference, environment=cell.reference, href=f"#case-{slug(cell.case_ids[1])}"),
        Cell(str(cell.n)),
    ]
    if effect is None:
        return [*head, Cell("–"), Cell("–"), Cell("–"), Cell("–"), Cell(cell.verdict)]
    interval = effect.interval
    return [
        *head,
        Cell(cell.difference, title=f"ratio {effect.ratio:.6g}"),
        Cell(f"{signed_percent(interval.low)} … {signed_percent(interval.high)}"),
        Cell(percent(interval.level, 2)),
        Cell(f"{cell.p_holm:.2g}", title=f"p {effect.p:.3g} before adjustment"),
        Cell(cell.verdict),
    ]


@lru_cache(maxsize=16)
def tables_of(analysis: Analysis, check: str) -> tuple[Table, ...]:
    """Statistics tables of a check: sizes side by side for point-to-point, else one a metric.

    Made once for HTML and Markdown.
    """
    if check == "pt2pt":
        return tuple(pt2pt_tables(analysis))
    made = (metric_table(analysis, check, name) for name in analysis.metrics_of(check))
    return tuple(table for table in made if table is not None)
