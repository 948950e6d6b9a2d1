# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign: the ratio of each value, and what differs in provenance.

Launches of one day share its conditions, so their spread says nothing about days: with days that
differ by 1 % and nothing changed, two thirds of all cells would read "better" or "worse". So the
history of the campaign tells how far days differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from math import log
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from records.errors import AssayError
from records.forms import Part, key
from records.history.model import History
from records.history.reading import read_history
from records.history.store import Store
from reports.analysis.run import Analysis, Row, analyse
from reports.load.launches import AtKey
from reports.load.loading import load_run
from reports.load.nights import bad_nights, level_numbers, nights_of
from reports.notation.units import (
    percent,
    ratios_between,
    readable_unit,
    signed_percent,
    with_spread,
)
from reports.show.rows import in_reading_order, name_cell, provenance_rows, row_label
from reports.show.tables import Cell
from reports.statistics.descriptive import LEVEL, Interval, log_ratio_interval
from reports.statistics.levels import residuals

#: Metrics that only restate another one launch by launch; summary.csv has them.
_DERIVED = ("_best", "_mean", "_worst")
_EXPECTED_TO_DIFFER = {"run_id", "started_at", "order_seed"}

#: Fewer nights tell nothing about days.
LEAST_NIGHTS = 5

#: Case id, metric and point of a series.
SeriesKey = tuple[str, str, tuple[tuple[str, Any], ...]]

#: beyond launches: apart by more than launches scatter, and how far days differ is not known.
Reading = Literal["better", "worse", "beyond launches", "not resolved", "no interval"]
#: What a reading says in a table, and in which tone.
_READINGS: dict[Reading, Cell] = {
    "better": Cell("better", title="this value by itself, at 95 %", tone="good"),
    "worse": Cell("worse", title="this value by itself, at 95 %", tone="bad"),
    "beyond launches": Cell("beyond launches", title="two days cannot tell", tone="open"),
    "not resolved": Cell("not resolved"),
    "no interval": Cell("no interval below n = 2"),
}


class DifferencePart(Part):
    """Difference in provenance."""

    what: Annotated[str, key("Name of what differs.", "what")]
    a: Annotated[str, key("In run A.", "A")]
    b: Annotated[str, key("In run B.", "B")]


class SidePart(Part):
    """Values of one run in a comparison."""

    n: Annotated[int, key("Launches.")]
    mean: Annotated[float | None, key("Their mean, in SI base units.")]
    stddev: Annotated[float | None, key("Their standard deviation.")]
    unit: Annotated[str, key("The SI unit.")]


def _side_cell(side: SidePart) -> Cell:
    if side.mean is None:
        return Cell("–", title="no valid launch")
    unit = readable_unit(side.unit, [side.mean])
    return Cell(f"{with_spread(side.mean, side.stddev, unit)} {unit.label} (n = {side.n})")


def _interval_text(interval: Interval) -> str:
    return ratios_between(interval.low, interval.high)


class MetricChange(Part, kw_only=True):
    """Value in runs A and B."""

    name: Annotated[str, key("Check, environment, case and metric in words.", "value")]
    check: Annotated[str, key("The check.")]
    case_id: Annotated[str, key("The case.")]
    case: Annotated[str, key("Case and point in words.", "case")]
    environment: Annotated[str, key("The environment.", "environment", name_cell)]
    metric: Annotated[str, key("The metric.")]
    title: Annotated[str, key("The metric in words.", "metric")]
    unit: Annotated[str, key("Its SI unit.")]
    better: Annotated[Literal["higher", "lower"], key("Direction that is better.")]
    at: Annotated[dict[str, Any], key("The point.")]
    a: Annotated[SidePart, key("Run A.", "A: mean ± s", _side_cell, numeric=True)]
    b: Annotated[SidePart, key("Run B.", "B: mean ± s", _side_cell, numeric=True)]
    ratio: Annotated[
        float | None,
        key(
            "B over A, geometric means; null below two launches each.",
            "B against A",
            signed_percent,
            numeric=True,
        ),
    ]
    interval: Annotated[
        Interval | None,
        key(
            "Of two nights where their spread is known, else Welch.",
            "95 % interval",
            _interval_text,
            numeric=True,
        ),
    ]
    day_spread: Annotated[
        float | None,
        key("Spread of days, of logarithms; null: not known.", "days vary", percent, numeric=True),
    ]
    nights: Annotated[int, key("Nights behind it.", "nights", numeric=True)]
    reading: Annotated[
        Reading, key("Reading of B, by this value alone.", "reading", _READINGS.__getitem__)
    ]

    @property
    def rank(self) -> tuple[int, float]:
        """Sort key: better or worse first, then what is beyond the launches; each by size."""
        size = abs(log(self.ratio)) if self.ratio else -1.0
        return {"better": 0, "worse": 0, "beyond launches": 1}.get(self.reading, 2), -size


