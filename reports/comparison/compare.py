# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign side by side: ratio per case and metric, differences in provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from records.errors import AssayError
from reports.analysis import Analysis, Row, analyse
from reports.comparison.builds import belongs_to_builds, build_differences
from reports.comparison.days import Cell as SeriesCell
from reports.comparison.days import DaySpread, cell_of, read_days, two_days_interval
from reports.load.loading import load_run
from reports.load.run import AtKey
from reports.notation.units import count_text, percent, readable_unit, signed_percent
from reports.notation.values import between
from reports.show.listings import provenance_rows
from reports.show.rows import in_reading_order, row_label, value_cell
from reports.show.tables import Cell, Table, numeric, pivot
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
        lines = [f"# {md(self.title)}", "", *(f"- {md(fact)}" for fact in self.facts)]
        for table in (self.differences, *self.tables):
            lines += markdown_table(table)
        return "\n".join(lines) + "\n"


def compare(run_a: Path, run_b: Path, history: Path | None = None) -> RunComparison:
    """Set run B against run A, by case id.

    Blocks of different runs are not pairs, so the ratio B/A of geometric means has a Welch interval
    (log_ratio_interval). Two runs are two days: `history` tells how far days differ (days.py);
    without it no cell is called better or worse. Raises AssayError as load_run does, and when the
    runs share no case.
    """
    first, second = analyse(load_run(Path(run_a))), analyse(load_run(Path(run_b)))
    shared = _cases(first) & _cases(second)
    if not shared:
        raise AssayError(
            f"{run_a} and {run_b} have no case in common (campaigns"
            f" {first.run.plan.campaign!r} and {second.run.plan.campaign!r}); compare two runs of"
            " one campaign."
        )
    a, b = first.run, second.run
    only_a, only_b = len(_cases(first)) - len(shared), len(_cases(second)) - len(shared)
    differences, builds = _differences(first, second)
    days = read_days(history, a.plan.site, a.plan.campaign, {a.run_id, b.run_id})
    tables = [builds, *(_check_table(first, second, days, check) for check in first.checks)]
    return RunComparison(
        first,
        second,
        [
            f"A: {a.run_id}, campaign {a.plan.campaign}, {_state(first)}",
            f"B: {b.run_id}, campaign {b.plan.campaign}, {_state(second)}",
            f"{count_text(len(shared), 'case')} in both; only in A: {only_a}, only in B: {only_b}",
            _days_fact(days),
        ],
        differences,
        [table for table in tables if table is not None],
    )


def _days_fact(days: Mapping[SeriesCell, DaySpread]) -> str:
    if not days:
        return (
            "how far one day differs from another is not known, so two days cannot tell a change"
            " from the day; a history of this campaign can (assay history add RUN)"
        )
    nights = sorted(spread.nights for spread in days.values())
    span = str(nights[0]) if nights[0] == nights[-1] else f"{nights[0]} to {nights[-1]}"
    series = count_text(len(days), "series", "series")
    return f"spread of days: from the history, {series} of {span} nights"


def _cases(analysis: Analysis) -> set[str]:
    return {case.id for case in analysis.run.plan.cases}


def _state(analysis: Analysis) -> str:
    missing = count_text(len(analysis.holes), "launch", "launches")
    state = f"not finished ({missing} missing)" if analysis.holes else "complete"
    counts = ", ".join(f"{count} {status}" for status, count in sorted(analysis.counts.items()))
    return f"{state}: {counts or 'nothing recorded'}"


def _differences(first: Analysis, second: Analysis) -> tuple[Table, Table | None]:
    """What differs in provenance, and between the builds of environments that both runs have."""
    a, b = _flat(first), _flat(second)
    changed = [
        key for key in sorted({*a, *b}) if not belongs_to_builds(key) and a.get(key) != b.get(key)
    ]
    anchor, title = "table-differences", "What differs in provenance"
    differences = pivot(
        changed,
        [
            ("what", lambda key: key),
            ("A", lambda key: a.get(key, "not recorded")),
            ("B", lambda key: b.get(key, "not recorded")),
        ],
        anchor=anchor,
        title=title,
        most=MOST_ROWS,
    )
    builds = pivot(
        build_differences(first.run.provenance, second.run.provenance),
        [
            ("environment", lambda one: one.environment),
            ("what", lambda one: one.what),
            ("A", lambda one: one.a),
            ("B", lambda one: one.b),
        ],
        anchor="table-builds",
        title="What differs between the builds",
        most=MOST_ROWS,
    )
    return differences or Table(anchor, title, [], [], "Provenance: no difference."), builds


def _flat(analysis: Analysis) -> dict[str, str]:
    return {
        f"{section}.{key}": text
        for section, pairs in provenance_rows(analysis.run.provenance)
        for key, text in pairs
        if key not in _EXPECTED_TO_DIFFER
    }


def _check_table(
    first: Analysis, second: Analysis, days: Mapping[SeriesCell, DaySpread], check: str
) -> Table | None:
    known = _cases(first) & _cases(second)
    pairs: dict[_Key, list[Row | None]] = {}
    for place, analysis in enumerate((first, second)):
        for row in in_reading_order(analysis, analysis.rows_of(check)):
            key = analysis.case(row).id, row.series.metric, row.series.at
            if key[0] in known and not row.series.metric.endswith(_DERIVED):
                pairs.setdefault(key, [None, None])[place] = row
    means = numeric(
        *("A: n", "A: mean ± s", "B: n", "B: mean ± s", "B against A", "95 % interval"),
        "spread of days",
    )
    return pivot(
        list(pairs.values())[:MOST_ROWS],
        [
            (
                ["case", "environment", "metric", *means, "unit", "reading"],
                lambda pair: _pair_cells(first, second, days, *pair),
            )
        ],
        anchor=f"compare-{check}",
        title=first.register.check_title(check),
        total=len(pairs),
        most=MOST_ROWS,
    )


def _pair_cells(
    first: Analysis,
    second: Analysis,
    days: Mapping[SeriesCell, DaySpread],
    a: Row | None,
    b: Row | None,
) -> list[str | Cell]:
    row, analysis = (a, first) if a is not None else (b, second)
    assert row is not None
    found = [one for one in (a, b) if one is not None]
    unit = readable_unit(row.unit, [one.summary.mean for one in found])
    name = analysis.case(row).environment
    metric = analysis.register.metrics[row.series.metric]
    cells: list[str | Cell] = [
        row_label(analysis, row),
        Cell(name, environment=name),
        analysis.register.metric_title(metric.name),
    ]
    for one in (a, b):
        cells += ["0" if one is None else str(one.summary.n)]
        cells += [value_cell([one] if one else [], unit)]
    values = [one.series.values.tolist() for one in found]
    result = log_ratio_interval(*values) if len(values) == 2 else None
    if result is None:
        return [*cells, "–", "–", "–", unit.label, "no interval below n = 2"]
    ratio, interval = result
    day = days.get(cell_of(analysis.case(row).id, row.series.metric, dict(row.series.at)))
    if day is not None:
        interval = two_days_interval(ratio, interval, day)
    reading = "not resolved"
    if not interval.low <= 1 <= interval.high:
        gained = (interval.low > 1) == (metric.better == "higher")
        reading = (
            f"B {'better' if gained else 'worse'} at {100 * LEVEL:.0f} %, this cell alone"
            if day
            else "beyond the launches' spread; two days cannot tell"
        )
    ends = between(interval.low, interval.high, signed_percent)
    spread = f"{percent(day.spread)}, n = {day.nights}" if day else "not known"
    return [*cells, signed_percent(ratio), ends, spread, unit.label, reading]
