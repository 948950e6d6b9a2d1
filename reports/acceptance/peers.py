# SPDX-License-Identifier: Apache-2.0
"""Nodes and pairs of nodes judged against their peers; re-runs confirm a suspect.

Values are paired by block, so that what drifts for all nodes alike does not speak against one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from statistics import median

from records.criteria import LinksCriterion, NodesCriterion
from reports.acceptance.bounds import Verdict, decide
from reports.acceptance.criteria_judges import Context, Limits
from reports.acceptance.model import Item, JudgedCriterion, State, limit_text
from reports.acceptance.values import Values
from reports.statistics.estimators import modified_z

#: Re-runs that must show a suspect before it fails.
CONFIRMATIONS = 2

#: node or pair -> block -> value
ByBlock = Mapping[str, Mapping[int, float]]


def shares_of_median(values: ByBlock, *, inverse: bool) -> dict[str, dict[int, float]]:
    """Each value over the median of its block, 1 = like the others; `inverse` turns the ratio over.

    `inverse` is for quantities of which less is better, so that a share below 1 is always worse.
    Blocks with fewer than two members are left out, as are values of a block whose median is 0.
    """
    columns: dict[int, list[float]] = {}
    for member in values.values():
        for block, value in member.items():
            columns.setdefault(block, []).append(value)
    medians = {block: median(column) for block, column in columns.items() if len(column) >= 2}
    return {
        name: {
            block: (medians[block] / value if inverse else value / medians[block])
            for block, value in member.items()
            if medians.get(block, 0.0) > 0 and value > 0
        }
        for name, member in values.items()
    }


def shares_of_best(values: ByBlock, *, least: bool) -> dict[str, dict[int, float]]:
    """Each value over the best member's median over its blocks (`least`: the least is best)."""
    centres = [median(member.values()) for member in values.values() if member]
    best = (min if least else max)(centres, default=0.0)
    return {
        name: {block: value / best for block, value in member.items() if best > 0}
        for name, member in values.items()
    }


def judge_nodes(criterion: NodesCriterion, context: Context) -> JudgedCriterion:
    """Every node's share of the nodes' median, paired by block, against 1 − within."""
    least = 1 - criterion.within
    statement = (
        f"{context.metric_title(criterion.metric)} of every node at least {100 * least:g} % of the"
        f" nodes' median; a node stands out beyond a modified z of {criterion.modified_z:g}"
    )
    items: list[Item] = []
    for peers in _peer_groups(criterion, context):
        inverse = context.lower_is_better(criterion.metric)
        shares = shares_of_median(peers.values, inverse=inverse)
        centres = {name: median(blocks.values()) for name, blocks in shares.items() if blocks}
        scores = modified_z(list(centres.values())).tolist() if centres else []
        ordinary = {
            name: score
            for name, score in zip(centres, scores, strict=True)
            if score >= -criterion.modified_z
        }
        items += peers.judged(shares, (least, None), ordinary, context)
    return context.judged(criterion, statement, items, "; at least two nodes are needed")


def judge_links(criterion: LinksCriterion, context: Context) -> JudgedCriterion:
    """Every pair's share of the best pair, or of the pairs' median."""
    limits = criterion.at_least, criterion.at_most
    other = "best pair's" if criterion.of == "best" else "pairs' median"
    statement = (
        f"{context.metric_title(criterion.metric)} of every pair of nodes"
        f" {limit_text(*limits, '1')} × the {other}"
    )
    items: list[Item] = []
    for peers in _peer_groups(criterion, context):
        if criterion.of == "best":
            least = context.lower_is_better(criterion.metric)
            shares = shares_of_best(peers.values, least=least)
        else:
            shares = shares_of_median(peers.values, inverse=False)
        items += peers.judged(shares, limits, {}, context)
    return context.judged(criterion, statement, items, "; at least two pairs of nodes are needed")


