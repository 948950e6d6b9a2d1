# SPDX-License-Identifier: Apache-2.0
"""An acceptance's answer: who is named with how much of what, or what is nearest to its limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.answer import commands
from reports.answer.phrases import listed
from reports.answers import Answer, State, fitting
from reports.notation.units import count_text, percent, readable_unit, three_digits
from reports.verdicts.acceptance.dossier import Dossier
from reports.verdicts.acceptance.model import Finding, Item, JudgedCriterion
from reports.verdicts.acceptance.wording import bound_text, limit_words, number, unseen


def answer_of_acceptance(dossier: Dossier, name: str = "") -> Answer:
    """What the judgement comes to; its word is the verdict. `name` is what commands call the run,
    its id by default: a document stays the same wherever its run lies."""
    judgement = dossier.judgement
    return Answer(
        State[judgement.verdict],
        fitting(*(_passed(dossier) if judgement.verdict == "PASS" else _not_passed(dossier))),
        "; ".join([*_unknown(dossier)][:2]),
        _command(dossier, name or dossier.run.run_id),
    )


def _passed(dossier: Dossier) -> Iterator[str]:
    """All is met; what is nearest to its limit."""
    results = dossier.judgement.criteria
    head = f"All {len(results)} criteria are met on {count_text(len(dossier.run.nodes), 'node')}"
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
    named = sorted(judgement.named, key=_gravity)
    told = [(_finding(finding, dossier), finding.title.removeprefix("slow ")) for finding in named]
    accused = {accusation.criterion for finding in named for accusation in finding.accusations}
    by_itself = [result for result in bad if result.id not in accused]
    place = 0 if verdict == "FAIL" and not any(_fails(finding) for finding in named) else len(told)
    told[place:place] = _by_themselves(by_itself)
    verb = "is" if len(bad) == 1 else "are"
    head = f"{len(bad)} of {len(results)} criteria {verb} {_WORDS[verdict]}"
    if verdict == "SUSPECT":
        head = f"Not yet, {count_text(len(told), 'suspect')}"
    if not bad:
        yield f"All {len(results)} criteria are met, but none is absolute: so nothing passes."
    for count in range(min(len(told), 4), 0, -1):
        full = "; ".join(text for text, _ in told[:count])
        rest = [title for _, title in told[count:]]
        yield f"{head}: {full}{f'; also {listed(rest, 3)}' if rest else ''}."
        yield f"{head}: {full}{f'; {len(rest)} more' if rest else ''}."
    yield f"{head}: {listed([title for _, title in told], 3)}." if told else f"{head}."
    yield f"{head}."


_WORDS = {"FAIL": "not met", "SUSPECT": "suspect", "INCONCLUSIVE": "undecided"}


def _by_themselves(results: Sequence[JudgedCriterion]) -> list[tuple[str, str]]:
    """Criteria that name nobody; those without a bound together, by the reason."""
    found: list[tuple[str, str]] = []
    without: dict[str, list[str]] = {}
    for result in results:
        item = result.most_telling()
        if item is None or (item.bounds.low is None and item.bounds.method != "count"):
            without.setdefault(item.note if item else result.note, []).append(result.title)
        else:
            found.append((_telling(result, item), result.title))
    for note, titles in without.items():
        found.append((f"{listed(titles, 3)}: {note}", listed(titles, 3)))
    return found


def _fails(finding: Finding) -> bool:
    return any(accusation.item.verdict == "FAIL" for accusation in finding.accusations)


def _gravity(finding: Finding) -> tuple[bool, bool]:
    """What fails before what is suspected, what is slow before what scatters or is missing."""
    return not _fails(finding), finding.kind in ("unsteady", "missing")


def _finding(finding: Finding, dossier: Dossier) -> str:
    """ "node n2 reaches 42–51 % of the good nodes' DGEMM rate (limit 75 %)"."""
    items = [accusation.item for accusation in finding.accusations]
    if finding.kind == "missing":
        return f"no value of {finding.name}"
    if finding.kind == "unsteady":
        worst = max(items, key=lambda item: item.bounds.centre)
        return f"{worst.subject} scatters by {percent(worst.bounds.centre)} ({_limit([worst])})"
    what = listed([*dict.fromkeys(_quantity(item, dossier) for item in items)], 3)
    if finding.kind == "group":
        return f"nodes {finding.name} reach {_range(items)} of the others' {what} ({_limit(items)})"
    if finding.kind == "node":
        return f"node {finding.name} reaches {_range(items)} of its peers' {what} ({_limit(items)})"
    subject = f"link {finding.name}"
    if finding.kind in ("link", "cut"):
        subject = f"{finding.name}'s link" if finding.kind == "link" else f"the cut {finding.name}"
    worst = min(items, key=lambda item: item.margin or 0.0)
    if not worst.measured or not worst.bounds.centre:
        return f"{subject} reaches {_range(items)} of the good pairs' {what} ({_limit(items)})"
    unit = readable_unit(worst.measured_unit, [worst.measured])
    here, good = (
        three_digits(value / unit.factor)
        for value in (worst.measured, worst.measured / worst.bounds.centre)
    )
    verbs = ("takes", "take") if worst.measured_unit == "s" else ("carries", "carry")
    limit = _limit([worst])
    return f"{subject} {verbs[0]} {here} {unit.label} where good pairs {verbs[1]} {good} ({limit})"


def _quantity(item: Item, dossier: Dossier) -> str:
    return dossier.evidence.register.metric_title(item.metric).removesuffix(" of the pair")


def _range(items: Sequence[Item]) -> str:
    """ "42–51 %", or multiples where more is worse."""
    values = sorted(item.bounds.centre for item in items)
    if all(item.at_least is not None for item in items):
        low, high = (f"{100 * value:.0f}" for value in (values[0], values[-1]))
        return f"{low} %" if low == high else f"{low}–{high} %"
    return f"{number(items[0], values[-1])}"


def _limit(items: Sequence[Item]) -> str:
    """ "limit 75 %": which side it is on shows beside the value."""
    limits = dict.fromkeys(limit_words(item).lstrip("≥≤ ").replace(".0 %", " %") for item in items)
    return f"limit {listed([*limits], 3, 'or')}"


def _telling(result: JudgedCriterion, item: Item) -> str:
    """A criterion's value nearest to its limit, or farthest beyond."""
    if item.bounds.method == "count":
        return f"{item.subject} in {item.environment}: {item.note}"
    return f"{result.title}: {item.subject} {bound_text(item)} ({_limit([item])})"


