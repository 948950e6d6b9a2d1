# SPDX-License-Identifier: Apache-2.0
"""What the choice comes to, in sentences; each is backed by a row that it links to."""

from __future__ import annotations

from dataclasses import dataclass

from reports.analysis import Analysis
from reports.answer.choice import choice
from reports.answers import Answer, State
from reports.choice.matrix import crossovers
from reports.choice.races import outcome
from reports.choice.score import OverallScore
from reports.notation.units import bytes_text, count_text, p_text, percent
from reports.notation.values import interval_text
from reports.statistics.serial import Dependence


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence; `href` leads to its evidence below."""

    text: str
    href: str
    kind: str = "plain"
    environment: str = ""


def choice_sentences(analysis: Analysis) -> list[Sentence]:
    """At most six: who is first overall, who fails or is not ranked, what a sequential design
    came to, whether blocks are independent, where the winner changes."""
    sentences = []
    score = analysis.comparisons.score
    told = choice(analysis)
    if score is not None and told is not None:
        sentences += [_overall(score, told), *_failing(score)]
        if score.excluded:
            names = "; ".join(f"{name} ({why})" for name, why in score.excluded)
            sentences.append(Sentence(f"Not ranked: {names}.", "#table-score", "warning"))
    sentences += _in_turn(analysis)
    sentences += _dependence(analysis.comparisons.dependence)
    found = crossovers(analysis.comparisons.finest)
    if found:
        item = found[0]
        more = f" {count_text(len(found) - 1, 'further change')} below." if len(found) > 1 else ""
        text = (
            f"The winner depends on the message length: {item.below} wins over {item.above} up to"
            f" {bytes_text(item.last_bytes)}, {item.above} from {bytes_text(item.first_bytes)} on"
            f" ({item.curve}).{more}"
        )
        sentences.append(Sentence(text, "#table-crossovers"))
    return sentences


def _overall(score: OverallScore, told: Answer) -> Sentence:
    """What the answer says of the overall score, in its words, and by which weights."""
    by = "by the declared weights" if score.declared else "all checks weighted alike"
    first = score.standings[0]
    decided = told.state is State.DECIDED
    return Sentence(
        f"Overall ({by}): {told.sentence}",
        "#table-score",
        "verdict" if decided else "verdict open",
        first.environment if first.worst == 1 else "",
    )


def _failing(score: OverallScore) -> list[Sentence]:
    """Environments that rank behind others because their launches fail."""
    told = []
    for item in score.standings:
        interval = item.failures.interval
        if item.unreliable and interval:
            told.append(
                f"{item.environment} failed in {item.failures.failed} of {item.failures.launched}"
                f" launches ({interval_text(interval, percent)})"
            )
    text = f"Ranked behind others for failed launches: {'; '.join(told)}."
    return [Sentence(text, "#table-score", "warning")] if told else []


def _in_turn(analysis: Analysis) -> list[Sentence]:
    """How far a sequential design has come, and whether its judgements are those of today."""
    run = analysis.run
    if run.plan.sequential is None:
        return []
    if not run.interims:
        text = f"Not judged yet: blocks are added, {run.plan.blocks} at most, until it is known."
        return [Sentence(text, "#launches", "open")]
    last = run.interims[-1]
    found = outcome(run.until(last.block), analysis.comparisons).open
    text = f"Blocks are added until it is known: {'; '.join(last.told(run.plan))}."
    if last.open:
        more = f" and {len(last.open) - 3} more" if len(last.open) > 3 else ""
        text += f" Open: {', '.join(last.open[:3])}{more}."
    sentences = [Sentence(text, "#table-interims", "open" if last.open else "plain")]
    if {*found} != {*last.open}:
        text = (
            f"The launches up to block {last.block} leave other questions open today"
            f" ({', '.join(found) or 'none'}) than when the run was judged: launches were added"
            " since, or interims.jsonl or Assay was changed."
        )
        sentences.append(Sentence(text, "#table-interims", "warning"))
    return sentences


def _dependence(found: Dependence | None) -> list[Sentence]:
    """The warning that blocks are not independent of each other."""
    if found is None or not found.found:
        return []
    text = (
        "Neighbouring blocks are more alike than chance allows (lag-1 correlation"
        f" {found.correlation:.2f} on average, {p_text(found.p)}). Bounds are wider by"
        f" {found.wider:.1f} for it; intervals of single comparisons are too narrow. Repeat the run"
        " at another time, with pauses between the blocks."
    )
    return [Sentence(text, "#comparison", "warning")]
