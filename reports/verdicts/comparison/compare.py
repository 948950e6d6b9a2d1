# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign: the ratio of each value, and what differs in provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from math import log
from pathlib import Path
from typing import Any, Literal

from records.errors import AssayError
from records.metric import MetricDefinition
from records.run.plan import PlannedCase
from reports.analysis import Analysis, Row, analyse
from reports.load.launches import AtKey
from reports.load.loading import load_run
from reports.show.provenance import provenance_rows
from reports.show.rows import in_reading_order, row_label
from reports.statistics.descriptive import Interval, log_ratio_interval
from reports.verdicts.comparison.builds import Difference, belongs_to_builds, build_differences
from reports.verdicts.comparison.days import Cell as SeriesCell
from reports.verdicts.comparison.days import DaySpread, cell_of, read_days, two_days_interval

#: Metrics that only restate another one launch by launch; summary.csv has them.
_DERIVED = ("_best", "_mean", "_worst")
_EXPECTED_TO_DIFFER = {"run_id", "started_at", "order_seed"}

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
    """Run B against run A: what differs in provenance and between the builds, and each check.

    `by_check` has the values of each check in reading order, `days` how far days differ.
    """

    first: Analysis
    second: Analysis
    provenance: list[Difference]
    builds: list[Difference]
    by_check: dict[str, list[Change]]
    days: Mapping[SeriesCell, DaySpread]

    @property
    def changes(self) -> list[Change]:
        """All values of both: what is better or worse first, each by size."""
        return sorted(chain(*self.by_check.values()), key=lambda change: change.rank)


def compare(run_a: Path, run_b: Path, history: Path | None = None) -> RunComparison:
    """Set run B against run A, by case id.

    Blocks of different runs are not pairs, so the ratio B/A of geometric means has a Welch interval
    (log_ratio_interval). Two runs are two days: `history` tells how far days differ (days.py);
    without it no cell is called better or worse. Raises AssayError as load_run does, and when the
    runs share no case.
    """
    first, second = analyse(load_run(Path(run_a))), analyse(load_run(Path(run_b)))
    a, b = first.run, second.run
    if not cases_of(first) & cases_of(second):
        raise AssayError(
            f"{run_a} and {run_b} have no case in common (campaigns {a.plan.campaign!r} and"
            f" {b.plan.campaign!r}); compare two runs of one campaign."
        )
    days = read_days(history, a.plan.site, a.plan.campaign, {a.run_id, b.run_id})
    facts = [
        {f"{section}.{key}": text for section, pairs in rows for key, text in pairs}
        for rows in (provenance_rows(run.provenance) for run in (a, b))
    ]
    provenance = [
        Difference("", key, *(one.get(key, "not recorded") for one in facts))
        for key in sorted({*facts[0], *facts[1]})
        if not belongs_to_builds(key)
        and key.partition(".")[2] not in _EXPECTED_TO_DIFFER
        and facts[0].get(key) != facts[1].get(key)
    ]
    builds = build_differences(a.provenance, b.provenance)
    by_check = {check: _changes((first, second), days, check) for check in first.checks}
    return RunComparison(first, second, provenance, builds, by_check, days)


def cases_of(analysis: Analysis) -> set[str]:
    """The ids of a run's cases."""
    return {case.id for case in analysis.run.plan.cases}


def _changes(
    both: tuple[Analysis, Analysis], days: Mapping[SeriesCell, DaySpread], check: str
) -> list[Change]:
    """Every value of a check that a case of both runs has, in reading order."""
    known = cases_of(both[0]) & cases_of(both[1])
    pairs: dict[tuple[str, str, AtKey], list[Row | None]] = {}
    for place, analysis in enumerate(both):
        for row in in_reading_order(analysis, analysis.rows_of(check)):
            key = analysis.case(row).id, row.series.metric, row.series.at
            if key[0] in known and not row.series.metric.endswith(_DERIVED):
                pairs.setdefault(key, [None, None])[place] = row
    return [_change(both, days, *pair) for pair in pairs.values()]


def _change(
    both: tuple[Analysis, Analysis],
    days: Mapping[SeriesCell, DaySpread],
    a: Row | None,
    b: Row | None,
) -> Change:
    row, analysis = (a, both[0]) if a is not None else (b, both[1])
    assert row is not None
    case, metric = analysis.case(row), analysis.register.metrics[row.series.metric]
    day = days.get(cell_of(case.id, metric.name, dict(row.series.at)))
    result = None
    if a is not None and b is not None:
        result = log_ratio_interval(a.series.values.tolist(), b.series.values.tolist())
    ratio, interval = result or (None, None)
    reading: Reading = "not resolved" if interval else "no interval"
    if ratio and interval and day:
        interval = two_days_interval(ratio, interval, day)
    if interval and not interval.low <= 1 <= interval.high:
        gained = (interval.low > 1) == (metric.better == "higher")
        reading = "beyond launches" if day is None else "better" if gained else "worse"
    label = row_label(analysis, row)
    return Change(analysis, label, case, metric, a, b, ratio, interval, day, reading)
