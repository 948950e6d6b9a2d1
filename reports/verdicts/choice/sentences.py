# SPDX-License-Identifier: Apache-2.0
"""What a run says in at most ten sentences, each linked to the rows behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from records.flags import DISTURBED, MEANINGS, UNPROVEN
from reports.analysis.leaders import Ranking, crossovers, rankings
from reports.analysis.neighbours import neighbours_of
from reports.analysis.races import outcome
from reports.analysis.run import BAD, Analysis
from reports.analysis.score import OverallScore
from reports.answers import State
from reports.notation.units import bytes_text, count_text, p_text, percent, sentence_case
from reports.notation.values import interval_text
from reports.result import Sentence
from reports.show.rows import measured_in
from reports.statistics.signed_rank import LEAST_N
from reports.verdicts.choice.answer import extended_text
from reports.verdicts.choice.leader import choice

MOST_SENTENCES = 10
_NOUN = {
    "all_heard": "time until all ranks are heard",
    "whole_start": "time of a whole start, daemons included",
}

#: How a virtual cluster kept cores awake, by the word of its provenance.
_AWAKE = {
    "latency": "a request to the kernel (/dev/cpu_dma_latency) kept cores awake",
    "spinner": "a process of the lowest priority kept each core awake: short messages of libraries"
    " that wait in the kernel, as LAM, take longer than with a request to the kernel"
    " (/dev/cpu_dma_latency)",
    "nothing": "nothing kept cores awake: short messages of libraries that wait in the kernel, as"
    " LAM, take longer, for a core must wake first",
}


def summary(analysis: Analysis) -> list[Sentence]:
    """Who is best, where, what ran, what went wrong, what to beware of."""
    head, tail = [*_choice(analysis)], [*_run(analysis)]
    best = [_best(analysis, ranking) for ranking in rankings(analysis.comparisons)]
    room = max(1, MOST_SENTENCES - len(head) - len(tail))
    if len(best) > room:
        best, rest = best[: room - 1], count_text(len(best) - room + 1, "more comparison")
        best.append(Sentence(f"{rest} below.", "#table-overall"))
    return [*head, *best, *tail]


def of_check(analysis: Analysis, check: str) -> list[Sentence]:
    """Who is best in one check, below its title; where no two are compared, why."""
    title = analysis.register.check_title(check)
    found = [
        _best(analysis, ranking)
        for ranking in rankings(analysis.comparisons)
        if ranking.comparison.check == check
    ]
    if found:
        return [replace(one, text=_without(title, one.text)) for one in found]
    names = measured_in(analysis, analysis.rows_of(check))
    if len(names) == 1:
        return [Sentence(f"Measured in {names[0]} alone.", "#provenance")]
    text = f"Environments are compared from {LEAST_N} common blocks on; below is what each showed."
    return [Sentence(text, "#comparison", "open")] if names else []


def _without(title: str, text: str) -> str:
    """A sentence below the check's title."""
    part = text.removeprefix(f"{title}, ")
    return text.removeprefix(f"{title}: ") if part == text else sentence_case(part)


def _choice(analysis: Analysis) -> Iterator[Sentence]:
    """What is not final, who is first overall, who fails or is not ranked, what a sequential design
    came to, whether blocks are independent, where the winner changes."""
    if not analysis.complete:
        done = count_text(len(analysis.run.launches) - analysis.replaced, "launch")
        text = (
            f"This run is not finished: {done} recorded, {len(analysis.holes)} still without a"
            " record. All numbers below are preliminary."
        )
        yield Sentence(text, "#table-holes", "bad")
    score, answer = analysis.comparisons.score, choice(analysis)
    if score is not None and answer is not None:
        by = "by the declared weights" if score.declared else "all checks weighted alike"
        first, decided = score.standings[0], answer.state is State.DECIDED
        name = first.environment if first.worst == 1 else ""
        text = f"Overall ({by}): {answer.sentence}"
        yield Sentence(text, "#table-score", "good" if decided else "open", name)
        yield from _behind(score)
    if analysis.run.plan.sequential is not None:
        yield from _in_turn(analysis)
    alike = analysis.comparisons.dependence
    if alike is not None and alike.found:
        text = (
            "Neighbouring blocks are more alike than chance allows (lag-1 correlation"
            f" {alike.correlation:.2f} on average, {p_text(alike.p)}). Bounds are wider by"
            f" {alike.wider:.1f} for it; intervals of single comparisons are too narrow. Repeat the"
            " run at another time, with pauses between the blocks."
        )
        yield Sentence(text, "#comparison", "bad")
    if found := crossovers(analysis.comparisons.finest):
        item = found[0]
        more = f" {count_text(len(found) - 1, 'further change')} below." if len(found) > 1 else ""
        upto = f"up to {bytes_text(item.last_bytes)}" if item.last_bytes else "at 0 B alone"
        text = (
            f"The winner depends on the message length: {item.below} wins over {item.above}"
            f" {upto}, {item.above} from {bytes_text(item.first_bytes)} on ({item.curve}).{more}"
        )
        yield Sentence(text, "#table-crossovers")


