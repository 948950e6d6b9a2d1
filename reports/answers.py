# SPDX-License-Identifier: Apache-2.0
"""Answer of a result: a state, one sentence, what is not known, the command that comes next; a
judgement in one line, and the numbers of judged items in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

from records.forms import Part, key
from reports.commands import NOTHING, NextCommand
from reports.judgement import Finding, Item, JudgedCriterion, Judgement
from reports.notation import units

#: What an answer is shown in: green, amber, red, or no colour.
Colour = Literal["good", "warn", "bad", "plain"]


class State(Enum):
    """The plain word of a state, and the class of its colour."""

    DECIDED = "decided", "good"
    OPEN = "open", "warn"
    UNFINISHED = "not finished", "warn"
    MEASURED = "measured", "plain"
    EMPTY = "nothing run yet", "plain"
    FAILED = "failed", "bad"
    PASS = "PASS", "good"
    INCONCLUSIVE = "INCONCLUSIVE", "warn"
    SUSPECT = "SUSPECT", "warn"
    FAIL = "FAIL", "bad"
    LEARNING = "LEARNING", "plain"

    @property
    def word(self) -> str:
        """The text of the badge; it says everything that the colour does."""
        return self.value[0]

    @property
    def colour(self) -> Colour:
        """The class of the colour."""
        return self.value[1]


class AnswerPart(Part):
    """The answer, the same on pages, on the terminal and in machine forms."""

    state: Annotated[
        str, key("The state: decided, open, unfinished, measured, empty, failed, pass, …")
    ]
    word: Annotated[str, key("The state in a word for people.")]
    colour: Annotated[Colour, key("The colour class of the state.")]
    sentence: Annotated[str, key("The answer, at most twenty words.")]
    unknown: Annotated[str, key("Statement of what is not known and why; empty: nothing.")]
    command: Annotated[str, key("The command that comes next; empty: none.")]
    details: Annotated[list[str], key("Further sentences, the most important first.")]


@dataclass(frozen=True, slots=True)
class Answer:
    """`sentence`: the answer, with the number that carries it. `unknown`: one line, what is not
    known and why. `command`: what comes next, "" where nothing does. `details`: further sentences,
    the most important first.
    """

    state: State
    sentence: str
    unknown: str = ""
    command: NextCommand = NOTHING
    details: tuple[str, ...] = ()

    @property
    def part(self) -> AnswerPart:
        """The answer in a machine form."""
        state = self.state
        return AnswerPart.filled(
            self, state=state.name.lower(), word=state.word, colour=state.colour
        )


def listed(names: Sequence[str], most: int = 4) -> str:
    """ "a, b and c"; of more than `most` names "a, b and 3 others"."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def clipped(text: str, most: int) -> str:
    """A text of at most `most` words."""
    words = text.split()
    return " ".join(words if len(words) <= most else [*words[: most - 1], "…"])


#: Words of a headline, of the name of its subject, and of a criterion's title or a remark in it.
MOST_WORDS, _MOST_NAME, _MOST_REMARK = 20, 5, 10
_NOUNS = {"group": "nodes", "link": "link of", "pair": "link"}


def headline(judgement: Judgement) -> str:
    """The judgement in at most MOST_WORDS words: what fails first, or what is nearest to its limit.

    "node n2, stream triad 58 % of the others (limit ≥ 95 %); 3 more". The verdict is not in it.
    """
    results, verdict = judgement.criteria, judgement.verdict
    named = sorted(judgement.named, key=_gravity)
    accused = {criterion for finding in named for criterion in finding.criteria}
    bad = [one for one in results if one.effective == verdict != "PASS" and one.id not in accused]
    if not named and not bad:
        return _met(judgement)
    # Of a FAIL come first findings that fail, then criteria that name nothing, then suspects.
    fails = bool(named) and not _gravity(named[0])[0]
    first = bad[0] if bad and (not named or (verdict == "FAIL" and not fails)) else named[0]
    text = _of_finding(first) if isinstance(first, Finding) else _of_criterion(first)
    more = len(named) + len(bad) - 1
    return clipped(text, MOST_WORDS - 2) + (f"; {more} more" if more else "")


def _gravity(finding: Finding) -> tuple[bool, bool]:
    """Order of findings: failing ones first, those that are slow before missing and unsteady."""
    fails = any(item.verdict == "FAIL" for item in finding.accusations)
    return not fails, finding.kind in ("unsteady", "missing")


def _of_finding(finding: Finding) -> str:
    if finding.kind == "missing":
        return f"no value of {finding.name}"
    worst = min(finding.accusations, key=lambda item: item.margin or 0.0)
    limit, name = f"(limit {limit_words(worst)})", clipped(finding.name, _MOST_NAME)
    if finding.kind == "unsteady":
        name = clipped(worst.subject, _MOST_NAME)
        return f"{name} scatters by {units.percent(worst.centre)} {limit}"
    metric = clipped(worst.metric.replace("_", " "), 3)
    share = f"{100 * worst.centre:.0f} %" if worst.at_most is None else number(worst, worst.centre)
    noun = _NOUNS.get(finding.kind, finding.kind)
    return f"{noun} {name}, {metric} {share} of the others {limit}"


