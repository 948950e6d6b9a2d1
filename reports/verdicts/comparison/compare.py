# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign: the ratio of each value, and what differs in provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import log
from pathlib import Path
from typing import Annotated, Any, Literal

from records.errors import AssayError
from records.forms import Part, key
from records.run.provenance import EnvironmentAsRun, Provenance, SpackPackage
from reports.analysis.run import Analysis, Row, analyse
from reports.load.launches import AtKey
from reports.load.loading import load_run
from reports.notation.units import percent, ratios_between, readable_unit, signed_percent
from reports.notation.values import with_spread
from reports.show.provenance import provenance_rows
from reports.show.rows import in_reading_order, name_cell, row_label
from reports.show.tables import Cell
from reports.statistics.descriptive import Interval, log_ratio_interval
from reports.verdicts.comparison.days import Cell as SeriesCell
from reports.verdicts.comparison.days import DaySpread, cell_of, read_days, two_days_interval

#: Metrics that only restate another one launch by launch; summary.csv has them.
_DERIVED = ("_best", "_mean", "_worst")
ABSENT = "not in this build"
_EXPECTED_TO_DIFFER = {"run_id", "started_at", "order_seed"}

#: beyond launches: apart by more than launches scatter, and how far days differ is not known.
Reading = Literal["better", "worse", "beyond launches", "not resolved", "no interval"]
#: What a reading says in a table, and in which tone.
_READINGS: dict[Reading, Cell] = {
    "better": Cell("better", title="this value by itself, at 95 %", tone="good"),
    "worse": Cell("worse", title="this value by itself, at 95 %", tone="bad"),
    "beyond launches": Cell("beyond the launches' spread; two days cannot tell", tone="open"),
    "not resolved": Cell("not resolved"),
    "no interval": Cell("no interval below n = 2"),
}


class DifferencePart(Part):
    """Difference in provenance, or between builds."""

    environment: Annotated[str, key("The environment; empty: of the run.", "environment")]
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


@dataclass(frozen=True)
class RunComparison:
    """Run B against run A: what differs in provenance and between the builds, and each check.

    `by_check` has the values of each check in reading order, `days` how far days differ.
    """

    first: Analysis
    second: Analysis
    provenance: list[DifferencePart]
    builds: list[DifferencePart]
    by_check: dict[str, list[MetricChange]]
    days: Mapping[SeriesCell, DaySpread]

    @property
    def changes(self) -> list[MetricChange]:
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
        DifferencePart("", name, *(known.get(name, "not recorded") for known in facts))
        for name in sorted({*facts[0], *facts[1]})
        if not belongs_to_builds(name)
        and name.partition(".")[2] not in _EXPECTED_TO_DIFFER
        and facts[0].get(name) != facts[1].get(name)
    ]
    builds = build_differences(a.provenance, b.provenance)
    by_check = {check: _changes((first, second), days, check) for check in first.checks}
    return RunComparison(first, second, provenance, builds, by_check, days)


def cases_of(analysis: Analysis) -> set[str]:
    """The ids of a run's cases."""
    return {case.id for case in analysis.run.plan.cases}


def _changes(
    both: tuple[Analysis, Analysis], days: Mapping[SeriesCell, DaySpread], check: str
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
    days: Mapping[SeriesCell, DaySpread],
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


def build_differences(a: Provenance, b: Provenance) -> list[DifferencePart]:
    """Differences between the builds of the environments that both runs have.

    A package that both built is compared fact by fact; one that only one run has, in a line.
    """
    return [
        DifferencePart(name, what, first, second)
        for name in sorted(a.environments.keys() & b.environments.keys())
        for what, first, second in _of_environment(a.environments[name], b.environments[name])
    ]


def _of_environment(a: EnvironmentAsRun, b: EnvironmentAsRun) -> Iterator[tuple[str, str, str]]:
    if a.source != b.source:
        yield "built by", _shown(a.source), _shown(b.source)
    if a.spack and b.spack and a.spack.sources != b.spack.sources:
        yield "our C sources", _shown(a.spack.sources), _shown(b.spack.sources)
    packages_a, packages_b = _packages(a), _packages(b)
    for name in sorted(packages_a.keys() | packages_b.keys()):
        package_a, package_b = packages_a.get(name), packages_b.get(name)
        if package_a is None or package_b is None:
            yield name, _in_a_line(package_a), _in_a_line(package_b)
            continue
        for fact in SpackPackage.__struct_fields__:
            of_a, of_b = getattr(package_a, fact), getattr(package_b, fact)
            if of_a != of_b:
                yield f"{name}: {fact}", _shown(of_a), _shown(of_b)


def _packages(environment: EnvironmentAsRun) -> dict[str, SpackPackage]:
    """Packages of the distribution, of which only the version is known, and those of Spack."""
    found = {name: SpackPackage(version=v) for name, v in environment.packages.items()}
    return found | (environment.spack.packages if environment.spack else {})


def _shown(value: str | None) -> str:
    return value or "–"


def _in_a_line(package: SpackPackage | None) -> str:
    if package is None:
        return ABSENT
    parts = [
        _shown(package.version),
        package.variants,
        f"%{package.compiler}" if package.compiler else None,
        package.target,
        f"/{package.hash[:7]}" if package.hash else None,
        f"from {package.external}" if package.external else None,
    ]
    return " ".join(part for part in parts if part)


def belongs_to_builds(key: str) -> bool:
    """True if a dotted provenance key is covered by build_differences."""
    words = key.split(".")
    return words[0] == "environments" and bool({"packages", "spack", "source"} & set(words[2:3]))