def _behind(score: OverallScore) -> Iterator[Sentence]:
    """Environments that rank behind others because their launches fail, or are not ranked."""
    failing = [
        f"{item.environment} failed in {item.failures.failed} of {item.failures.launched}"
        f" launches ({interval_text(item.failures.interval, percent)})"
        for item in score.standings
        if item.unreliable and item.failures.interval
    ]
    if failing:
        text = f"Ranked behind others for failed launches: {'; '.join(failing)}."
        yield Sentence(text, "#table-score", "bad")
    if score.excluded:
        names = "; ".join(f"{name} ({why})" for name, why in score.excluded)
        yield Sentence(f"Not ranked: {names}.", "#table-score", "bad")


def _in_turn(analysis: Analysis) -> Iterator[Sentence]:
    """How far a sequential design has come, and whether its judgements are those of today."""
    run = analysis.run
    assert run.plan.sequential is not None
    if text := extended_text(run):
        yield Sentence(text, "#table-interims", "open")
    if len(run.plan.environments) == 1:
        return
    if not run.interims:
        text = f"Not judged yet: blocks are added, {run.plan.blocks} at most, until it is known."
        yield Sentence(text, "#launches", "open")
        return
    last = run.interims[-1]
    found = outcome(run.until(last.block), analysis.comparisons).open
    text = f"Blocks are added until it is known: {'; '.join(last.told(run.plan))}."
    if last.open:
        more = f" and {len(last.open) - 3} more" if len(last.open) > 3 else ""
        text += f" Open: {', '.join(last.open[:3])}{more}."
    yield Sentence(text, "#table-interims", "open" if last.open else "plain")
    if {*found} != {*last.open} and not run.plan.sequential.extension_after(last.block):
        text = (
            f"The launches up to block {last.block} leave other questions open today"
            f" ({', '.join(found) or 'none'}) than when the run was judged: launches were added"
            " since, or interims.jsonl or Assay was changed."
        )
        yield Sentence(text, "#table-interims", "bad")


def _best(analysis: Analysis, ranking: Ranking) -> Sentence:
    cell = ranking.comparison
    what = _NOUN.get(ranking.metric, analysis.register.metric_title(ranking.metric))
    resolved = cell.word in ("faster", "slower")
    if cell.word == "equivalent":
        lead = f"{ranking.best} and {ranking.runner_up} lead in {what} and are {cell.verdict}"
    else:
        lead = (
            f"{ranking.best} {'did best' if resolved else 'has the best estimate'} in {what},"
            f" {ranking.advantage} against {ranking.runner_up},"
            f" {'resolved: ' * resolved}{cell.verdict}"
        )
    rest = f"; against {ranking.best}: {ranking.others}" if ranking.others else ""
    wrong, failing = ", ".join(ranking.unranked), ", ".join(ranking.failing)
    return Sentence(
        f"{ranking.scope}: {lead}{rest}."
        + (f" Not ranked for wrong answers: {wrong}." * bool(wrong))
        + (f" Not leading for failed launches: {failing}." * bool(failing)),
        "#table-overall",
        "plain" if resolved else "open",
        ranking.best,
    )


def _run(analysis: Analysis) -> Iterator[Sentence]:
    """What ran, what of the campaign was planned, how launches ended, what to beware of."""
    run, site = analysis.run, analysis.run.provenance.site
    kind = {True: " (a virtual cluster on one machine)", False: " (a real machine)", None: ""}
    over = f", network {site.network.name}" if site.network.name else ""
    nodes = f" with {count_text(len(run.nodes), 'node')}" if run.nodes else ""
    yield Sentence(
        f"{count_text(len(run.plan.cases), 'case')} in {count_text(run.blocks, 'block')} were"
        f" planned for site {run.plan.site}{kind[site.virtual]}{nodes}{over}; environments:"
        f" {', '.join(run.plan.environments)}.",
        "#provenance",
    )
    if awake := _AWAKE.get(site.cores_awake or ""):
        yield Sentence(f"While a job ran, {awake}.", "#provenance")
    if told := run.plan.told():
        text = f"Only part of the campaign was planned: {'; '.join(told)}."
        yield Sentence(text, "#launches", "open")
    trouble = sum(analysis.counts[status] for status in BAD) - analysis.on_purpose
    text = f"Launches: {launches_text(analysis)}."
    yield Sentence(text, "#launches", "bad" if trouble else "plain")
    if analysis.oversubscribed:
        text = (
            f"{analysis.oversubscribed} of {analysis.counts['ok']} ok launches were oversubscribed"
            " (busy ranks shared a core): their numbers tell nothing about a real cluster's speed"
            " and are marked wherever they are shown."
        )
        yield Sentence(text, "#launches", "bad")
    if analysis.disturbed:
        of = f"{analysis.disturbed} of {analysis.counts['ok']} ok launches were disturbed"
        yield Sentence(f"{of}: {MEANINGS[DISTURBED]}.", "#launches", "bad")
    if analysis.unproven:
        of = f"{analysis.unproven} of {analysis.counts['ok']} ok launches are unproven"
        yield Sentence(f"{of}: {MEANINGS[UNPROVEN]}.", "#launches", "open")
    if beside := neighbours_of(analysis):
        yield Sentence(beside.told(), "#launches", "bad" if beside.mattered else "plain")
    if analysis.invalid:
        text = (
            "Point-to-point launches that reply before the wait are wrong on purpose: they show"
            " what that fault pretends, and enter no statistics."
        )
        yield Sentence(text, "#invalid")


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
