# SPDX-License-Identifier: Apache-2.0
"""Tables of point-to-point: lengths down, environments side by side; the fault shown on purpose."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis import Analysis, Row, flags_of
from reports.notation.units import (
    ReadableUnit,
    bytes_text,
    decimals,
    fixed,
    percent,
    readable_unit,
    si_text,
)
from reports.show.lines import line_rate
from reports.show.tables import MOST_ROWS, Cell, Column, Table, columns_of, slug
from reports.statistics.descriptive import Summary


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
    metrics = analysis.register.metrics
    units = {
        metric: readable_unit(
            metrics[metric].unit, (r.summary.mean for k, r in found.items() if k[1] == metric)
        )
        for metric in ("half_round_trip", "bandwidth")
    }
    columns = [Column("message", numeric=True)]
    for metric, unit in units.items():
        columns += [
            Column(
                f"{analysis.register.metric_title(metric)}, {unit.label}",
                numeric=True,
                environment=name,
            )
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
    badges = flags_of([row])
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
    columns = columns_of(
        ["construct", "environment"],
        ["n", "message", "greatest apparent bandwidth ± s, MB/s", "of the link's rate"],
    )
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
