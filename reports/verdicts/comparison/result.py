# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign as a result: its keys, its wording, its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from records.forms import Form, Part, key
from reports.analysis.run import Analysis
from reports.notation.units import (
    count_text,
    counts_text,
    percent,
    ratios_between,
    readable_unit,
    signed_percent,
    significant,
)
from reports.result import ON_TERMINAL, Block, Facts, Result, Section, Sentence, carried
from reports.show.rows import value_cell
from reports.show.tables import Cell, Heading, Lead, Table, numeric, pivot
from reports.statistics.descriptive import LEVEL, Interval
from reports.verdicts.comparison.compare import (
    Difference,
    MetricChange,
    Reading,
    RunComparison,
    cases_of,
)
from reports.verdicts.comparison.picture import changes_picture

#: Rows of a table on paper.
MOST_ROWS = 2000
#: Rows of each table, and differences, that a terminal shows unless all are asked for.
MOST_CHANGED, MOST_UNRESOLVED, MOST_DIFFERENT = 30, 5, 8
_METHOD = (
    "B against A: ratio of geometric means with its interval at 95 %: of two nights where a history"
    " tells how far days differ, of the launches alone (Welch) where none does. Blocks of two runs"
    " are no pairs, and each cell is read by itself: among many, some fall outside by chance. The"
    " mean of rates is their arithmetic mean, not total work over total time."
)
#: What a reading says in a table; one that is missing here is a decision.
_READINGS: dict[Reading, str] = {
    "beyond launches": "beyond the launches' spread; two days cannot tell",
    "not resolved": "not resolved",
    "no interval": "no interval below n = 2",
}
#: Title of a table on a terminal, the readings in it, how many of its rows are shown.
_ON_TERMINAL: tuple[tuple[str, tuple[Reading, ...], int], ...] = (
    ("changed, each value by itself at 95 %", ("better", "worse"), MOST_CHANGED),
    (
        "beyond the launches' spread; two days cannot tell a change from the day",
        ("beyond launches",),
        MOST_CHANGED,
    ),
    ("not resolved", ("not resolved", "no interval"), MOST_UNRESOLVED),
)
_TONES: dict[Reading, Literal["good", "bad", "open"]] = {
    "better": "good",
    "worse": "bad",
    "beyond launches": "open",
}


class SidePart(Part):
    """One run's values in a comparison."""

    n: Annotated[int, key("Launches.")]
    mean: Annotated[float | None, key("Their mean, in SI base units.")]
    stddev: Annotated[float | None, key("Their standard deviation.")]


class ChangedPart(Part):
    """One value in two runs."""

    check: Annotated[str, key("The check.")]
    case_id: Annotated[str, key("The case.")]
    case: Annotated[str, key("Case and point in words.")]
    environment: Annotated[str, key("The environment.")]
    metric: Annotated[str, key("The metric.")]
    unit: Annotated[str, key("Its SI unit.")]
    better: Annotated[Literal["higher", "lower"], key("Which direction is better.")]
    at: Annotated[dict[str, Any], key("The point.")]
    a: Annotated[SidePart, key("Run A.")]
    b: Annotated[SidePart, key("Run B.")]
    ratio: Annotated[float | None, key("B over A, geometric means; null below two launches each.")]
    interval: Annotated[
        Interval | None, key("Of two nights where their spread is known, else Welch.")
    ]
    day_spread: Annotated[float | None, key("Spread of days, of logarithms; null: not known.")]
    nights: Annotated[int, key("Nights behind it.")]
    reading: Annotated[Reading, key("What it says of B, this value alone.")]


class DifferencePart(Part):
    """One thing that differs in provenance, or between builds."""

    what: Annotated[str, key("What it is.")]
    a: Annotated[str, key("In run A.")]
    b: Annotated[str, key("In run B.")]


class ComparisonForm(Form, kw_only=True):
    """`assay compare`: run B against run A."""

    a: Annotated[str, key("The id of run A.")]
    b: Annotated[str, key("The id of run B.")]
    facts: Annotated[list[str], key("What the runs are, in sentences.")]
    provenance: Annotated[list[DifferencePart], key("What differs in provenance.")]
    builds: Annotated[list[DifferencePart], key("What differs between the builds.")]
    changes: Annotated[
        list[ChangedPart],
        key("Every value: better or worse, then beyond launches, then the rest, each by size."),
    ]


