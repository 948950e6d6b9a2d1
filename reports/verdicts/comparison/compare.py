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
from reports.show.listings import provenance_rows
from reports.show.rows import in_reading_order, row_label
from reports.statistics.descriptive import Interval, log_ratio_interval
from reports.verdicts.comparison.builds import Difference, belongs_to_builds, build_differences
from reports.verdicts.comparison.days import Cell as SeriesCell
from reports.verdicts.comparison.days import DaySpread, cell_of, read_days, two_days_interval

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
    shared = cases_of(first) & cases_of(second)
    if not shared:
        raise AssayError(
            f"{run_a} and {run_b} have no case in common (campaigns"
            f" {first.run.plan.campaign!r} and {second.run.plan.campaign!r}); compare two runs of"
            " one campaign."
        )
    a, b = first.run, second.run
    days = read_days(history, a.plan.site, a.plan.campaign, {a.run_id, b.run_id})
    return RunComparison(
        first,
        second,
        _provenance(first, second),
        build_differences(a.provenance, b.provenance),
        {check: _changes(first, second, days, check) for check in first.checks},
        days,
    )


def cases_of(analysis: Analysis) -> set[str]:
    """The ids of a run's cases."""
    return {case.id for case in analysis.run.plan.cases}


def _provenance(first: Analysis, second: Analysis) -> list[Difference]:
    """What differs in provenance, but for the builds."""
    a, b = _flat(first), _flat(second)
    return [
        Difference("", key, a.get(key, "not recorded"), b.get(key, "not recorded"))
        for key in sorted({*a, *b})
        if not belongs_to_builds(key) and a.get(key) != b.get(key)
    ]


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
    known = cases_of(first) & cases_of(second)
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