@dataclass(frozen=True, slots=True)
class DaySpread:
    """The standard deviation of a series' nights, of logarithms, from `nights` nights."""

    spread: float
    nights: int


@dataclass(frozen=True)
class RunComparison:
    """Run B against run A: what differs in provenance, and each check.

    `by_check` has the values of each check in reading order, `days` how far days differ.
    """

    first: Analysis
    second: Analysis
    provenance: list[DifferencePart]
    by_check: dict[str, list[MetricChange]]
    days: Mapping[SeriesKey, DaySpread]

    @property
    def changes(self) -> list[MetricChange]:
        """All values of both: what is better or worse first, each by size."""
        return sorted(chain(*self.by_check.values()), key=lambda change: change.rank)


def compare(run_a: Path, run_b: Path, history: Path | None = None) -> RunComparison:
    """Set run B against run A, by case id.

    Blocks of different runs are not pairs, so the ratio B/A of geometric means has a Welch interval
    (log_ratio_interval). Two runs are two days: `history` tells how far days differ;
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
        DifferencePart(name, *(known.get(name, "not recorded") for known in facts))
        for name in sorted({*facts[0], *facts[1]})
        if name.partition(".")[2] not in _EXPECTED_TO_DIFFER
        and facts[0].get(name) != facts[1].get(name)
    ]
    by_check = {check: _changes((first, second), days, check) for check in first.checks}
    return RunComparison(first, second, provenance, by_check, days)


def cases_of(analysis: Analysis) -> set[str]:
    """The ids of a run's cases."""
    return {case.id for case in analysis.run.plan.cases}


def _changes(
    both: tuple[Analysis, Analysis], days: Mapping[SeriesKey, DaySpread], check: str
) -> list[MetricChange]:
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
    days: Mapping[SeriesKey, DaySpread],
    a: Row | None,
    b: Row | None,
) -> MetricChange:
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
    label, title = row_label(analysis, row), analysis.register.metric_title(metric.name)
    return MetricChange(
        name=f"{case.check} {case.environment}, {label}: {title}",
        check=case.check,
        case_id=case.id,
        case=label,
        environment=case.environment,
        metric=metric.name,
        title=title,
        unit=metric.unit,
        better=metric.better,
        at=dict(row.series.at),
        a=_side(a, metric.unit),
        b=_side(b, metric.unit),
        ratio=ratio,
        interval=interval,
        day_spread=day.spread if day else None,
        nights=day.nights if day else 0,
        reading=reading,
    )


def _side(row: Row | None, unit: str) -> SidePart:
    if row is None:
        return SidePart(0, None, None, unit)
    return SidePart(row.summary.n, row.summary.mean, row.summary.stddev, unit)


def cell_of(case_id: str, metric: str, at: Mapping[str, Any]) -> SeriesKey:
    """The key of a series in `day_spreads`."""
    return case_id, metric, tuple(sorted(at.items()))


def read_days(
    path: Path | None, site: str, campaign: str, runs: Collection[str]
) -> dict[SeriesKey, DaySpread]:
    """The spreads of a campaign's days on a site; empty without a history of it."""
    if path is None or not path.is_file():
        return {}
    with Store(path) as store:
        if (site, campaign) not in [(s, c) for s, c, _ in store.groups()]:
            return {}
        return day_spreads(read_history(store, site, campaign), runs)


def day_spreads(history: History, runs: Collection[str]) -> dict[SeriesKey, DaySpread]:
    """For each series how far its nights lie from their level; `runs` are left out.

    Nights of one level are compared: a new context, an accepted change and an improvement begin a
    new one; nights inside a regression are left out. The root mean square of a night's deviation
    holds the noise of its launches too.
    """
    nights = nights_of(history)
    chosen = np.isfinite(nights.values) & (nights.values > 0)
    chosen &= ~bad_nights(history, history.changes)
    chosen[:, [night.run_id in runs for night in history.nights]] = False
    away = residuals(nights.values, chosen, level_numbers(nights, history.changes))
    found = {}
    for series, row in zip(history.series, away, strict=True):
        known = row[np.isfinite(row)]
        if len(known) >= LEAST_NIGHTS:
            spread = float(np.sqrt(np.mean(known**2)))
            found[cell_of(series.case_id, series.metric, series.at)] = DaySpread(spread, len(known))
    return found


def two_days_interval(ratio: float, launches: Interval, days: DaySpread) -> Interval:
    """The interval of a ratio of two runs as of two nights: exp(ln ratio ± t(m − 1)·s·√2).

    s is the spread of m nights. Never narrower than `launches`, the interval of the launches alone.
    """
    half = float(special.stdtrit(days.nights - 1, 0.5 + LEVEL / 2)) * days.spread * 2**0.5
    low, high = ratio * float(np.exp(-half)), ratio * float(np.exp(half))
    return Interval(min(low, launches.low), max(high, launches.high), LEVEL, "t of nights")
