# SPDX-License-Identifier: Apache-2.0
"""The judgement of an acceptance: all criteria, the nodes and links named, waivers, re-runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from records.criteria import Criteria, Waiver
from records.plan import PlannedCase
from reports.acceptance.bounds import Bounds, Verdict, worst
from reports.acceptance.criteria_judges import (
    Context,
    judge_efficiency,
    judge_limit,
    judge_ratio,
    judge_spread,
)
from reports.acceptance.model import (
    Accusation,
    Finding,
    Item,
    JudgedCriterion,
    JudgedWaiver,
    Judgement,
    LaunchKey,
    WaiverState,
    with_waivers,
)
from reports.acceptance.peers import judge_links, judge_nodes, natural
from reports.acceptance.values import Evidence

#: Two nodes, in natural order.
Pair = tuple[str, ...]

_ANSWERS = "answers"
_JUDGES: Mapping[str, Callable[[Any, Context], JudgedCriterion]] = {
    "limit": judge_limit,
    "ratio": judge_ratio,
    "spread": judge_spread,
    "efficiency": judge_efficiency,
    "nodes": judge_nodes,
    "links": judge_links,
}


def judge(criteria: Criteria, evidence: Evidence, day: date, rerun_count: int) -> Judgement:
    """Every verdict of an acceptance on the day it is judged; pure, so it can be done again."""
    context = Context(criteria, evidence)
    valid = [w for w in criteria.waivers if date.fromisoformat(w.expires) >= day]
    results = [_answers(context), *(_JUDGES[c.kind](c, context) for c in criteria.criteria)]
    results = [with_waivers(result, valid) for result in results]
    return Judgement(
        verdict=worst([result.effective for result in results]),
        criteria=tuple(results),
        findings=tuple(_findings(results)),
        waivers=tuple(_waiver_states(criteria.waivers, valid, results)),
        rerun=tuple(_cases_to_rerun(results, evidence)),
        rerun_count=rerun_count,
    )


def _answers(context: Context) -> JudgedCriterion:
    """Every launch gave the right answer: one item for each check and environment of the run.

    Counts have no interval. FAIL: a wrong answer, or more launches without an answer than the
    criteria allow. INCONCLUSIVE: launches lost to the machine or not run yet.
    """
    evidence = context.evidence
    cases: dict[tuple[str, str], list[PlannedCase]] = {}
    for case in evidence.planned:
        cases.setdefault((case.check, case.environment), []).append(case)
    place_of = {case.id: place for place, group in cases.items() for case in group}
    found: dict[tuple[str, str], dict[str, list[LaunchKey]]] = {}
    for key, launch in evidence.launches.items():
        place = place_of.get(launch.case_id)
        if place is not None and launch.status != "skipped":
            found.setdefault(place, {}).setdefault(launch.status, []).append(key)
    items = [
        _answers_item(cases[place], found[place], context) for place in cases if place in found
    ]
    allowed = context.criteria.failed_launches_at_most
    return JudgedCriterion(
        id=_ANSWERS,
        kind="answers",
        title="Every launch ran to its end with the right answer",
        statement=f"no wrong answer, at most {allowed} launches of a check without an answer",
        items=tuple(items),
        note="" if items else "no launch has been recorded",
    )


def _answers_item(
    cases: Sequence[PlannedCase], found: Mapping[str, Sequence[LaunchKey]], context: Context
) -> Item:
    """The launches of one check in one environment, `found` by their status."""
    missing = sum(
        (case.id, block) not in context.evidence.launches
        for case in cases
        if case.skipped is None and not case.params.get("reply_before_wait")
        for block in range(1, context.evidence.fresh)
    )
    counts = {status: len(keys) for status, keys in found.items()}
    total = sum(counts.values())
    verdict: Verdict = "INCONCLUSIVE" if counts.get("lost") or missing else "PASS"
    if counts.get("failed", 0) > context.criteria.failed_launches_at_most or counts.get("wrong"):
        verdict = "FAIL"
    told = [f"{count} {status}" for status, count in counts.items() if status != "ok"]
    told += [f"{missing} not run"] if missing else []
    bad = [key for status, keys in found.items() if status != "ok" for key in keys]
    return Item(
        subject=cases[0].check,
        environment=cases[0].environment,
        bounds=Bounds(total, counts.get("ok", 0) / total, None, None, 1.0, "count"),
        unit="1",
        at_least=None,
        at_most=None,
        verdict=verdict,
        note=", ".join(told) or f"all {total} ok",
        launches=tuple(bad or found["ok"]),
        metric=_ANSWERS,
    )


def _findings(results: Sequence[JudgedCriterion]) -> list[Finding]:
    """Slow nodes first, then the links that explain the bad pairs.

    A slow node's note names the slow pairs that only it explains; those are no findings of their
    own, nor are the pairs that a node's link explains.
    """
    measured = {item.place for r in results if r.kind == "links" for item in r.items}
    against: dict[tuple[str, ...], list[Accusation]] = {}
    for result in results:
        for item in result.items:
            if item.state is not None:
                against.setdefault(item.place, []).append(Accusation(result.id, item))
    suspects = {
        place: Finding("node" if len(place) == 1 else "pair", "–".join(place), tuple(accusations))
        for place, accusations in against.items()
    }
    nodes = [finding for finding in suspects.values() if finding.kind == "node"]
    pairs = {place: finding for place, finding in suspects.items() if finding.kind == "pair"}
    slow = {node.name for node in nodes if node.named}
    links, single = explain_links([p for p in pairs if pairs[p].named], measured, slow)
    found = [pairs[p] for p in pairs if p in single or not pairs[p].named]
    for name in links:
        bad = [p for p in pairs if pairs[p].named and name in p and not slow & {*p}]
        note = f"every measured pair of {name} is slow, the pairs of other nodes are not"
        accusations = [accusation for p in bad for accusation in pairs[p].accusations]
        found.append(Finding("link", name, tuple(accusations), note))
    for index, node in enumerate(nodes):
        mine = [pairs[p].name for p in sorted(pairs) if node.name in p and not {*p} & {*links}]
        if node.named and mine:
            note = f"the slow node explains that pairs of it are slow too: {', '.join(mine)}"
            nodes[index] = replace(node, note=note)
    return sorted(nodes, key=_finding_order) + sorted(found, key=_finding_order)


def _finding_order(finding: Finding) -> tuple[bool, str, list[tuple[int, str]]]:
    return not finding.named, finding.kind, natural(finding.name)


def explain_links(
    bad: Collection[Pair], measured: Iterable[Pair], slow_nodes: Collection[str]
) -> tuple[list[str], list[Pair]]:
    """What explains the bad pairs: nodes whose link is bad, single bad pairs; both sorted.

    A pair with a slow node is a consequence of that node. Of the rest, a node's own link is bad
    when every measured pair of it is bad, two at least, and not all other nodes are in the same
    state; what is left are links between two nodes.
    """
    rest = {pair for pair in bad if not set(pair) & set(slow_nodes)}
    open_pairs = {pair for pair in measured if not set(pair) & set(slow_nodes)}
    links = []
    while rest:
        measured_of, bad_of = _pairs_a_node(open_pairs), _pairs_a_node(rest & open_pairs)
        counts = {
            node: count
            for node, count in sorted(bad_of.items())
            if count >= 2 and count == measured_of[node]
        }
        if not counts or counts.keys() == measured_of.keys():
            break
        node = max(counts, key=lambda name: counts[name])
        links.append(node)
        rest = {pair for pair in rest if node not in pair}
        open_pairs = {pair for pair in open_pairs if node not in pair}
    return sorted(links), sorted(rest)


def _pairs_a_node(pairs: Iterable[Pair]) -> Counter[str]:
    """In how many of these (different) pairs each node is."""
    return Counter(node for pair in pairs for node in pair)


def _waiver_states(
    waivers: Sequence[Waiver], valid: Sequence[Waiver], results: Sequence[JudgedCriterion]
) -> Iterable[JudgedWaiver]:
    for waiver in waivers:
        state: WaiverState = "expired"
        if waiver in valid:
            alone = [with_waivers(result, [waiver]) for result in results]
            used = any(item.waived for result in alone for item in result.items)
            state = "applied" if used else "not needed"
        yield JudgedWaiver(waiver, state)


def _cases_to_rerun(results: Sequence[JudgedCriterion], evidence: Evidence) -> list[str]:
    """Cases of undecided items that have not been run again yet, in the plan's order."""
    again = {case_id for case_id, block in evidence.launches if block >= evidence.fresh}
    wanted = {
        case_id
        for result in results
        for item in result.items
        if item.verdict == "INCONCLUSIVE" and not item.waived and result.kind != _ANSWERS
        for case_id, _ in item.launches
    }
    return [case.id for case in evidence.planned if case.id in wanted - again]