def comparison_result(found: RunComparison, *, every: bool = False) -> Result[ComparisonForm]:
    """A comparison as a result; `every`: a terminal leaves no row out."""
    a, b = found.first.run, found.second.run
    checks = {
        check: found.first.register.check_title(check)
        for check, changes in found.by_check.items()
        if changes
    }
    facts, title = _facts(found), "What differs between the builds"
    return Result(
        kicker="Assay · two runs of one campaign",
        title=f"{b.run_id} against {a.run_id}",
        data=ComparisonForm(
            a=a.run_id,
            b=b.run_id,
            facts=facts,
            provenance=[DifferencePart.filled(one) for one in found.provenance],
            builds=[DifferencePart.filled(one, what=_what(one)) for one in found.builds],
            changes=[_changed(change) for change in found.changes],
        ),
        facts=Facts([(text.partition(": ")[0], text.partition(": ")[2]) for text in facts]),
        sections=[
            Section("results", "Results", lambda: [Sentence(_METHOD), changes_picture(found)]),
            *(
                Section(f"compare-{check}", title, partial(_check, found, title, check))
                for check, title in checks.items()
            ),
            Section("table-builds", title, lambda: [_differing(found.builds, "builds", title)]),
            Section("table-differences", "Provenance", lambda: _provenance(found)),
            Section("differing", "", lambda: _in_short(found, every), shown_on=ON_TERMINAL),
            *(
                Section("changes", "", partial(_short, found, every, *one), shown_on=ON_TERMINAL)
                for one in _ON_TERMINAL
            ),
        ],
        looks={**found.first.looks, **found.second.looks},
        devices=_devices(found),
        closing="Made by Assay from the records of both runs.",
    )


def _changed(change: MetricChange) -> ChangedPart:
    a, b = (
        SidePart(0, None, None) if row is None else SidePart.filled(row.summary)
        for row in (change.a, change.b)
    )
    return ChangedPart.filled(
        change.metric,
        check=change.case.check,
        case_id=change.case.id,
        case=change.label,
        environment=change.case.environment,
        metric=change.metric.name,
        at=change.point,
        a=a,
        b=b,
        ratio=change.ratio,
        interval=change.interval,
        day_spread=change.day and change.day.spread,
        nights=change.day.nights if change.day else 0,
        reading=change.reading,
    )


def _what(one: Difference) -> str:
    return f"{one.environment} {one.what}".strip()


def _facts(found: RunComparison) -> list[str]:
    """What the runs are, what they have in common, and what is known of days."""
    sides = {"A": found.first, "B": found.second}
    a, b = map(cases_of, sides.values())
    facts = [
        f"{side}: {one.run.run_id}, campaign {one.run.plan.campaign}" for side, one in sides.items()
    ]
    facts = [f"{text}, {_state(one)}" for text, one in zip(facts, sides.values(), strict=True)]
    shared = f"{count_text(len(a & b), 'case')} in both"
    alone = [f"{len(own)} only in {side}" for side, own in (("A", a - b), ("B", b - a)) if own]
    facts.append(f"cases: {', '.join([shared, *alone])}")
    days = (
        "not known, so two days cannot tell a change from the day; a history of this campaign can"
        " (assay nightly add RUN)"
    )
    if found.days:
        span = counts_text((spread.nights for spread in found.days.values()), "night")
        series = count_text(len(found.days), "series")
        days = f"from the history, {series} of {span}"
    facts.append(f"spread of days: {days}")
    facts += [f"{name}: {text}" for name, text in carried(_devices(found))]
    return facts + [f"{side}: {text}" for side, one in sides.items() for text in one.run.warnings]


def _devices(found: RunComparison) -> dict[str, str]:
    """What carries the messages of each environment; of both runs where it is not the same."""
    a, b = found.first.run.provenance.devices, found.second.run.provenance.devices
    return {
        name: a[name] if a.get(name) == b.get(name) else f"{a.get(name, '?')} → {b.get(name, '?')}"
        for name in [*a, *(b.keys() - a.keys())]
    }


def _state(analysis: Analysis) -> str:
    missing = count_text(len(analysis.holes), "launch")
    state = f"not finished ({missing} missing)" if analysis.holes else "complete"
    counts = ", ".join(f"{count} {status}" for status, count in sorted(analysis.counts.items()))
    return f"{state}: {counts or 'nothing recorded'}"


