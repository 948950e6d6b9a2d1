# SPDX-License-Identifier: Apache-2.0
"""An acceptance's answer: who is named with how much of what, or what is nearest to its limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports import commands
from reports.answers import Answer, State, fitting, listed
from reports.notation.units import (
    all_text,
    count_text,
    percent,
    sentence_case,
)
from reports.notation.values import about
from reports.verdicts.acceptance.dossier import Dossier
from reports.verdicts.acceptance.model import AcceptanceFinding, Item, JudgedCriterion
from reports.verdicts.acceptance.wording import (
    NONE_ABSOLUTE,
    REHEARSAL,
    bound_text,
    left_out,
    limit_words,
    number,
    remedy,
    to_come,
    unseen,
)

_WORDS = {"FAIL": "not met", "SUSPECT": "suspect", "INCONCLUSIVE": "undecided"}


def answer_of_acceptance(dossier: Dossier, name: str = "") -> Answer:
    """What the judgement comes to; its word is the verdict. `name` is what commands call the run,
    its id by default: a document stays the same wherever its run is."""
    judgement, run = dossier.judgement, dossier.run
    name = name or run.run_id
    command = commands.run_again(run) if judgement.absolute else commands.NOTHING
    if to_come(run) > 0:
        command = commands.resume(name, run.provenance.asked.checks)
    elif judgement.rerun:
        command = commands.accept(run, name, rerun=True)
    elif judgement.verdict == "PASS":
        command = commands.verify(run, name)
    variants = _passed(dossier) if judgement.verdict == "PASS" else _not_passed(dossier)
    unknown = "; ".join([*_unknown(dossier)][:2])
    return Answer(State[judgement.verdict], fitting(*variants), unknown, command)


def _passed(dossier: Dossier) -> Iterator[str]:
    """All is met; what is nearest to its limit."""
    results = dossier.judgement.criteria
    head = f"{_all(results)} met on {count_text(len(dossier.run.nodes), 'node')}"
    close = [
        (item.margin, result, item)
        for result in results
        if result.effective == "PASS"
        and (item := result.most_telling())
        and item.margin is not None
        and all((item.margin_of(bound) or 0) >= 0 for bound in item.deciding_bounds)
    ]
    if close:
        _, result, item = min(close, key=lambda entry: entry[0])
        what = f"{item.subject} with {bound_text(item)}, {_limit([item])}"
        yield f"{head}; nearest to its limit: {result.title}, {what}."
        yield f"{head}; nearest to its limit: {what}."
    yield f"{head}."


def _not_passed(dossier: Dossier) -> Iterator[str]:
    """How many criteria, and who is named: what fails before what is suspected."""
    judgement, verdict = dossier.judgement, dossier.judgement.verdict
    results = judgement.criteria
    bad = [result for result in results if result.effective == verdict]
    if not bad:
        yield f"{_all(results)} met, but none is absolute: so nothing passes."
    named = sorted(judgement.named, key=_gravity)
    parts = [(_finding(finding, dossier), finding.title.removeprefix("slow ")) for finding in named]
    accused = {accusation.criterion for finding in named for accusation in finding.accusations}
    place = 0 if verdict == "FAIL" and not any(map(_fails, named)) else len(parts)
    without: dict[
        str, list[str]
    ] = {}  # criteria that name no node and have no bound, by the reason
    for result in bad:
        item = result.most_telling()
        if result.id in accused:
            continue
        if item is None or (item.bounds.low is None and item.bounds.method != "count"):
            without.setdefault(item.note if item else result.note, []).append(result.title)
            continue
        text = f"{item.subject} in {item.environment}: {item.note}"
        if item.bounds.method != "count":
            text = f"{result.title}: {item.subject} {bound_text(item)} ({_limit([item])})"
        parts.insert(place, (text, result.title))
        place += 1
    titles = [(listed(found, 3), note) for note, found in without.items()]
    parts[place:place] = [(f"{title}: {note}", title) for title, note in titles]
    verb = "is" if len(bad) == 1 else "are"
    head = f"{len(bad)} of {count_text(len(results), 'criterion')} {verb} {_WORDS[verdict]}"
    if verdict == "SUSPECT":
        head = f"Not yet, {count_text(len(parts), 'suspect')}"
    for count in range(min(len(parts), 4), 0, -1):
        full = "; ".join(text for text, _ in parts[:count])
        rest = [title for _, title in parts[count:]]
        yield f"{head}: {full}{f'; also {listed(rest, 3)}' if rest else ''}."
        yield f"{head}: {full}{f'; {len(rest)} more' if rest else ''}."
    if parts:
        yield f"{head}: {listed([title for _, title in parts], 3)}."
    yield f"{head}."


def _all(results: Sequence[JudgedCriterion]) -> str:
    whole = sentence_case(all_text(len(results), "criterion"))
    return f"{whole} {'are' if len(results) > 1 else 'is'}"


def _fails(finding: AcceptanceFinding) -> bool:
    return any(accusation.item.verdict == "FAIL" for accusation in finding.accusations)


def _gravity(finding: AcceptanceFinding) -> tuple[bool, bool]:
    """What fails before what is suspected, what is slow before what scatters or is missing."""
    return not _fails(finding), finding.kind in ("unsteady", "missing")


def _finding(finding: AcceptanceFinding, dossier: Dossier) -> str:
    """ "node n2 reaches 42–51 % of the good nodes' DGEMM rate (limit 75 %)"."""
    items = [accusation.item for accusation in finding.accusations]
    if finding.kind == "missing":
        return f"no value of {finding.name}"
    if finding.kind == "unsteady":
        worst = max(items, key=lambda item: item.bounds.centre)
        return f"{worst.subject} scatters by {percent(worst.bounds.centre)} ({_limit([worst])})"
    titles = (dossier.evidence.register.metric_title(item.metric) for item in items)
    what = listed([*dict.fromkeys(title.removesuffix(" of the pair") for title in titles)], 3)
    subject, others = {
        "group": (f"nodes {finding.name} reach", "the others'"),
        "node": (f"node {finding.name} reaches", "its peers'"),
        "link": (f"{finding.name}'s link", ""),
        "cut": (f"the cut {finding.name}", ""),
    }.get(finding.kind, (f"link {finding.name}", ""))
    if others:
        return f"{subject} {_range(items)} of {others} {what} ({_limit(items)})"
    worst = min(items, key=lambda item: item.margin or 0.0)
    if not worst.measured or not worst.bounds.centre:
        return f"{subject} reaches {_range(items)} of the good pairs' {what} ({_limit(items)})"
    here = about(worst.measured, worst.measured_unit)
    good = about(worst.measured / worst.bounds.centre, worst.measured_unit)
    verbs = ("takes", "take") if worst.measured_unit == "s" else ("carries", "carry")
    limit = _limit([worst])
    return f"{subject} {verbs[0]} {here} where good pairs {verbs[1]} {good} ({limit})"


def _range(items: Sequence[Item]) -> str:
    """ "42–51 %", or multiples where more is worse."""
    values = sorted(item.bounds.centre for item in items)
    if all(item.at_least is not None for item in items):
        low, high = (f"{100 * value:.0f}" for value in (values[0], values[-1]))
        return f"{low} %" if low == high else f"{low}–{high} %"
    return number(items[0], values[-1])


def _limit(items: Sequence[Item]) -> str:
    """ "limit 75 %": the value next to it shows which side it is on."""
    limits = dict.fromkeys(limit_words(item).lstrip("≥≤ ").replace(".0 %", " %") for item in items)
    return f"limit {listed([*limits], 3, 'or')}"


def _unknown(dossier: Dossier) -> Iterator[str]:
    """What the judgement leaves open, what weighs most first."""
    judgement, verdict = dossier.judgement, dossier.judgement.verdict
    undecided = [r for r in judgement.criteria if r.effective == "INCONCLUSIVE"]
    if verdict == "SUSPECT":
        again = "no re-run was made yet" if not dossier.reruns else "re-runs do not settle it yet"
        yield f"whether it stays: {again}"
    elif verdict == "INCONCLUSIVE" and judgement.absolute:
        notes = [item.note if (item := r.most_telling()) else r.note for r in undecided]
        yield from dict.fromkeys(f"why: {note}" for note in notes if note)
    if not judgement.absolute:
        yield f"{NONE_ABSOLUTE}; {remedy(dossier)}"
    suspected = sum(finding.state == "suspected" for finding in judgement.named)
    if suspected and verdict == "FAIL":
        stay = count_text(suspected, "suspect stays", "suspects stay")
        yield f"whether {stay}: no re-run shows it yet"
    if undecided and verdict in ("FAIL", "SUSPECT"):
        yield f"{count_text(len(undecided), 'criterion is', 'criteria are')} undecided"
    if verdict == "PASS" and (facts := unseen(dossier)):
        yield "; ".join(facts)
    yield from left_out(dossier)
    if dossier.run.provenance.site.virtual:
        yield REHEARSAL
