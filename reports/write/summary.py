# SPDX-License-Identifier: Apache-2.0
"""The plain-language summary on top: at most ten sentences, each linked to the rows behind it."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis import Analysis
from reports.choice.leaders import Ranking, rankings
from reports.neighbours import neighbours_of
from reports.notation.units import count_text
from reports.show.choice.sentences import Sentence, choice_sentences
from reports.show.rows import measured_in
from reports.show.tables import slug
from reports.statistics.signed_rank import LEAST_N

MOST_SENTENCES = 10


def summary_sentences(analysis: Analysis) -> list[Sentence]:
    """Who is best, where, what ran, what went wrong, what to beware of."""
    head = choice_sentences(analysis)
    if not analysis.complete:
        done = count_text(len(analysis.run.launches) - analysis.replaced, "launch", "launches")
        text = (
            f"This run is not finished: {done} recorded, {len(analysis.holes)} still without a"
            " record. All numbers below are preliminary."
        )
        head.insert(0, Sentence(text, "#holes", "warning"))
    tail = [_what_ran(analysis), _launches(analysis)]
    if told := analysis.run.plan.told():
        text = f"Only part of the campaign was planned: {'; '.join(told)}."
        tail.insert(1, Sentence(text, "#launches", "open"))
    if analysis.oversubscribed:
        text = (
            f"{analysis.oversubscribed} of {analysis.counts['ok']} ok launches were oversubscribed"
            " (busy ranks shared a core): their numbers tell nothing about a real cluster's speed"
            " and are marked where they stand."
        )
        tail.append(Sentence(text, "#launches", "warning"))
    if found := neighbours_of(analysis):
        tail.append(Sentence(found.told(), "#launches", "warning" if found.mattered else "plain"))
    if analysis.invalid:
        text = (
            "Point-to-point launches that reply before the wait are wrong on purpose: they show"
            " what that fault pretends, and enter no statistics."
        )
        tail.append(Sentence(text, "#invalid"))
    best = [sentence for _, sentence in leaders(analysis)]
    room = MOST_SENTENCES - len(head) - len(tail)
    if len(best) > room:
        rest = len(best) - room + 1
        best = best[: room - 1]
        best.append(Sentence(f"{rest} further comparisons stand below.", "#comparison"))
    return [*head, *best, *tail]


def leaders(analysis: Analysis) -> list[tuple[str, Sentence]]:
    """For each check, and each placement of it, who is best: the check and the sentence."""
    return [
        (ranking.comparison.check, _best(analysis, ranking))
        for ranking in rankings(analysis.comparisons)
    ]


def check_sentences(analysis: Analysis, check: str) -> list[Sentence]:
    """Who is best in one check; where nobody is compared, why."""
    title = analysis.register.check_title(check)
    found = [sentence for of, sentence in leaders(analysis) if of == check]
    if found:
        return [replace(one, text=_without(title, one.text)) for one in found]
    names = measured_in(analysis, analysis.rows_of(check))
    if len(names) == 1:
        return [Sentence(f"Measured in {names[0]} alone.", "#provenance")]
    text = f"Environments are compared from {LEAST_N} common blocks on; below is what each showed."
    return [Sentence(text, "#comparison", "open")] if names else []


def _without(title: str, text: str) -> str:
    """A sentence where the check's title stands above it."""
    part = text.removeprefix(f"{title}, ")
    return text.removeprefix(f"{title}: ") if part == text else part[:1].upper() + part[1:]


def _what_ran(analysis: Analysis) -> Sentence:
    run = analysis.run
    site = run.provenance.site
    kind = {True: " (a virtual cluster on one machine)", False: " (a real machine)", None: ""}
    over = f", network {site.network.name}" if site.network.name else ""
    nodes = f" with {count_text(len(run.nodes), 'node')}" if run.nodes else ""
    return Sentence(
        f"{count_text(len(run.plan.cases), 'case')} in {count_text(run.blocks, 'block')} were"
        f" planned for site {run.plan.site}{kind[site.virtual]}{nodes}{over}; environments:"
        f" {', '.join(run.plan.environments)}.",
        "#provenance",
    )


_NOUN = {
    "all_heard": "time until all ranks are heard",
    "whole_start": "time of a whole start, daemons included",
}


def _best(analysis: Analysis, ranking: Ranking) -> Sentence:
    cell = ranking.comparison
    what = _NOUN.get(ranking.metric, analysis.register.metric_title(ranking.metric))
    if cell.word == "equivalent":
        lead = f"{ranking.best} and {ranking.runner_up} lead in {what} and are {cell.verdict}"
    else:
        resolved = cell.word in ("faster", "slower")
        verdict = f"resolved: {cell.verdict}" if resolved else cell.verdict
        lead = (
            f"{ranking.best} {'did best' if resolved else 'has the best estimate'} in {what},"
            f" {ranking.advantage} against {ranking.runner_up}, {verdict}"
        )
    rest = f"; against {ranking.best}: {ranking.others}" if ranking.others else ""
    wrong, failing = ", ".join(ranking.unranked), ", ".join(ranking.failing)
    return Sentence(
        f"{ranking.scope}: {lead}{rest}."
        + (f" Not ranked for wrong answers: {wrong}." * bool(wrong))
        + (f" Not leading for failed launches: {failing}." * bool(failing)),
        f"#comparison-{slug(ranking.scope)}",
        "plain" if cell.word in ("faster", "slower") else "open",
        ranking.best,
    )


def launches_text(analysis: Analysis) -> str:
    """How many launches ended how: "20 ok, 1 failed"; what did not occur is omitted."""
    counts, on_purpose = analysis.counts, analysis.on_purpose
    told = {
        "ok": counts["ok"],
        "failed": counts["failed"],
        "wrong": counts["wrong"] - on_purpose,
        "wrong on purpose": on_purpose,
        "lost": counts["lost"],
        "skipped": counts["skipped"],
        "not run": len(analysis.holes),
        "replaced by a later attempt": analysis.replaced,
    }
    return ", ".join(f"{count} {word}" for word, count in told.items() if count) or "none yet"


def _launches(analysis: Analysis) -> Sentence:
    counts, on_purpose = analysis.counts, analysis.on_purpose
    wrong = counts["wrong"] - on_purpose
    parts = [f"{counts['ok']} ok", f"{counts['failed']} failed", f"{wrong} wrong"]
    if on_purpose:
        parts.append(f"{on_purpose} wrong on purpose")
    parts += [f"{counts['lost']} lost", f"{counts['skipped']} skipped"]
    parts.append(f"{len(analysis.holes)} not run")
    if analysis.replaced:
        parts.append(f"{analysis.replaced} replaced by a later attempt")
    trouble = counts["failed"] + wrong + counts["lost"]
    return Sentence(
        f"Launches: {', '.join(parts)}.", "#launches", "warning" if trouble else "plain"
    )