def _of_criterion(result: JudgedCriterion) -> str:
    """A criterion that names nothing, with its most telling item or its remark."""
    item = result.most_telling()
    if item is None or item.method == "count" or item.low is None:
        text = clipped(item.note if item else result.note, _MOST_REMARK)
    else:
        name = clipped(item.subject, _MOST_NAME)
        text = f"{name} {bound_text(item)} (limit {limit_words(item)})"
    return f"{clipped(result.title, MOST_WORDS - 2 - len(text.split()))}: {text}"


def _met(judgement: Judgement) -> str:
    """All is met; the value nearest to its limit."""
    results = judgement.criteria
    head = f"{units.sentence_case(units.all_text(len(results), 'criterion'))} met"
    if not judgement.absolute:
        return f"{head}, but none is absolute: so nothing passes"
    close = [
        (item.margin, item)
        for result in results
        if result.effective == "PASS"
        and (item := result.most_telling())
        and item.margin is not None
        and all((item.margin_of(bound) or 0) >= 0 for bound in item.deciding_bounds)
    ]
    if not close:
        return head
    _, item = min(close, key=lambda entry: entry[0])
    name = clipped(item.subject, _MOST_NAME)
    return f"{head}; nearest: {name} with {bound_text(item)} (limit {limit_words(item)})"


def number(item: Item, value: float) -> str:
    """A value of the item's own unit; without a unit a share (93 %) or a multiple (2.1 ×)."""
    limits = [limit for limit in (item.at_least, item.at_most) if limit is not None]
    if item.unit == "1":
        return (
            f"{units.fixed(value, 2)} ×" if max(limits, default=0.0) > 1 else units.percent(value)
        )
    typical = [limit for limit in limits if limit] or [item.centre]
    return units.quantity(value, units.readable_unit(item.unit, typical))


def centre_text(item: Item) -> str:
    """The median, or how many launches were ok."""
    return item.note if item.method == "count" else number(item, item.centre)


def bound_text(item: Item) -> str:
    """The bound that decides, as the verdict reads it; both where neither does."""
    bounds = [number(item, bound) for bound in item.deciding_bounds]
    if len(bounds) == 1:
        return f"{'≥' if item.lower_matters else '≤'} {bounds[0]}"
    return " … ".join(bounds) or "–"


def limit_words(item: Item) -> str:
    """The item's limit: "≥ 95 %"."""

    def stated(limit: float) -> str:
        share = item.unit == "1" and max(item.at_least or 0.0, item.at_most or 0.0) <= 1
        return f"{units.as_stated(100 * limit)} %" if share else number(item, limit)

    least, most = item.at_least, item.at_most
    if least is not None and most is not None:
        return f"{stated(least)} … {stated(most)}"
    if least is not None:
        return f"≥ {stated(least)}"
    return f"≤ {stated(most)}" if most is not None else "–"


def margin_text(item: Item) -> str:
    """The signed distance from the nearest limit: in points between shares, else in per cent of
    the limit."""
    if item.margin is None or item.low is None:
        return "–"
    limits = [limit for limit in (item.at_least, item.at_most) if limit]
    sign = "+" if item.margin >= 0 else "−"
    if item.unit == "1" and max(limits) <= 1:
        points = min(abs(item.centre - limit) for limit in limits)
        return f"{sign}{units.fixed(100 * points, 1)} points"
    return f"{sign}{units.percent(abs(item.margin))}"


def place_text(item: Item) -> str:
    """The subject, and its environment."""
    return f"{item.subject}, {item.environment}"


def item_text(item: Item) -> str:
    """An item on a line: "n2, mpich: 42 %, bound ≤ 47 %, limit ≥ 75 %, n = 5"."""
    numbers = f"{centre_text(item)}, bound {bound_text(item)}, limit {limit_words(item)}"
    return f"{place_text(item)}: {numbers}, n = {item.n}"


def limit_text(at_least: float | None, at_most: float | None, unit: str) -> str:
    """A limit in words: "at least 0.95", "between 1 and 2 s"."""
    limits = [limit for limit in (at_least, at_most) if limit is not None]
    readable = units.readable_unit(unit, limits)
    suffix = f" {readable.label}".rstrip()
    words = [units.as_stated(limit / readable.factor) for limit in limits]
    if len(words) == 2:
        return f"between {words[0]} and {words[1]}{suffix}"
    return f"at {'least' if at_most is None else 'most'} {words[0]}{suffix}"