@dataclass(frozen=True)
class _Peers:
    """Nodes or pairs that are compared with each other: one case, one point beside the nodes.

    `parts` has the values of each by name, `values` their value by block: the worse one where both
    directions of a pair were measured.
    """

    point: str
    parts: Mapping[str, list[Values]]
    values: ByBlock

    def judged(
        self,
        shares: ByBlock,
        limits: Limits,
        ordinary: Mapping[str, float],
        context: Context,
    ) -> list[Item]:
        """Each member's item; `ordinary` has the modified z of those that do not stand out."""
        items = []
        for name, (first, *others) in self.parts.items():
            mine = dict(sorted(shares[name].items()))
            measured = list(self.values[name].values())
            item = context.share_item(first, list(mine.values()), measured, limits, others)
            place = natural_order(first.place)
            item = replace(item, subject="–".join(place), place=place, group=self.point)
            items.append(_with_state(item, mine, ordinary.get(name), context))
        return items


def _peer_groups(criterion: NodesCriterion | LinksCriterion, context: Context) -> list[_Peers]:
    """The groups of two members or more."""
    size = 1 if isinstance(criterion, NodesCriterion) else 2
    groups: dict[tuple[str, str], dict[str, list[Values]]] = {}
    for values in context.evidence.selected(criterion):
        if len(values.place) == size:
            point = context.point(values, ("node", "peer"))
            members = groups.setdefault((values.case.id, point), {})
            members.setdefault("–".join(natural_order(values.place)), []).append(values)
    found = []
    for (_, point), members in groups.items():
        worse = max if context.lower_is_better(criterion.metric) else min
        parts = {name: members[name] for name in natural_order(members)}
        merged: dict[str, dict[int, float]] = {name: {} for name in parts}
        for name, several in parts.items():
            for block, value in (pair for one in several for pair in one.by_block().items()):
                merged[name][block] = worse(merged[name].get(block, value), value)
        found.append(_Peers(point, parts, merged))
    return [peers for peers in found if len(peers.parts) > 1]


def natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names with n2 before n10."""
    return tuple(sorted(names, key=natural))


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts n2 before n10."""
    parts = re.findall(r"\d+|\D", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _with_state(
    item: Item, shares: Mapping[int, float], score: float | None, context: Context
) -> Item:
    """The item with what the re-runs say of it; without them a failure is only a suspicion.

    `score` is the modified z of a node that does not stand out, else None.

    A suspicion needs a bound that holds for any distribution (5 launches at 95 %): Student's would
    name somebody too often on a machine whose launches scatter much.
    """
    if item.verdict != "FAIL":
        return _cleared(item, shares, context)
    if score is not None:
        note = f"beyond the limit, but does not stand out from the others (modified z {score:.1f})"
        return replace(item, note=note)
    if item.bounds.method != "order":
        note = f"beyond the limit, but n = {item.bounds.n} is too few to suspect anybody"
        return replace(item, verdict="INCONCLUSIVE", note=note)
    again = [share for block, share in shares.items() if block >= context.evidence.fresh]
    least = -inf if item.at_least is None else item.at_least
    most = inf if item.at_most is None else item.at_most
    beyond = sum(not least <= share <= most for share in again)
    verdict: Verdict = "INCONCLUSIVE"
    state: State = "not confirmed"
    if not again:
        state, note = "suspected", "suspected: it fails when re-runs confirm it"
    elif beyond >= CONFIRMATIONS and 2 * beyond > len(again):
        verdict, state, note = "FAIL", "confirmed", f"confirmed by {beyond} of {len(again)} re-runs"
    else:
        note = f"not confirmed: {beyond} of {len(again)} re-runs are beyond the limit"
    return replace(item, verdict=verdict, state=state, note=note, stands_out=True)


def _cleared(item: Item, shares: Mapping[int, float], context: Context) -> Item:
    """Whether the run alone would have raised a suspicion that its re-runs took away."""
    first = [share for block, share in shares.items() if block < context.evidence.fresh]
    if len(first) == len(shares) or not first:
        return item
    alone = context.bounds(first)
    before, _ = decide(alone, item.at_least, item.at_most, context.criteria.least_launches)
    if before != "FAIL":
        return item
    return replace(item, state="not confirmed", note="suspected in the run, cleared by re-runs")
