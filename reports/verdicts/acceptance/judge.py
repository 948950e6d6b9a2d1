# SPDX-License-Identifier: Apache-2.0
"""The judgement of an acceptance: all criteria, the nodes and links named, waivers, re-runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from statistics import median_low
from typing import Any, Literal

import numpy as np
from msgspec.structs import asdict, replace

from records.criteria import Criteria, Criterion, EfficiencyCriterion, Waiver
from records.errors import AssayError
from records.flags import DISTURBED, UNPROVEN
from records.plugins import hooks
from records.run.rerun import CHECKS_OF_PAIRS, MOST_BYTES_OF_PAIRS, MOST_PAIRS, argument_bytes
from records.site.pair_scans import Indices, positions_of
from records.text.plain_text import natural
from reports import judgement as forms
from reports.judgement import Finding, Item, JudgedCriterion, Judgement, verdict_of
from reports.statistics.bounds import HEAVY_TAILED, decide, worst
from reports.statistics.descriptive import LEAST_BLOCKS, serial_dependence, widening
from reports.verdicts.acceptance import limits
from reports.verdicts.acceptance.context import Context
from reports.verdicts.acceptance.relative import judge_links, judge_nodes, judge_spread
from reports.verdicts.acceptance.values import CriterionEvidence

_COVERAGE = "nodes-measured"
#: Good pairs that are measured again with undecided ones: as many as those, and these at least.
LEAST_GOOD = 20
#: A node's link is measured again over so many of its pairs, at most.
SAMPLED_PAIRS = 50
#: Where more of all pairs would be run, the whole case is.
MOST_SHARE = 0.5
#: For each case to run again the pairs that are enough, "n1:n2"; none: as planned.
Wanted = dict[str, tuple[str, ...]]
_ORDER: tuple[forms.Subject, ...] = ("group", "node", "cut", "link", "pair", "unsteady", "missing")
_JUDGES: Mapping[str, Callable[[Any, Context], JudgedCriterion]] = {
    "limit": limits.judge_limit,
    "ratio": limits.judge_ratio,
    "spread": judge_spread,
    "efficiency": limits.judge_efficiency,
    "nodes": judge_nodes,
    "links": judge_links,
}


def judge(
    criteria: Criteria, evidence: CriterionEvidence, day: date, rerun_count: int
) -> Judgement:
    """Every verdict of an acceptance on the day it is judged; pure, so it can be done again.

    Limits from the machine itself cannot detect a fault common to all nodes: without an absolute
    limit that something keeps to, nothing passes. Launches that are unproven count only where the
    criteria accept them, those that other programs disturbed never.
    """
    unproven = [] if criteria.unproven == "accept" else [UNPROVEN]
    evidence = evidence.without([DISTURBED, *unproven])
    criteria = criteria.with_mixes_of(evidence.mix_blocks)
    context = Context(criteria, evidence)
    valid = [w for w in criteria.waivers if date.fromisoformat(w.expires) >= day]
    results, left_out = [_with_waivers(limits.judge_answers(context), valid)], []
    if evidence.unmeasured:
        results.append(_coverage(evidence.unmeasured, valid))
    for criterion in criteria.criteria:
        result = _widened(judge_of(criterion)(criterion, context))
        optional = isinstance(criterion, EfficiencyCriterion) and not criterion.required
        if optional and result.lacks_rate:
            left_out.append(forms.LeftOut(result.id, result.note))
        else:
            results.append(_with_waivers(result, valid))
    absolute = any(result.binds for result in results)
    verdict = worst([result.effective for result in results])
    findings = _findings(results)
    rerun = cases_to_rerun(results, evidence) if rerun_count < criteria.reruns_at_most else {}
    return Judgement(
        verdict=verdict if absolute else worst([verdict, "INCONCLUSIVE"]),
        titles=tuple(finding.title for finding in findings if finding.named),
        criteria=tuple(results),
        findings=tuple(findings),
        waivers=tuple(_waiver_states(criteria.waivers, valid, results)),
        rerun_wanted=tuple(rerun),
        rerun_pairs={case: pairs for case, pairs in rerun.items() if pairs},
        left_out=tuple(left_out),
        absolute=absolute,
    )


def judge_of(criterion: Criterion) -> Callable[[Any, Context], JudgedCriterion]:
    """Judge of a criterion's kind, of the core or of a plugin. Raises AssayError without one."""
    for judges in (_JUDGES, *hooks("criterion_judges")):
        if criterion.kind in judges:
            matching: Callable[[Any, Context], JudgedCriterion] = judges[criterion.kind]
            return matching
    raise AssayError(f"criterion {criterion.id}: no plugin judges kind: {criterion.kind}")