def _unknown(dossier: Dossier) -> Iterator[str]:
    """What the judgement leaves open, what weighs most first."""
    judgement = dossier.judgement
    if judgement.verdict == "SUSPECT":
        again = "no re-run was made yet" if not dossier.reruns else "re-runs do not settle it yet"
        yield f"whether it stays: {again}"
    elif judgement.verdict == "INCONCLUSIVE" and judgement.absolute:
        open_ = [r for r in judgement.criteria if r.effective == "INCONCLUSIVE"]
        notes = [item.note if (item := r.most_telling()) else r.note for r in open_]
        yield from dict.fromkeys(f"why: {note}" for note in notes if note)
    if not judgement.absolute:
        yield (
            "what slows all of the machine alike: no absolute limit is met; add the contract's"
            " (kind: limit) to the criteria, or nominal rates to site.yaml"
        )
    suspected = sum(finding.state == "suspected" for finding in judgement.named)
    if suspected and judgement.verdict == "FAIL":
        stay = count_text(suspected, "suspect stays", "suspects stay")
        yield f"whether {stay}: no re-run shows it yet"
    undecided = sum(result.effective == "INCONCLUSIVE" for result in judgement.criteria)
    if undecided and judgement.verdict in ("FAIL", "SUSPECT"):
        yield f"{count_text(undecided, 'criterion is', 'criteria are')} undecided"
    if judgement.verdict == "PASS" and (told := unseen(dossier)):
        yield "; ".join(text[:1].lower() + text[1:] for text in told)
    for why in dict.fromkeys(note for _, note in judgement.left_out):
        names = listed([name for name, note in judgement.left_out if note == why])
        yield f"{names}: not judged, {why}"
    if dossier.run.provenance.site.virtual:
        yield "a real machine: this is a rehearsal on a virtual cluster"


def _command(dossier: Dossier, name: str) -> str:
    judgement, run = dossier.judgement, dossier.run
    feasible = (case for case in run.plan.cases if case.skipped is None)
    planned = sum(run.asked[case.environment, case.check] for case in feasible)
    if run.done < planned:
        return commands.resume(name)
    if judgement.rerun:
        return commands.accept(name, "--rerun")
    if judgement.verdict == "PASS":
        return commands.verify(name)
    return commands.run_again(run) if judgement.absolute else ""
