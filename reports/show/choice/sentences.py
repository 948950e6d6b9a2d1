# SPDX-License-Identifier: Apache-2.0
"""What the choice comes to, in sentences; each is backed by a row that it links to."""

from __future__ import annotations

from dataclasses import dataclass

from reports.analysis import Analysis
from reports.choice.cells import LEAST_DIFFERENCE
from reports.choice.matrix import crossovers
from reports.choice.score import OverallScore
from reports.notation.units import bytes_text, count_text, fixed, signed_percent
from reports.notation.values import interval_text


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence; `href` leads to its evidence below."""

    text: str
    href: str
    kind: str = "plain"
    environment: str = ""


def choice_sentences(analysis: Analysis) -> list[Sentence]:
    """At most three: who is first overall, who is not ranked, where the winner changes."""
    sentences = []
    score = analysis.comparisons.score
    if score is not None:
        sentences.append(_overall(score))
        if score.excluded:
            names = "; ".join(f"{name} ({why})" for name, why in score.excluded)
            sentences.append(Sentence(f"Not ranked: {names}.", "#table-score", "warning"))
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


def _overall(score: OverallScore) -> Sentence:
    """Who is first, or which share the first places; a lead within 3 % is no best choice."""
    first, second = score.standings[:2]
    by = "by the declared weights" if score.declared else "all checks weighted alike"
    interval = f"{interval_text(first.interval, 3)}, " if first.interval else ""
    cost = f"{fixed(first.score, 3)} of {score.reference}'s ({interval}n = {score.n})"
    if first.worst > 1:
        leaders = [item.environment for item in score.standings if item.best == 1]
        out = [item.environment for item in score.standings if item.best > 1]
        behind = f"; behind them: {', '.join(out)}" if out else ""
        short = f", and {score.needed_n} are needed at least" if score.n < score.needed_n else ""
        return Sentence(
            f"Overall ({by}) no single best choice is resolved at n = {score.n}{short}:"
            f" {', '.join(leaders)} share the first places{behind}. Lowest estimate:"
            f" {first.environment}, cost {cost}.",
            "#table-score",
            "verdict open",
        )
    names = {first.environment, second.environment}
    ratio = next(pair.effect.ratio for pair in score.pairs if {pair.first, pair.second} == names)
    ratio = max(ratio, 1 / ratio)
    ahead = ratio > LEAST_DIFFERENCE
    below = "" if ahead else ", which is below the 3 % that count as a difference"
    places = ", ".join(f"{item.place} {item.environment}" for item in score.standings[1:])
    return Sentence(
        f"Overall {first.environment} {'is the best choice' if ahead else 'is ahead'} ({by}): its"
        f" cost is {cost}, {signed_percent(ratio)} against {second.environment}{below}. Places"
        f" after it: {places}.",
        "#table-score",
        "verdict",
        first.environment,
    )