def _widened(result: JudgedCriterion) -> JudgedCriterion:
    """The criterion with bounds as wide as the correlation of neighbouring launches asks for: a
    PASS that they do not bear out is open, and so is the FAIL of a value. What re-runs cleared is
    open where the launches are found to be dependent."""
    known = [item.shares for item in result.items if item.method != HEAVY_TAILED]
    # Re-runs of some are chosen by what these were before: as many launches as the others have.
    if not known or (n := median_low(map(len, known))) < LEAST_BLOCKS:
        return result
    rows = [np.log(shares[:n]) for shares in known if len(shares) >= n and min(shares) > 0]
    if not rows:
        return result
    dependence = serial_dependence(rows)
    wider = float(widening(dependence.correlation, dependence.n))
    if wider == 1:
        return result
    alike = (
        f"bounds are {wider:.1f} times as wide: neighbouring launches are alike (lag-1 correlation"
        f" {dependence.correlation:.2f})"
    )
    note = f"{alike}; space them out, or repeat more often"
    items = tuple(_reopened(item, wider, note, dependence.found) for item in result.items)
    verdict, statement = verdict_of(items), result.statement
    if dependence.found:
        statement = f"{statement}; {alike}"
    return replace(result, items=items, verdict=verdict, effective=verdict, statement=statement)


def _reopened(item: Item, wider: float, note: str, dependent: bool) -> Item:
    """The item with wider bounds; open where they do not bear its verdict out."""
    if item.low is None or item.high is None or item.method == "pooled":  # has them already
        return item
    low, high = (item.centre + wider * (end - item.centre) for end in (item.low, item.high))
    after = replace(item, low=low, high=high)
    ends = item.at_least, item.at_most
    before, now = (decide(bounds, *ends, item.n)[0] for bounds in (item, after))
    judged_by_them = item.verdict == "PASS" or (item.verdict == "FAIL" and item.about == "value")
    if judged_by_them and now != item.verdict and (dependent or before == item.verdict):
        return replace(after, verdict="INCONCLUSIVE", note=note)
    return after


def _coverage(unmeasured: Sequence[str], valid: Sequence[Waiver]) -> JudgedCriterion:
    """The criterion that is there where nodes of the partition were not measured: undecided, with
    an item for each of them, which a waiver may name."""
    items = tuple(
        Item(
            *(0, 0.0, None, None, 1.0, "none"),
            subject=node,
            environment="",
            place=(node,),
            about="missing",
            decidable=False,
        )
        for node in unmeasured
    )
    result = JudgedCriterion(
        id=_COVERAGE,
        kind=_COVERAGE,
        title="Every node of the partition was measured",
        statement="values of every node that the partition has, in service or not",
        items=items,
        verdict="INCONCLUSIVE",
        effective="INCONCLUSIVE",
    )
    result = _with_waivers(result, valid)
    still = [item.subject for item in result.items if not item.waived]
    note = f"not measured: {forms.listed_nodes(still or unmeasured)}"
    return replace(result, note=note if still else f"{note}, waived")


def _findings(results: Sequence[JudgedCriterion]) -> list[Finding]:
    """All findings: what is named first, then what re-runs cleared; nodes before links."""
    against: dict[tuple[forms.Subject, str], list[forms.Accusation]] = {}
    for result in results:
        for item in result.items:
            if item.state is not None:
                name = item.subject
                if item.about in ("unsteady", "missing") or not item.place:
                    what = f"{item.metric.replace('_', ' ')}, {item.environment}"
                    name = f"{name} ({what})" if item.metric else result.id
                accusation = forms.Accusation(**asdict(item), criterion=result.id)
                against.setdefault((item.about, name), []).append(accusation)
    found = [_finding(kind, name, items) for (kind, name), items in against.items()]
    return sorted(found, key=lambda one: (not one.named, _ORDER.index(one.kind), natural(one.name)))


def _finding(kind: forms.Subject, name: str, items: Sequence[forms.Accusation]) -> Finding:
    """Finding of these items; confirmed or suspected if any of them is."""
    order: tuple[forms.State, ...] = ("confirmed", "suspected", "missing", "not confirmed")
    states = {item.state for item in items}
    return Finding(
        kind=kind,
        name=name,
        nodes=items[0].place,
        state=next(state for state in order if state in states),
        criteria=tuple(sorted({item.criterion for item in items})),
        accusations=tuple(items),
    )


