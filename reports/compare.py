# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign side by side: ratio per case and metric, differences in provenance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from campaigns.errors import AssayError
from campaigns.metrics import REGISTER
from reports.analysis import Analysis, Row, analyse
from reports.builds import belongs_to_builds, build_differences
from reports.labels import check_title, metric_title
from reports.listings import provenance_rows
from reports.load import AtKey, load_run
from reports.markdown import markdown_table, md
from reports.statistics import LEVEL, log_ratio_interval
from reports.tables import Cell, Column, Table, in_reading_order, row_label
from reports.units import count_text, decimals, fixed, readable_unit, signed_percent

MOST_ROWS = 2000
#: Metrics that only restate another one launch by launch; summary.csv has them.
_DERIVED = ("_best", "_mean", "_worst")
_EXPECTED_TO_DIFFER = {"run_id", "started_at", "order_seed"}

_Key = tuple[str, str, AtKey]


def compare_runs(run_a: Path, run_b: Path) -> str:
    """Markdown text that sets run B against run A, by case id.

    Blocks of different runs are not pairs, so the ratio B/A of geometric means has a Welch interval
    (log_ratio_interval). Raises AssayError as load_run does, and when the runs share no case.
    """
    first, second = analyse(load_run(Path(run_a))), analyse(load_run(Path(run_b)))
    shared = _cases(first) & _cases(second)
    if not shared:
        raise AssayError(
            f"{run_a} and {run_b} have no case in common (campaigns"
            f" {first.run.plan.campaign!r} and {second.run.plan.campaign!r}); compare two runs of"
            " one campaign."
        )
    return "\n".join(_lines(first, second, len(shared))) + "\n"


def _cases(analysis: Analysis) -> set[str]:
    return {case.id for case in analysis.run.plan.cases}


def _lines(first: Analysis, second: Analysis, shared: int) -> Iterator[str]:
    a, b = first.run, second.run
    yield f"# {md(b.run_id)} against {md(a.run_id)}"
    yield ""
    yield f"- A: {md(a.run_id)}, campaign {md(a.plan.campaign)}, {_state(first)}"
    yield f"- B: {md(b.run_id)}, campaign {md(b.plan.campaign)}, {_state(second)}"
    only_a, only_b = len(_cases(first)) - shared, len(_cases(second)) - shared
    yield f"- {count_text(shared, 'case')} in both; only in A: {only_a}, only in B: {only_b}"
    yield from _differences(first, second)
    yield from _build_table(first, second)
    for check in first.checks:
        table = _check_table(first, second, check)
        if table is not None:
            yield from markdown_table(table)


def _state(analysis: Analysis) -> str:
    missing = len(analysis.holes)
    state = (
        "complete"
        if not missing
        else f"not finished ({count_text(missing, 'launch', 'launches')} missing)"
    )
    counts = ", ".join(f"{count} {status}" for status, count in sorted(analysis.counts.items()))
    return f"{state}: {counts or 'nothing recorded'}"


def _differences(first: Analysis, second: Analysis) -> Iterator[str]:
    a, b = _flat(first), _flat(second)
    keys = (key for key in sorted({*a, *b}) if not belongs_to_builds(key))
    changed = [key for key in keys if a.get(key) != b.get(key)]
    yield ""
    if not changed:
        yield "Provenance: no difference."
        return
    yield "## What differs in provenance"
    yield ""
    yield "| what | A | B |"
    yield "| --- | --- | --- |"
    for key in changed:
        yield f"| {md(key)} | {md(a.get(key, 'not recorded'))} | {md(b.get(key, 'not recorded'))} |"


def _build_table(first: Analysis, second: Analysis) -> Iterator[str]:
    differences = build_differences(first.run.provenance, second.run.provenance)
    if not differences:
        return
    columns = [Column(title) for title in ("environment", "what", "A", "B")]
    cells = [
        [Cell(one.environment), Cell(one.what), Cell(one.a), Cell(one.b)] for one in differences
    ]
    yield from markdown_table(
        Table("compare-builds", "What differs between the builds", columns, cells)
    )


def _flat(analysis: Analysis) -> dict[str, str]:
    return {
        f"{section}.{key}": text
        for section, pairs in provenance_rows(analysis.run.provenance)
        for key, text in pairs
        if key not in _EXPECTED_TO_DIFFER
    }


def _check_table(first: Analysis, second: Analysis, check: str) -> Table | None:
    rows_a = {_key(first, row): row for row in _rows(first, check)}
    rows_b = {_key(second, row): row for row in _rows(second, check)}
    known = _cases(first) & _cases(second)
    keys = [key for key in {**rows_a, **rows_b} if key[0] in known]
    if not keys:
        return None
    cells = [
        _pair_cells(first, rows_a.get(key), second, rows_b.get(key)) for key in keys[:MOST_ROWS]
    ]
    columns = [Column("case"), Column("environment"), Column("metric")]
    columns += [
        Column(title, numeric=True)
        for title in ("A: n", "A: mean ± s", "B: n", "B: mean ± s", "B against A", "95 % interval")
    ]
    columns += [Column("unit"), Column("reading")]
    return Table(f"compare-{check}", check_title(check), columns, cells, total=len(keys))


def _rows(analysis: Analysis, check: str) -> list[Row]:
    rows = in_reading_order(analysis, analysis.rows_of(check))
    return [row for row in rows if not row.series.metric.endswith(_DERIVED)]


def _key(analysis: Analysis, row: Row) -> _Key:
    return analysis.case(row).id, row.series.metric, row.series.at


def _pair_cells(first: Analysis, a: Row | None, second: Analysis, b: Row | None) -> list[Cell]:
    row, analysis = (a, first) if a is not None else (b, second)
    assert row is not None
    case = analysis.case(row)
    values = [found.summary.mean for found in (a, b) if found is not None]
    unit = readable_unit(row.unit, values)
    result = (
        log_ratio_interval(a.series.values.tolist(), b.series.values.tolist()) if a and b else None
    )
    head = [
        Cell(row_label(analysis, row)),
        Cell(case.environment),
        Cell(metric_title(row.series.metric)),
    ]
    means = [cell for found in (a, b) for cell in _mean_cells(found, unit.factor)]
    if result is None:
        return [
            *head,
            *means,
            Cell("–"),
            Cell("–"),
            Cell(unit.label),
            Cell("no interval below n = 2"),
        ]
    ratio, interval = result
    ends = f"{signed_percent(interval.low)} … {signed_percent(interval.high)}"
    reading = _reading(row.series.metric, interval.low, interval.high)
    return [*head, *means, Cell(signed_percent(ratio)), Cell(ends), Cell(unit.label), Cell(reading)]


def _mean_cells(row: Row | None, factor: float) -> list[Cell]:
    if row is None:
        return [Cell("0"), Cell("no valid launch")]
    mean, spread = row.summary.mean / factor, row.summary.stddev
    places = decimals(mean, (spread or 0) / factor)
    text = fixed(mean, places)
    if spread is not None:
        text += f" ± {fixed(spread / factor, places)}"
    return [Cell(str(row.summary.n)), Cell(text, badges=row.flags)]


def _reading(metric: str, low: float, high: float) -> str:
    """Which run was better where the interval leaves no doubt at its level."""
    if low <= 1 <= high:
        return "not resolved"
    better = (low > 1) == (REGISTER[metric].better == "higher")
    return f"B {'better' if better else 'worse'} at {100 * LEVEL:.0f} %, this cell alone"
