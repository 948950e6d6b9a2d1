# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign side by side: ratio per case and metric, differences in provenance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from records.errors import AssayError
from records.metric import Better
from reports.analysis import Analysis, Row, analyse
from reports.comparison.builds import belongs_to_builds, build_differences
from reports.load.loading import AtKey, load_run
from reports.notation.units import count_text, decimals, fixed, readable_unit, signed_percent
from reports.show.listings import provenance_rows
from reports.show.tables import Cell, Column, Table, in_reading_order, row_label
from reports.statistics.descriptive import LEVEL, log_ratio_interval
from reports.write.markdown import markdown_table, md

MOST_ROWS = 2000
#: Metrics that only restate another one launch by launch; summary.csv has them.
_DERIVED = ("_best", "_mean", "_worst")
_EXPECTED_TO_DIFFER = {"run_id", "started_at", "order_seed"}

_Key = tuple[str, str, AtKey]


@dataclass(frozen=True)
class RunComparison:
    """Run B against run A: what they are, and what differs: provenance, builds, each check."""

    first: Analysis
    second: Analysis
    facts: list[str]
    differences: Table
    tables: list[Table]

    @property
    def title(self) -> str:
        """ "B against A"."""
        return f"{self.second.run.run_id} against {self.first.run.run_id}"

    def markdown(self) -> str:
        """The whole comparison as text."""
        return "\n".join(_lines(self)) + "\n"


def compare(run_a: Path, run_b: Path) -> RunComparison:
    """Set run B against run A, by case id.

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
    made = (_check_table(first, second, check) for check in first.checks)
    return RunComparison(
        first,
        second,
        _facts(first, second, len(shared)),
        _differences(first, second),
        [*_builds(first, second), *(table for table in made if table is not None)],
    )


def compare_runs(run_a: Path, run_b: Path) -> str:
    """`compare` as Markdown."""
    return compare(run_a, run_b).markdown()


def _cases(analysis: Analysis) -> set[str]:
    return {case.id for case in analysis.run.plan.cases}


def _facts(first: Analysis, second: Analysis, shared: int) -> list[str]:
    a, b = first.run, second.run
    only_a, only_b = len(_cases(first)) - shared, len(_cases(second)) - shared
    return [
        f"A: {a.run_id}, campaign {a.plan.campaign}, {_state(first)}",
        f"B: {b.run_id}, campaign {b.plan.campaign}, {_state(second)}",
        f"{count_text(shared, 'case')} in both; only in A: {only_a}, only in B: {only_b}",
    ]


def _lines(found: RunComparison) -> Iterator[str]:
    yield f"# {md(found.title)}"
    yield ""
    yield from (f"- {md(fact)}" for fact in found.facts)
    yield from markdown_table(found.differences)
    for table in found.tables:
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


def _differences(first: Analysis, second: Analysis) -> Table:
    a, b = _flat(first), _flat(second)
    keys = (key for key in sorted({*a, *b}) if not belongs_to_builds(key))
    changed = [key for key in keys if a.get(key) != b.get(key)]
    unknown = "not recorded"
    rows = [[Cell(key), Cell(a.get(key, unknown)), Cell(b.get(key, unknown))] for key in changed]
    note = "" if rows else "Provenance: no difference."
    columns = [Column("what"), Column("A"), Column("B")]
    title = "What differs in provenance"
    return Table("table-differences", title, columns, rows, note, len(rows))


def _builds(first: Analysis, second: Analysis) -> list[Table]:
    differences = build_differences(first.run.provenance, second.run.provenance)
    cells = [
        [Cell(one.environment), Cell(one.what), Cell(one.a), Cell(one.b)] for one in differences
    ]
    columns = [Column(title) for title in ("environment", "what", "A", "B")]
    title = "What differs between the builds"
    return [Table("table-builds", title, columns, cells, "", len(cells))] if cells else []


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
    return Table(
        f"compare-{check}", first.register.check_title(check), columns, cells, total=len(keys)
    )


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
        Cell(case.environment, environment=case.environment),
        Cell(analysis.register.metric_title(row.series.metric)),
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
    better = analysis.register.metrics[row.series.metric].better
    reading = _reading(better, interval.low, interval.high)
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


def _reading(better: Better, low: float, high: float) -> str:
    """Which run was better where the interval leaves no doubt at its level."""
    if low <= 1 <= high:
        return "not resolved"
    gained = (low > 1) == (better == "higher")
    return f"B {'better' if gained else 'worse'} at {100 * LEVEL:.0f} %, this cell alone"
