# SPDX-License-Identifier: Apache-2.0
"""The judgement of an acceptance: all criteria, the nodes and links named, waivers, re-runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date

from records.criteria import (
    Criteria,
    Criterion,
    EfficiencyCriterion,
    LimitCriterion,
    LinksCriterion,
    NodesCriterion,
    RatioCriterion,
    SpreadCriterion,
    Waiver,
)
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
    State,
    SubjectKind,
    WaiverState,
    with_waivers,
)
from reports.acceptance.peers import judge_links, judge_nodes, natural
from reports.acceptance.uniformity import Pair, explain_links
from reports.acceptance.values import Evidence

_ANSWERS = "answers"


def judge(criteria: Criteria, evidence: Evidence, day: date, rerun_count: int) -> Judgement:
    """Every verdict of an acceptance on the day it is judged; pure, so it can be done again."""
    context = Context(criteria, evidence)
    valid = [w for w in criteria.waivers if date.fromisoformat(w.expires) >= day]
    results = [_answers(context), *(_one(criterion, context) for criterion in criteria.criteria)]
    results = [with_waivers(result, valid) for result in results]
    return Judgement(
        verdict=worst([result.effective for result in results]),
        criteria=tuple(results),
        findings=tuple(_findings(results)),
        waivers=tuple(_waiver_states(criteria.waivers, valid, results)),
        rerun=tuple(_cases_to_rerun(results, evidence)),
        rerun_count=rerun_count,
    )


def _one(criterion: Criterion, context: Context) -> JudgedCriterion:
    match criterion:
        case LimitCriterion():
            return judge_limit(criterion, context)
        case RatioCriterion():
            return judge_ratio(criterion, context)
        case SpreadCriterion():
            return judge_spread(criterion, context)
        case EfficiencyCriterion():
            return judge_efficiency(criterion, context)
        case NodesCriterion():
            return judge_nodes(criterion, context)
        case LinksCriterion():
            return judge_links(criterion, context)
    raise AssertionError(f"no judge for criteria of kind {criterion.kind}")


def _answers(context: Context) -> JudgedCriterion:
    """Right answers, and no launch without one: of every check and environment of the run.

    Counts, so no interval: a wrong answer fails, as do more launches without an answer than the
    criteria allow; launches lost to the machine or still to come leave it open.
    """
    groups: dict[tuple[str, str], dict[str, list[tuple[str, int]]]] = {}
    planned = {case.id: case for case in context.evidence.planned}
    for key, launch in context.evidence.launches.items():
        case = planned.get(launch.case_id)
        if case is not None and launch.status != "skipped":
            statuses = groups.setdefault((case.check, case.environment), {})
            statuses.setdefault(launch.status, []).append(key)
    order = dict.fromkeys((case.check, case.environment) for case in context.evidence.planned)
    items = [_answers_item(*place, groups[place], context) for place in order if place in groups]
    allowed = context.criteria.failed_launches_at_most
    return JudgedCriterion(
        id=_ANSWERS,
        kind="answers",
        title="Every launch ran to its end with the right answer",
        statement=f"no wrong answer, at most {allowed} launches of a check without an answer",
        items=tuple(items),
        note="" if items else "no launch has been recorded",
        empty=not items,
    )


def _answers_item(
    check: str, environment: str, found: dict[str, list[tuple[str, int]]], context: Context
) -> Item:
    counts = {status: len(keys) for status, keys in found.items()}
    total = sum(counts.values())
    good = counts.get("ok", 0)
    verdict: Verdict = "PASS"
    if counts.get("lost"):
        verdict = "INCONCLUSIVE"
    if counts.get("failed", 0) > context.criteria.failed_launches_at_most or counts.get("wrong"):
        verdict = "FAIL"
    if verdict == "PASS" and _missing(check, environment, context):
        verdict = "INCONCLUSIVE"
    bad = [key for status, keys in found.items() if status != "ok" for key in keys]
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if status != "ok")
    missing = _missing(check, environment, context)
    told = ", ".join(part for part in (told, f"{missing} not run" if missing else "") if part)
    return Item(
        subject=check,
        environment=environment,
        bounds=Bounds(total, good / total, None, None, 1.0, "count"),
        unit="1",
        at_least=None,
        at_most=None,
        verdict=verdict,
        note=told or f"all {total} ok",
        launches=tuple(bad or found["ok"]),
        metric=_ANSWERS,
    )


def _missing(check: str, environment: str, context: Context) -> int:
    """Launches of the run that were planned and have no record."""
    cases = [
        case
        for case in context.evidence.planned
        if (case.check, case.environment) == (check, environment)
        and case.skipped is None
        and not case.params.get("reply_before_wait")
    ]
    blocks = range(1, context.evidence.fresh)
    return sum(
        (case.id, block) not in context.evidence.launches for case in cases for block in blocks
    )


def _findings(results: Sequence[JudgedCriterion]) -> list[Finding]:
    """Slow nodes first, then the links that explain the bad pairs."""
    nodes: dict[str, list[Accusation]] = {}
    pairs: dict[Pair, list[Accusation]] = {}
    measured: set[Pair] = set()
    for result in results:
        for item in result.items:
            if result.kind == "links":
                measured.add(_pair(item))
            if item.state is None:
                continue
            if result.kind == "nodes":
                nodes.setdefault(item.subject, []).append(Accusation(result.id, item))
            elif result.kind == "links":
                pairs.setdefault(_pair(item), []).append(Accusation(result.id, item))
    slow = {name for name, against in nodes.items() if _state(against) != "not confirmed"}
    found = [_finding("node", name, against) for name, against in nodes.items()]
    links = _link_findings(pairs, measured, slow)
    other = {finding.name for finding in links if finding.kind == "link"}
    found = [_with_consequence(f, pairs, other) if f.name in slow else f for f in found]
    return sorted(found, key=_finding_order) + links


def _pair(item: Item) -> Pair:
    first, second = item.place
    return first, second


def _link_findings(
    pairs: dict[Pair, list[Accusation]], measured: set[Pair], slow: set[str]
) -> list[Finding]:
    bad = [pair for pair, against in pairs.items() if _state(against) != "not confirmed"]
    links, single, _ = explain_links(bad, measured, slow)
    found = []
    for node in links:
        mine = [a for pair in bad if node in pair and not set(pair) & slow for a in pairs[pair]]
        note = f"every measured pair of {node} is slow, the pairs of other nodes are not"
        found.append(_finding("link", node, mine, note))
    found += [_finding("pair", "–".join(pair), pairs[pair]) for pair in single]
    cleared = [pair for pair in pairs if pair not in bad]
    found += [_finding("pair", "–".join(pair), pairs[pair]) for pair in cleared]
    return sorted(found, key=_finding_order)


def _finding(
    kind: SubjectKind, name: str, against: Iterable[Accusation], note: str = ""
) -> Finding:
    against = tuple(against)
    return Finding(kind, name, _state(against), against, note)


def _state(against: Sequence[Accusation]) -> State:
    states = {accusation.item.state for accusation in against}
    if "confirmed" in states:
        return "confirmed"
    return "suspected" if "suspected" in states else "not confirmed"


def _with_consequence(
    finding: Finding, pairs: dict[Pair, list[Accusation]], slow_links: set[str]
) -> Finding:
    """The finding of a slow node with the slow pairs that only it explains."""
    mine = [
        "–".join(pair)
        for pair in sorted(pairs)
        if finding.name in pair and not set(pair) & slow_links
    ]
    if not mine:
        return finding
    note = f"the slow node explains that pairs of it are slow too: {', '.join(mine)}"
    return replace(finding, note=note)


def _finding_order(finding: Finding) -> tuple[bool, str, tuple[tuple[int, str], ...]]:
    return finding.state == "not confirmed", finding.kind, natural(finding.name)


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
