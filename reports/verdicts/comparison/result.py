# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign as a result: its keys, its wording, its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

from records.forms import Form, key
from reports.analysis.run import Analysis
from reports.notation.units import count_text, counts_text
from reports.result import ON_TERMINAL, Block, Facts, Result, Section, Sentence, carried
from reports.show.tables import Table, table_of
from reports.verdicts.comparison.compare import (
    DifferencePart,
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


class ComparisonForm(Form, kw_only=True):
    """`assay compare`: run B against run A."""

    schema: Annotated[int, key("The version of this form.")] = 2
    a: Annotated[str, key("The id of run A.")]
    b: Annotated[str, key("The id of run B.")]
    facts: Annotated[list[str], key("Facts of the runs, in sentences.")]
    provenance: Annotated[list[DifferencePart], key("Differences in provenance.")]
    builds: Annotated[list[DifferencePart], key("Differences between the builds.")]
    changes: Annotated[
        list[MetricChange],
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
            provenance=found.provenance,
            builds=found.builds,
            changes=found.changes,
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


def _facts(found: RunComparison) -> list[str]:
    """Facts of the runs: what they are, what they have in common, and what is known of days."""
    sides = {"A": found.first, "B": found.second}
    a, b = map(cases_of, sides.values())
    facts = [
        f"{side}: {analysis.run.run_id}, campaign {analysis.run.plan.campaign}, {_state(analysis)}"
        for side, analysis in sides.items()
    ]
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
    """Carrier of each environment's messages; of both runs where it is not the same."""
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
    words = "case environment title a b ratio interval day_spread nights reading"
    changes, columns = found.by_check[check], words.split()
    return [table_of(changes, *columns, anchor=f"table-{check}", title=title, most=MOST_ROWS)]


def _differing(differences: Sequence[DifferencePart], of: str, title: str) -> Table | None:
    """A table of what differs; a column for the environment where it is of environments."""
    columns = ["what", "a", "b"]
    if any(item.environment for item in differences):
        columns.insert(0, "environment")
    return table_of(differences, *columns, anchor=f"table-of-{of}", title=title, most=MOST_ROWS)


def _provenance(found: RunComparison) -> list[Block | None]:
    table = _differing(found.provenance, "differences", "What differs in provenance")
    return [table or Sentence("Provenance: no difference.")]


def _in_short(found: RunComparison, every: bool) -> Iterator[Block | None]:
    """Differences, a line each, on a terminal."""
    for name, differences in (("provenance", found.provenance), ("builds", found.builds)):
        if not differences:
            yield Sentence(f"{name}: no difference")
        shown = differences if every else differences[:MOST_DIFFERENT]
        for item in shown:
            what = f"{item.environment} {item.what}".strip()
            yield Sentence(f"{name}: {what}: {item.a} → {item.b}")
        if len(shown) < len(differences):
            left = count_text(len(differences) - len(shown), "further difference")
            yield Sentence(f"{name}: {left} (--all)")


def _short(
    found: RunComparison, every: bool, title: str, readings: Sequence[Reading], most: int
) -> list[Block | None]:
    """The greatest changes with one of these readings, on a terminal."""
    changes = [change for change in found.changes if change.reading in readings]
    table = table_of(
        changes if every else changes[:most],
        *("ratio", "interval", *(["reading"] if len(readings) > 1 else []), "name"),
        anchor="changes",
        title=f"{title}: {len(changes)}",
        most=len(changes) or 1,
    )
    left = 0 if every else len(changes) - most
    rest = Sentence(f"{count_text(left, 'further one')}: --all, --html FILE, --json")
    return [table, rest if left > 0 else None]