def _with_waivers(criterion: JudgedCriterion, waivers: Sequence[Waiver]) -> JudgedCriterion:
    """The criterion with the items marked that one of these (valid) waivers covers."""
    mine = [waiver for waiver in waivers if waiver.criterion == criterion.id]
    if not mine:
        return criterion
    items = tuple(
        replace(item, waived=item.verdict != "PASS" and any(_covers(w, item) for w in mine))
        for item in criterion.items
    )
    return replace(criterion, items=items, effective=verdict_of(items, waived=False))


def _covers(waiver: Waiver, item: Item) -> bool:
    """True where a waiver's subject is the item: its node, one of its pair's nodes, or its pair.

    A subject of more nodes is covered by its own name only.
    """
    if waiver.subject is None:
        return True
    if item.about in ("group", "cut"):
        return waiver.subject == item.subject
    pair = {"-".join(item.place), "-".join(reversed(item.place))} if len(item.place) == 2 else set()
    return waiver.subject in {item.subject, *item.place, *pair}


def _waiver_states(
    waivers: Sequence[Waiver], valid: Sequence[Waiver], results: Sequence[JudgedCriterion]
) -> Iterator[forms.JudgedWaiver]:
    for waiver in waivers:
        covered = (
            item.verdict != "PASS" and _covers(waiver, item)
            for result in results
            if result.id == waiver.criterion
            for item in result.items
        )
        used: Literal["applied", "not needed"] = "applied" if any(covered) else "not needed"
        state = used if waiver in valid else "expired"
        yield forms.JudgedWaiver(**waiver.model_dump(), state=state)


def cases_to_rerun(results: Sequence[JudgedCriterion], evidence: CriterionEvidence) -> Wanted:
    """Cases to run once more: suspects, and until it fails what is undecided; of a mix all, for a
    job by itself is another load."""
    items: dict[str, list[Item]] = {}
    for item in _undecided(results):
        for case_id in dict.fromkeys(case_id for case_id, _ in item.launches):
            items.setdefault(case_id, []).append(item)
    if items and evidence.mix_blocks:
        return {case.id: () for case in evidence.planned if case.skipped is None}
    return {
        case.id: _pairs(items[case.id], evidence, case.id) if case.check in CHECKS_OF_PAIRS else ()
        for case in evidence.planned
        if case.id in items
    }


def _undecided(results: Sequence[JudgedCriterion]) -> Iterator[Item]:
    counted = [(r, item) for r in results for item in r.items if not item.waived]
    failed = any(item.verdict == "FAIL" and item.state != "suspected" for _, item in counted)
    for result, item in counted:
        suspected = item.state == "suspected" or item.verdict == "SUSPECT"
        undecided = item.verdict == "INCONCLUSIVE" and (item.state is not None or not failed)
        if result.kind != "answers" and (suspected or undecided) and item.decidable:
            yield item


def _pairs(items: Sequence[Item], evidence: CriterionEvidence, case_id: str) -> tuple[str, ...]:
    """The pairs that the items are about, and as many good ones; none: the whole case."""
    names, node, peer = evidence.pairs_of(case_id)
    number = {name: index for index, name in enumerate(names)}
    links = {number.get(item.place[0], -1) for item in items if item.about == "link"}
    others = [item for item in items if item.about != "link"]
    if any(len(item.place) != 2 or item.about == "cut" for item in others):
        return ()
    ends = [(item, sorted(number.get(name, -1) for name in item.place)) for item in others]
    pairs = [p for item, p in ends if p[0] >= 0 and not (item.charged_to and links & {*p})]
    low, high = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    codes = positions_of(np.minimum(node, peer), np.maximum(node, peer), len(names))
    asked = np.isin(codes, positions_of(low, high, len(names)))
    good = ~asked
    for link in links:
        mine = np.flatnonzero((node == link) | (peer == link))
        good[mine] = False
        asked[mine[_spread(len(mine), SAMPLED_PAIRS)]] = True
    beside = np.flatnonzero(good)
    beside = beside[_spread(len(beside), max(LEAST_GOOD, int(asked.sum())))]
    rows = np.sort(np.concatenate([np.flatnonzero(asked), beside]))
    chosen = tuple(f"{names[node[row]]}:{names[peer[row]]}" for row in rows)
    few = len(rows) <= min(MOST_PAIRS, MOST_SHARE * len(codes))
    return chosen if few and argument_bytes(chosen) <= MOST_BYTES_OF_PAIRS else ()


def _spread(count: int, most: int) -> Indices:
    """Numbers of `most` evenly spread ones of so many; of fewer all."""
    most = min(count, most)
    return np.arange(most) * count // max(most, 1)
