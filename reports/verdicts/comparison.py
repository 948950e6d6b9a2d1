# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign: the ratio of each value, and what differs in provenance.

Launches of one day share its conditions, so their spread says nothing about days: with days that
differ by 1 % and nothing changed, two thirds of all cells would read "better" or "worse". So the
history of the campaign tells how far days differ.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, groupby, product
from math import exp, log, sqrt
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from records.errors import AssayError
from records.flags import DISTURBED
from records.forms import Form, Part, key
from records.history.model import History
from records.history.reading import read_history
from records.history.store import Store
from reports.analysis.failures import Point, combine
from reports.analysis.run import Analysis, Row, analyse
from reports.load import nights
from reports.load.loading import load_run
from reports.notation import units
from reports.notation.units import count_text, signed_percent
from reports.result import EVERYWHERE, Block, Facts, Result, Section, Sentence, carried
from reports.show.rows import in_reading_order, name_cell, provenance_rows, row_label
from reports.show.tables import Cell, table_of
from reports.statistics.descriptive import LEAST_N, LEVEL, Interval, log_ratio_interval
from reports.statistics.levels import residuals

#: Metrics that only restate another one launch by launch; summary.csv has them.
_DERIVED = ("_best", "_mean", "_worst")
_EXPECTED_TO_DIFFER = {"run_id", "started_at", "order_seed"}
#: Fewer nights tell nothing about days.
LEAST_NIGHTS = 5
#: Rows of a check's table, of the greatest changes, and of differences in provenance.
MOST_ROWS, MOST_CHANGED, MOST_DIFFERENT = 2000, 30, 60
_METHOD = (
    "B against A: ratio of geometric means with its interval at 95 %: of two nights where a history"
    " tells how far days differ, of the launches alone (Welch) where none does. Blocks of two runs"
    " are no pairs, and each cell is read by itself: among many, some fall outside by chance. The"
    " mean of rates is their arithmetic mean, not total work over total time."
)

_COSTS = (
    "Time of B over that of A, for a rate the inverse; geometric mean over the points of a check's"
    " deciding metrics. The workload has the campaign's weights, all checks alike where it declares"
    " none. Intervals at 95 % are of the launches alone: two days may differ by more."
)
#: Provenance that a release of the operating system or another cluster changes, as it is told.
_MEMBERS = {
    **{"site.name": "site", "site.network.name": "network", "site.image": "image"},
    **{"site.image_digest": "digest of the image"},
    **{"slurm.version": "Slurm", "site.glibc": "glibc"},
    "environments.(.+).compiler_version": "compiler of",
    "environments.(.+).library": "library of",
}

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
    a: Annotated[str, key("In run A.", "before (A)")]
    b: Annotated[str, key("In run B.", "after (B)")]


class SidePart(Part):
    """Values of one run in a comparison."""

    n: Annotated[int, key("Launches.")]
    mean: Annotated[float | None, key("Their mean, in SI base units.")]
    stddev: Annotated[float | None, key("Their standard deviation.")]
    unit: Annotated[str, key("The SI unit.")]


def _side_cell(side: SidePart) -> Cell:
    if side.mean is None:
        return Cell("–", title="no valid launch")
    unit = units.readable_unit(side.unit, [side.mean])
    return Cell(f"{units.with_spread(side.mean, side.stddev, unit)} {unit.label} (n = {side.n})")


_figure = partial(key, numeric=True)


