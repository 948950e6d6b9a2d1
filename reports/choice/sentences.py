# SPDX-License-Identifier: Apache-2.0
"""What the choice comes to, in sentences; each is backed by a row that it links to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reports.analysis import Analysis
from reports.choice.cells import LEAST_DIFFERENCE
from reports.choice.matrix import crossovers
from reports.choice.ranking import Standing
from reports.choice.score import OverallScore
from reports.notation.units import bytes_text, count_text, fixed, level_text, signed_percent


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence; `href` leads to its evidence below."""

    text: str
    href: str
    kind: str = "plain"
    environment: str = ""


def choice_sentences(analysis: Analysis) -> list[Sentence]:
    """At most three: who is first overall, who is not ranked, where the winner changes."""
    return [*_overall(analysis), *_vetoes(analysis), *_crossovers(analysis)]


def _overall(analysis: Analysis) -> Iterator[Sentence]:
    score = analysis.comparisons.score
    if score is None:
        return
    first = score.standings[0]
    if first.worst == 1:
        lead, margin = _lead(score)
        yield Sentence(
            f"Overall {first.environment} {lead} ({_by(score)}): its cost is"
            f" {_cost(score, first)}{margin}. {_others(score)}.",
            "#table-score",
            "verdict",
            first.environment,
        )
        return
    leaders = [item.environment for item in score.standings if item.best == 1]
    out = [item.environment for item in score.standings if item.best > 1]
    behind = f"; behind them: {', '.join(out)}" if out else ""
    short = f", and {score.needed_n} are needed at least" if score.n < score.needed_n else ""
    yield Sentence(
        f"Overall ({_by(score)}) no single best choice is resolved at n = {score.n}{short}:"
        f" {', '.join(leaders)} share the first places{behind}. Lowest estimate:"
        f" {first.environment}, cost {_cost(score, first)}.",
        "#table-score",
        "verdict open",
    )


def _lead(score: OverallScore) -> tuple[str, str]:
    """How far the first is ahead of the second: a lead within 3 % is no best choice."""
    first, second = (item.environment for item in score.standings[:2])
    pair = next(p for p in score.pairs if {p.first, p.second} == {first, second})
    ratio = max(pair.effect.ratio, 1 / pair.effect.ratio)
    margin = f", {signed_percent(ratio)} against {second}"
    if ratio > LEAST_DIFFERENCE:
        return "is the best choice", margin
    return "is ahead", f"{margin}, which is below the 3 % that count as a difference"


def _by(score: OverallScore) -> str:
    return "by the declared weights" if score.declared else "all checks weighted alike"


def _cost(score: OverallScore, standing: Standing) -> str:
    interval = standing.interval
    text = f"{fixed(standing.score, 3)} of {score.reference}'s"
    if interval is None:
        return f"{text} (n = {score.n})"
    ends = f"{fixed(interval.low, 3)} to {fixed(interval.high, 3)}"
    return f"{text} ({level_text(interval.level)} interval {ends}, n = {score.n})"


def _others(score: OverallScore) -> str:
    places = ", ".join(f"{item.place} {item.environment}" for item in score.standings[1:])
    return f"Places after it: {places}"


def _vetoes(analysis: Analysis) -> Iterator[Sentence]:
    score = analysis.comparisons.score
    if score is not None and score.excluded:
        names = "; ".join(f"{name} ({why})" for name, why in score.excluded)
        yield Sentence(f"Not ranked: {names}.", "#table-score", "warning")


def _crossovers(analysis: Analysis) -> Iterator[Sentence]:
    found = crossovers(analysis.comparisons.finest)
    if not found:
        return
    item = found[0]
    more = f" {count_text(len(found) - 1, 'further change')} below." if len(found) > 1 else ""
    yield Sentence(
        f"The winner depends on the message length: {item.below} wins over {item.above} up to"
        f" {bytes_text(item.last_bytes)}, {item.above} from {bytes_text(item.first_bytes)} on"
        f" ({item.curve}).{more}",
        "#table-crossovers",
    )
