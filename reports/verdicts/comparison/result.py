# SPDX-License-Identifier: Apache-2.0
"""Two runs of one campaign as a result: its keys, its wording, its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from records.forms import Form, key
from reports.analysis.run import Analysis
from reports.notation.units import count_text, counts_text
from reports.result import EVERYWHERE, Block, Facts, Result, Section, Sentence, carried
from reports.show.tables import table_of
from reports.verdicts.comparison.compare import (
    DifferencePart,
    MetricChange,
    RunComparison,
    cases_of,
)

#: Rows of a check's table, of the greatest changes, and of differences in provenance.
MOST_ROWS, MOST_CHANGED, MOST_DIFFERENT = 2000, 30, 60
_METHOD = (
    "B against A: ratio of geometric means with its interval at 95 %: of two nights where a history"
    " tells how far days differ, of the launches alone (Welch) where none does. Blocks of two runs"
    " are no pairs, and each cell is read by itself: among many, some fall outside by chance. The"
    " mean of rates is their arithmetic mean, not total work over total time."
)


class ComparisonForm(Form, kw_only=True):
    """`assay compare`: run B against run A."""

    schema: Annotated[int, key("The version of this form.")] = 2
    a: Annotated[str, key("The id of run A.")]
    b: Annotated[str, key("The id of run B.")]
    facts: Annotated[list[str], key("Facts of the runs, in sentences.")]
    provenance: Annotated[list[DifferencePart], key("Differences in provenance.")]
    changes: Annotated[
        list[MetricChange],
        key("Every value: better or worse, then beyond launches, then the rest, each by size."),
    ]


def comparison_result(found: RunComparison) -> Result[ComparisonForm]:
    """A comparison as a result."""
    a, b = found.first.run, found.second.run
    facts, title = _facts(found), found.first.register.check_title
    return Result(
        kicker="Assay · two runs of one campaign",
        title=f"{b.run_id} against {a.run_id}",
        data=ComparisonForm(
            a=a.run_id,
            b=b.run_id,
            facts=facts,
            provenance=found.provenance,
            changes=found.changes,
        ),
        facts=Facts([(text.partition(": ")[0], text.partition(": ")[2]) for text in facts]),
        sections=[
            Section("provenance", "Provenance", lambda: _provenance(found), shown_on=EVERYWHERE),
            Section(
                "results", "Results", lambda: _greatest(found), note=_METHOD, shown_on=EVERYWHERE
            ),
            *(
                Section(f"compare-{check}", title(check), partial(_check, changes, title(check)))
                for check, changes in found.by_check.items()
                if changes
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


def _provenance(found: RunComparison) -> list[Block | None]:
    title = "What differs in provenance"
    table = table_of(found.provenance, anchor="differences", title=title, most=MOST_DIFFERENT)
    return [table or Sentence("Provenance: no difference.")]