def _interval_text(interval: Interval) -> str:
    return units.ratios_between(interval.low, interval.high)


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
        float | None, _figure("B over A; null below n = 2.", "B against A", signed_percent)
    ]
    interval: Annotated[
        Interval | None,
        _figure("By nights if known, else Welch.", "95 % interval", _interval_text),
    ]
    day_spread: Annotated[
        float | None, _figure("Spread of days; null: not known.", "days vary", units.percent)
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


class CostPart(Part):
    """Cost of run B over that of A in one environment."""

    environment: Annotated[str, key("The environment.", "environment", name_cell)]
    what: Annotated[str, key("The workload, or a check in words.", "cost of")]
    ratio: Annotated[float | None, _figure("Time of B over A.", "time in B", signed_percent)]
    interval: Annotated[Interval | None, _figure("Of launches.", "95 % interval", _interval_text)]
    reading: Annotated[Reading, key("Reading of it.", "reading", _READINGS.__getitem__)]


class ComparisonForm(Form, kw_only=True):
    """`assay compare`: run B against run A."""

    schema: Annotated[int, key("The version of this form.")] = 2
    a: Annotated[str, key("The id of run A.")]
    b: Annotated[str, key("The id of run B.")]
    facts: Annotated[list[str], key("Facts of the runs, in sentences.")]
    changed: Annotated[list[DifferencePart], key("Software, image and network that changed.")]
    costs: Annotated[list[CostPart], key("Costs by environment: the workload, then each check.")]
    provenance: Annotated[list[DifferencePart], key("Differences in provenance.")]
    changes: Annotated[
        list[MetricChange],
        key("Every value: better or worse, then beyond launches, then the rest, each by size."),
    ]


class DaySpread(NamedTuple):
    """The standard deviation of a series' nights, of logarithms, from `nights` nights."""

    spread: float
    nights: int


Days = Mapping[SeriesKey, DaySpread]


@dataclass(frozen=True)
class RunComparison:
    """Run B against run A: what differs in provenance, and each check.

    `by_check` has the values of each check in reading order, `days` how far days differ.
    """

    first: Analysis
    second: Analysis
    provenance: list[DifferencePart]
    by_check: dict[str, list[MetricChange]]
    costs: list[CostPart]
    days: Days

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
    both = analyse(load_run(Path(run_a))), analyse(load_run(Path(run_b)))
    a, b = (analysis.run for analysis in both)
    if not _cases_of(both[0]) & _cases_of(both[1]):
        raise AssayError(
            f"{run_a} and {run_b} have no case in common (campaigns {a.plan.campaign!r} and"
            f" {b.plan.campaign!r}); compare two runs of one campaign."
        )
    days = _read_days(history, a.plan.site, a.plan.campaign, {a.run_id, b.run_id})
    facts = [
        {f"{section}.{name}": text for section, pairs in rows for name, text in pairs}
        for rows in (provenance_rows(run.provenance) for run in (a, b))
    ]
    provenance = [
        DifferencePart(name, *(known.get(name, "not recorded") for known in facts))
        for name in sorted({*facts[0], *facts[1]})
        if name.partition(".")[2] not in _EXPECTED_TO_DIFFER
        and facts[0].get(name) != facts[1].get(name)
    ]
    pairs = {check: _pairs(both, check) for check in both[0].checks}
    by_check = {name: [_change(both, days, *pair) for pair in of] for name, of in pairs.items()}
    costs = _costs(both, chain(*pairs.values()))
    return RunComparison(*both, provenance, by_check, costs, days)


def _cases_of(analysis: Analysis) -> set[str]:
    return {case.id for case in analysis.run.plan.cases}


def _pairs(both: Sequence[Analysis], check: str) -> list[list[Row | None]]:
    """The rows of A and B of every value of a check that a case of both has, in reading order."""
    known = _cases_of(both[0]) & _cases_of(both[1])
    pairs: dict[object, list[Row | None]] = {}
    for side, analysis in enumerate(both):
        for row in in_reading_order(analysis, analysis.rows_of(check)):
            case = analysis.case(row).id
            if case in known and not row.series.metric.endswith(_DERIVED):
                pair = pairs.setdefault((case, row.series.metric, row.series.at), [None, None])
                pair[side] = row
    return [*pairs.values()]


def _costs(both: Sequence[Analysis], pairs: Iterable[Sequence[Row | None]]) -> list[CostPart]:
    """Costs of B over A by environment: of the workload, then of each check.

    Times are relative to A's in the first environment, which the weights are of. A point of which
    one run alone has LEAST_N launches is left out.
    """
    first, register, costs, levels = both[0], both[0].register, list[CostPart](), dict[Any, Any]()
    weights = {check: one for check, one in first.run.plan.weighed.items() if one > 0}
    points: dict[str, dict[str, list[list[Point]]]] = {}
    for a, b in pairs:
        if a is None or b is None or min(*a.series.values, *b.series.values) <= 0:
            continue
        case, metric = first.case(a), a.series.metric
        few = {row.summary.n < LEAST_N for row in (a, b)}
        if register.decides(case.check, metric) and len(few) == 1:
            sign = 1.0 if register.metrics[metric].better == "lower" else -1.0
            point = first.run.first_alike[a.series.case], metric, a.series.at
            level = levels.setdefault(point, np.log(a.series.values).mean())
            sides = points.setdefault(case.environment, {}).setdefault(case.check, [[], []])
            for side, row in zip(sides, (a, b), strict=True):
                side.append((row.series.blocks, sign * (np.log(row.series.values) - level)))
    for name, found in points.items():
        logs = {check: [combine(side)[0] for side in sides] for check, sides in found.items()}
        if len(weights) > 1 and weights.keys() <= logs.keys():
            weighed = [{check: logs[check][side] for check in weights} for side in (0, 1)]
            logs = {"": [_workload(side, weights) for side in weighed], **logs}
        for check, ((_, of_a), (_, of_b)) in logs.items():
            known = log_ratio_interval(np.exp(of_a).tolist(), np.exp(of_b).tolist())
            ratio, interval = known or (None, None)
            reading: Reading = "not resolved" if interval else "no interval"
            if interval and not interval.low <= 1 <= interval.high:
                reading = "beyond launches"
            what = register.check_title(check) if check else "the workload"
            costs.append(CostPart(name, what, ratio, interval, reading))
    return costs


def _workload(points: Mapping[str, Point], weights: Mapping[str, float]) -> Point:
    """ln of a workload's cost in each block that has all of its checks."""
    common = reduce(np.intersect1d, (blocks for blocks, _ in points.values()))
    parts = {name: np.exp(values[np.isin(at, common)]) for name, (at, values) in points.items()}
    return common, np.log(sum(weights[name] * part for name, part in parts.items()))


def _changed(different: Sequence[DifferencePart]) -> list[DifferencePart]:
    """Of the differences those of `_MEMBERS`, with what several environments share once; nothing
    of what one of the runs did not record."""
    whose: dict[tuple[str, str, str], list[str]] = {}
    for (member, label), one in product(_MEMBERS.items(), different):
        own = re.fullmatch(member, one.what)
        kept = 12 if member == "site.image_digest" else None
        # Of a library its name and version.
        a, b = (re.split("[;,]", text)[0][:kept] for text in (one.a, one.b))
        if own and a != b and not {"none", "not recorded"} & {a, b}:
            whose.setdefault((label, a, b), []).extend(own.groups())
    return [
        DifferencePart(f"{label} {', '.join(names)}".strip(), a, b)
        for (label, a, b), names in whose.items()
    ]


def _change(both: Sequence[Analysis], days: Days, a: Row | None, b: Row | None) -> MetricChange:
    row, analysis = (a, both[0]) if a is not None else (b, both[1])
    assert row is not None
    case, metric, at = analysis.case(row), row.series.metric, dict(row.series.at)
    definition, title = analysis.register.metrics[metric], analysis.register.metric_title(metric)
    day, label = days.get(_series_key(case.id, metric, at)), row_label(analysis, row)
    result = None
    if a is not None and b is not None:
        result = log_ratio_interval(a.series.values.tolist(), b.series.values.tolist())
    ratio, interval = result or (None, None)
    reading: Reading = "not resolved" if interval else "no interval"
    if ratio and interval and day:
        interval = two_days_interval(ratio, interval, day)
    if interval and not interval.low <= 1 <= interval.high:
        gained = (interval.low > 1) == (definition.better == "higher")
        reading = "beyond launches" if day is None else "better" if gained else "worse"
    return MetricChange(
        name=f"{case.check} {case.environment}, {label}: {title}",
        check=case.check,
        case_id=case.id,
        case=label,
        environment=case.environment,
        metric=metric,
        title=title,
        unit=definition.unit,
        better=definition.better,
        at=at,
        a=_side(a, definition.unit),
        b=_side(b, definition.unit),
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


def _series_key(case_id: str, metric: str, at: Mapping[str, Any]) -> SeriesKey:
    return case_id, metric, tuple(sorted(at.items()))


def _read_days(path: Path | None, site: str, campaign: str, runs: Collection[str]) -> Days:
    """The spreads of a campaign's days on a site; empty without a history of it."""
    if path is None or not path.is_file():
        return {}
    with Store(path) as store:
        known = (site, campaign) in [group[:2] for group in store.groups()]
        return day_spreads(read_history(store, site, campaign), runs) if known else {}


def day_spreads(history: History, runs: Collection[str]) -> dict[SeriesKey, DaySpread]:
    """For each series how far its nights lie from their level; `runs` are left out.

    Nights of one level are compared: a new context, an accepted change and an improvement begin a
    new one; nights inside a regression are left out. The root mean square of a night's deviation
    holds the noise of its launches too.
    """
    every = nights.nights_of(history)
    chosen = np.isfinite(every.values) & (every.values > 0)
    chosen &= ~nights.bad_nights(history, history.changes)
    chosen[:, [night.run_id in runs for night in history.nights]] = False
    away = residuals(every.values, chosen, nights.level_numbers(every, history.changes))
    found = {}
    for series, row in zip(history.series, away, strict=True):
        known = row[np.isfinite(row)]
        if len(known) >= LEAST_NIGHTS:
            spread = DaySpread(float(np.sqrt(np.mean(known**2))), len(known))
            found[_series_key(series.case_id, series.metric, series.at)] = spread
    return found


def two_days_interval(ratio: float, launches: Interval, days: DaySpread) -> Interval:
    """The interval of a ratio of two runs as of two nights: exp(ln ratio ± t(m − 1)·s·√2).

    s is the spread of m nights. Never narrower than `launches`, the interval of the launches alone.
    """
    half = float(special.stdtrit(days.nights - 1, 0.5 + LEVEL / 2)) * days.spread * sqrt(2)
    low, high = ratio * exp(-half), ratio * exp(half)
    return Interval(min(low, launches.low), max(high, launches.high), LEVEL, "t of nights")


def comparison_result(found: RunComparison) -> Result[ComparisonForm]:
    """A comparison as a result."""
    a, b = found.first.run, found.second.run
    facts, title = _facts(found), found.first.register.check_title
    changed = _changed(found.provenance)
    table = table_of(changed, anchor="table-changed", title="What changed")
    costs = table_of(found.costs, anchor="table-costs", title="What it costs")
    checks = [
        Section(f"compare-{check}", title(check), partial(_check, changes, title(check)))
        for check, changes in found.by_check.items()
        if changes
    ]
    differ = table_of(
        found.provenance,
        anchor="differences",
        title="What differs in provenance",
        most=MOST_DIFFERENT,
    )
    alike = Sentence("Provenance: no difference.")
    return Result(
        kicker="Assay · two runs of one campaign",
        title=f"{b.run_id} against {a.run_id}",
        data=ComparisonForm.filled(found, a=a.run_id, b=b.run_id, facts=facts, changed=changed),
        facts=Facts([(text.partition(": ")[0], text.partition(": ")[2]) for text in facts]),
        warnings=_disturbed(found),
        sentences=[*_sentences(found)],
        sections=[
            Section("changed", "What changed", lambda: [table], shown_on=EVERYWHERE),
            Section("costs", "What it costs", lambda: [costs], note=_COSTS, shown_on=EVERYWHERE),
            Section(
                "results", "Results", lambda: _greatest(found), note=_METHOD, shown_on=EVERYWHERE
            ),
            *checks,
            Section("provenance", "Provenance", lambda: [differ or alike], shown_on=EVERYWHERE),
        ],
        looks={**found.first.looks, **found.second.looks},
        devices=_devices(found),
        closing="Made by Assay from the records of both runs.",
    )


def _disturbed(found: RunComparison) -> list[str]:
    """Warnings of launches that other programs disturbed."""
    return [
        f"{side}: other programs disturbed {units.count_text(count, 'launch')}; a cost may be"
        " theirs and not the change's: run both again on idle nodes"
        for side, one in (("A", found.first), ("B", found.second))
        if (count := one.flagged(DISTURBED))
    ]


def _sentences(found: RunComparison) -> Iterator[Sentence]:
    """Cost of B in each environment: of the workload, and of the checks that are resolved."""
    for name, costs in groupby(found.costs, lambda cost: cost.environment):
        parts = []
        for cost in costs:
            if cost.ratio and cost.interval and cost.reading == "beyond launches":
                interval = _interval_text(cost.interval)
                parts.append(f"{cost.what} {signed_percent(cost.ratio)} ({interval})")
        told = "; ".join(parts) or "no cost is resolved"
        yield Sentence(f"{name}, time in B: {told}", "#costs", environment=name)


def _facts(found: RunComparison) -> list[str]:
    """Facts of the runs: what they are, what they have in common, and what is known of days."""
    sides = {"A": found.first, "B": found.second}
    a, b = map(_cases_of, sides.values())
    facts = [
        f"{side}: {one.run.run_id}, campaign {one.run.plan.campaign}, {one.launches_text}"
        for side, one in sides.items()
    ]
    shared = f"{count_text(len(a & b), 'case')} in both"
    alone = [f"{len(own)} only in {side}" for side, own in (("A", a - b), ("B", b - a)) if own]
    facts.append(f"cases: {', '.join([shared, *alone])}")
    days = (
        "not known, so two days cannot tell a change from the day; a history of this campaign can"
        " (assay nightly add RUN)"
    )
    if found.days:
        span = units.counts_text((day.nights for day in found.days.values()), "night")
        days = f"from the history, {count_text(len(found.days), 'series')} of {span}"
    facts.append(f"spread of days: {days}")
    facts += [f"{name}: {text}" for name, text in carried(_devices(found))]
    return facts + [f"{side}: {text}" for side, one in sides.items() for text in one.run.warnings]


def _devices(found: RunComparison) -> dict[str, str]:
    """Carrier of each environment's messages; of both runs where it is not the same."""
    a, b = found.first.run.provenance.devices, found.second.run.provenance.devices
    return {
        name: a[name] if a.get(name) == b.get(name) else f"{a.get(name, '?')} → {b.get(name, '?')}"
        for name in dict.fromkeys([*a, *b])
    }


def _check(changes: Sequence[MetricChange], title: str) -> list[Block | None]:
    columns = "case", "environment", "title", "a", "b", "ratio", "interval", "day_spread", "nights"
    anchor = f"table-{changes[0].check}"
    return [table_of(changes, *columns, "reading", anchor=anchor, title=title, most=MOST_ROWS)]


def _greatest(found: RunComparison) -> list[Block | None]:
    """Values with the greatest changes, each by itself at 95 %, better and worse ones first."""
    counts = Counter(change.reading for change in found.changes)
    title = ", ".join(f"{count} {reading}" for reading, count in counts.items())
    columns = "ratio", "interval", "reading", "name"
    return [table_of(found.changes, *columns, anchor="greatest", title=title, most=MOST_CHANGED)]
