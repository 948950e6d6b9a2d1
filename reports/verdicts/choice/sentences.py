# SPDX-License-Identifier: Apache-2.0
"""Remarks on a run beside its headline, each linked to the rows behind it, and its facts."""

from __future__ import annotations

from collections.abc import Iterator

from reports.analysis.compare import Comparisons
from reports.analysis.neighbours import neighbours_of
from reports.analysis.races import outcome
from reports.analysis.run import Analysis
from reports.load.loading import Run
from reports.notation.units import count_text, moment_text
from reports.result import Facts, Sentence, carried
from reports.verdicts.choice.answer import not_known

#: Open questions that a remark names.
_MOST_OPEN = 3


def remarks(analysis: Analysis) -> Iterator[Sentence]:
    """Whether the run is finished, how far a sequential design has come, what is not known."""
    if not analysis.complete:
        done = count_text(len(analysis.run.launches) - analysis.replaced, "launch")
        text = (
            f"This run is not finished: {done} recorded, {len(analysis.holes)} still without a"
            " record. All numbers below are preliminary."
        )
        yield Sentence(text, "#table-holes", "bad")
    yield from _sequential(analysis.run, analysis.comparisons)
    for limit in not_known(analysis):
        yield Sentence(f"Not known: {limit.text}.", limit.href, limit.tone)


def _sequential(run: Run, found: Comparisons) -> Iterator[Sentence]:
    """How far a sequential design has come, and whether its judgements are those of today."""
    if run.plan.sequential is None or len(run.plan.environments) == 1:
        return
    if not run.interims:
        text = f"Not judged yet: blocks are added, {run.plan.blocks} at most, until it is known."
        yield Sentence(text, "#launches", "open")
        return
    last = run.interims[-1]
    text = f"Blocks are added until it is known: {'; '.join(last.told(run.plan))}."
    if last.open:
        more = len(last.open) - _MOST_OPEN
        text += f" Open: {', '.join(last.open[:_MOST_OPEN])}{f' and {more} more' * (more > 0)}."
    yield Sentence(text, "#table-interims", "open" if last.open else "plain")
    today = outcome(run.until(last.block), found).open
    if {*today} != {*last.open} and not run.plan.sequential.extension_after(last.block):
        text = (
            f"The launches up to block {last.block} leave other questions open today"
            f" ({', '.join(today) or 'none'}) than when the run was judged: launches were added"
            " since, or interims.jsonl or Assay was changed."
        )
        yield Sentence(text, "#table-interims", "bad")


def facts(analysis: Analysis) -> Facts:
    """What was planned, what of the campaign, where and when it ran, and how launches ended."""
    run, site = analysis.run, analysis.run.provenance.site
    kind = {True: " (a virtual cluster on one machine)", False: " (a real machine)", None: ""}
    nodes = f", {count_text(len(run.nodes), 'node')}" if run.nodes else ""
    network = f", network {site.network.name}" if site.network.name else ""
    planned = f"{count_text(len(run.plan.cases), 'case')}, {count_text(run.blocks, 'block')}"
    pairs = [
        ("run", run.run_id),
        ("started, UTC", moment_text(run.provenance.started_at, "not recorded")),
        ("site", f"{run.plan.site}{kind[site.virtual]}{nodes}{network}"),
        ("planned", f"{planned}, environments {', '.join(run.plan.environments)}"),
        ("part of the campaign", "; ".join(run.plan.told())),
        ("launches", launches_text(analysis)),
    ]
    if beside := neighbours_of(analysis):
        pairs.append(("neighbours", beside.told()))
    pairs += carried(run.provenance.devices)
    return Facts([pair for pair in pairs if pair[1]], codes=frozenset({"run"}))


def launches_text(analysis: Analysis) -> str:
    """How many launches ended how: "20 ok, 1 failed"; what did not occur is omitted."""
    counts, on_purpose = analysis.counts, analysis.on_purpose
    ended = {
        "ok": counts["ok"],
        "failed": counts["failed"],
        "wrong": counts["wrong"] - on_purpose,
        "wrong on purpose": on_purpose,
        "lost": counts["lost"],
        "skipped": counts["skipped"],
        "not run": len(analysis.holes),
        "replaced by a later attempt": analysis.replaced,
    }
    return ", ".join(f"{count} {word}" for word, count in ended.items() if count) or "none yet"
