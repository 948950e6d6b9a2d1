# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign side by side: ratio per case and metric, differences in provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log
from pathlib import Path
from typing import Any, Literal

from records.errors import AssayError
from records.metric import MetricDefinition
from records.plan import PlannedCase
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
from reports.show.tables import Cell, Heading, Table, numeric, pivot
from reports.statistics.descriptive import LEVEL, Interval, log_ratio_interval
from reports.write.markdown import markdown_table, md

MOST_ROWS = 2000
#: Metrics that only restate another one launch by launch; summary.csv has them.
_DERIVED = ("_best", "_mean", "_worst")
_EXPECTED_TO_DIFFER = {"run_id", "started_at", "order_seed"}

_Key = tuple[str, str, AtKey]
#: beyond launches: apart by more than launches scatter, and how far days differ is not known.
Reading = Literal["better", "worse", "beyond launches", "not resolved", "no interval"]


@dataclass(frozen=True)
class Change:
    """One value in runs A and B: `ratio` is B over A, of geometric means, None below two launches
    of each; `day` is what is known of days; `reading` speaks of B, this value alone."""

    analysis: Analysis
    label: str
    case: PlannedCase
    metric: MetricDefinition
    a: Row | None
    b: Row | None
    ratio: float | None
    interval: Interval | None
    day: DaySpread | None
    reading: Reading

    @property
    def name(self) -> str:
        """Check, environment, case and metric in words."""
        of = f"{self.case.check} {self.case.environment}, {self.label}"
        return f"{of}: {self.analysis.register.metric_title(self.metric.name)}"

    @property
    def point(self) -> dict[str, Any]:
        """The point inside the launch."""
        row = self.a or self.b
        assert row is not None
        return dict(row.series.at)

    @property
    def rank(self) -> tuple[int, float]:
        """What is better or worse comes first, then what is beyond the launches; each by size."""
        size = abs(log(self.ratio)) if self.ratio else -1.0
        return {"better": 0, "worse": 0, "beyond launches": 1}.get(self.reading, 2), -size


@dataclass(frozen=True)
class RunComparison:
    """Run B against run A: what they are, and what differs: provenance, builds, each check.

    `changes` are all values of both: what is better or worse first, each by size.
    """

    first: Analysis
    second: Analysis
    facts: list[str]
    differences: Table
    tables: list[Table]
    changes: list[Change]

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
    by_check = {check: _changes(first, second, days, check) for check in first.checks}
    tables = [builds] + [
        _check_table(first.register.check_title(check), check, changes)
        for check, changes in by_check.items()
    ]
    return RunComparison(
        first,
        second,
        [
            f"A: {a.run_id}, campaign {a.plan.campaign}, {_state(first)}",
            f"B: {b.run_id}, campaign {b.plan.campaign}, {_state(second)}",
            f"{count_text(len(shared), 'case')} in both; only in A: {only_a}, only in B: {only_b}",
            _days_fact(days),
            *(f"{side}: {one}" for side, run in (("A", a), ("B", b)) for one in run.warnings),
        ],
        differences,
        [table for table in tables if table is not None],
        sorted(chain(*by_check.values()), key=lambda change: change.rank),
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


def _changes(
    first: Analysis, second: Analysis, days: Mapping[SeriesCell, DaySpread], check: str
) -> list[Change]:
    """Every value of a check that a case of both runs has, in reading order."""
    known = _cases(first) & _cases(second)
    pairs: dict[_Key, list[Row | None]] = {}
    for place, analysis in enumerate((first, second)):
        for row in in_reading_order(analysis, analysis.rows_of(check)):
            key = analysis.case(row).id, row.series.metric, row.series.at
            if key[0] in known and not row.series.metric.endswith(_DERIVED):
                pairs.setdefault(key, [None, None])[place] = row
    return [_change(first, second, days, *pair) for pair in pairs.values()]


def _change(
    first: Analysis,
    second: Analysis,
    days: Mapping[SeriesCell, DaySpread],
    a: Row | None,
    b: Row | None,
) -> Change:
    row, analysis = (a, first) if a is not None else (b, second)
    assert row is not None
    case = analysis.case(row)
    metric = analysis.register.metrics[row.series.metric]
    label = row_label(analysis, row)
    found = [one.series.values.tolist() for one in (a, b) if one is not None]
    result = log_ratio_interval(*found) if len(found) == 2 else None
    day = days.get(cell_of(case.id, row.series.metric, dict(row.series.at)))
    if result is None:
        return Change(analysis, label, case, metric, a, b, None, None, day, "no interval")
    ratio, interval = result
    if day is not None:
        interval = two_days_interval(ratio, interval, day)
    reading: Reading = "not resolved"
    if not interval.low <= 1 <= interval.high:
        gained = (interval.low > 1) == (metric.better == "higher")
        reading = "beyond launches" if day is None else "better" if gained else "worse"
    return Change(analysis, label, case, metric, a, b, ratio, interval, day, reading)


def _check_table(title: str, check: str, changes: Sequence[Change]) -> Table | None:
    means = numeric(
        *("A: n", "A: mean ± s", "B: n", "B: mean ± s", "B against A", "95 % interval"),
        "spread of days",
    )
    headings: list[Heading] = ["case", "environment", "metric", *means, "unit", "reading"]
    return pivot(
        changes[:MOST_ROWS],
        [(headings, _cells)],
        anchor=f"compare-{check}",
        title=title,
        total=len(changes),
        most=MOST_ROWS,
    )


_READINGS: dict[Reading, str] = {
    "beyond launches": "beyond the launches' spread; two days cannot tell",
    "not resolved": "not resolved",
    "no interval": "no interval below n = 2",
}


def _cells(change: Change) -> list[str | Cell]:
    found = [one for one in (change.a, change.b) if one is not None]
    unit = readable_unit(change.metric.unit, [one.summary.mean for one in found])
    name = change.case.environment
    cells: list[str | Cell] = [
        change.label,
        Cell(name, environment=name),
        change.analysis.register.metric_title(change.metric.name),
    ]
    for one in (change.a, change.b):
        cells += ["0" if one is None else str(one.summary.n)]
        cells += [value_cell([one] if one else [], unit)]
    reading = _READINGS.get(change.reading)
    if reading is None:
        reading = f"B {change.reading} at {100 * LEVEL:.0f} %, this cell alone"
    if change.ratio is None or change.interval is None:
        return [*cells, "–", "–", "–", unit.label, reading]
    ends = between(change.interval.low, change.interval.high, signed_percent)
    day = change.day
    spread = f"{percent(day.spread)}, n = {day.nights}" if day else "not known"
    return [*cells, signed_percent(change.ratio), ends, spread, unit.label, reading]