def _check(found: RunComparison, title: str, check: str) -> list[Block | None]:
    changes = found.by_check[check]
    means = numeric(
        *("A: n", "A: mean ± s", "B: n", "B: mean ± s", "B against A", "95 % interval"),
        "spread of days",
    )
    headings: list[Heading] = ["case", "environment", "metric", *means, "unit", "reading"]
    table = pivot(
        changes[:MOST_ROWS],
        [(headings, _cells)],
        anchor=f"table-{check}",
        title=title,
        total=len(changes),
        most=MOST_ROWS,
    )
    return [table]


def _cells(change: MetricChange) -> list[str | Cell]:
    found = [one for one in (change.a, change.b) if one is not None]
    unit = readable_unit(change.metric.unit, [one.summary.mean for one in found])
    name, day = change.case.environment, change.day
    title = change.analysis.register.metric_title(change.metric.name)
    cells: list[str | Cell] = [change.label, Cell(name, environment=name), title]
    for one in (change.a, change.b):
        cells += [
            "0" if one is None else str(one.summary.n),
            value_cell([one] if one else [], unit),
        ]
    by_itself = f"B {change.reading} at {100 * LEVEL:.0f} %, this cell alone"
    reading = [unit.label, _READINGS.get(change.reading, by_itself)]
    if change.ratio is None or change.interval is None:
        return [*cells, "–", "–", "–", *reading]
    ends = ratios_between(change.interval.low, change.interval.high)
    spread = f"{percent(day.spread)}, n = {day.nights}" if day else "not known"
    return [*cells, signed_percent(change.ratio), ends, spread, *reading]


def _differing(differences: Sequence[Difference], of: str, title: str) -> Table | None:
    """A table of what differs; a column for the environment where it is of environments."""
    by: list[Lead[Difference]] = [
        ("environment", lambda one: one.environment),
        (["what", "A", "B"], lambda one: [one.what, one.a, one.b]),
    ]
    shown = by if any(one.environment for one in differences) else by[1:]
    return pivot(differences, shown, anchor=f"table-of-{of}", title=title, most=MOST_ROWS)


def _provenance(found: RunComparison) -> list[Block | None]:
    table = _differing(found.provenance, "differences", "What differs in provenance")
    return [table or Sentence("Provenance: no difference.")]


def _in_short(found: RunComparison, every: bool) -> Iterator[Block | None]:
    """What differs, a line each, on a terminal."""
    for name, differences in (("provenance", found.provenance), ("builds", found.builds)):
        if not differences:
            yield Sentence(f"{name}: no difference")
        shown = differences if every else differences[:MOST_DIFFERENT]
        yield from (Sentence(f"{name}: {_what(one)}: {one.a} → {one.b}") for one in shown)
        if len(shown) < len(differences):
            left = count_text(len(differences) - len(shown), "further difference")
            yield Sentence(f"{name}: {left} (--all)")


def _short(
    found: RunComparison, every: bool, title: str, readings: Sequence[Reading], most: int
) -> list[Block | None]:
    """The greatest changes with one of these readings, on a terminal."""
    changes = [change for change in found.changes if change.reading in readings]
    headings: list[Heading] = numeric("B/A", "95 % interval", "A → B")
    decided = "better" in readings
    headings += ["B is", ""] if decided else [""]
    table = pivot(
        changes if every else changes[:most],
        [(headings, lambda change: _short_cells(change, decided=decided))],
        anchor="changes",
        title=f"{title}: {len(changes)}",
        most=len(changes) or 1,
    )
    left = 0 if every else len(changes) - most
    rest = Sentence(f"{count_text(left, 'further one')}: --all, --html FILE, --json")
    return [table, rest if left > 0 else None]


def _short_cells(change: MetricChange, *, decided: bool) -> list[str | Cell]:
    sides = [row.summary.mean if row else None for row in (change.a, change.b)]
    unit = readable_unit(change.metric.unit, [mean for mean in sides if mean])
    a, b = ("–" if mean is None else significant(mean / unit.factor) for mean in sides)
    ratio = "–" if change.ratio is None else signed_percent(change.ratio)
    ends = ""
    if change.interval:
        ends = ratios_between(change.interval.low, change.interval.high)
    # Lines break at thin spaces too.
    name = change.name.replace("\u202f", "")
    tone = _TONES.get(change.reading)
    word = [Cell(change.reading, tone=tone or "")] if decided else []
    return [Cell(ratio, tone=tone or ""), ends, f"{a} → {b} {unit.label}", *word, name]
