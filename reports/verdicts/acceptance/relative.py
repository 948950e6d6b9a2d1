# SPDX-License-Identifier: Apache-2.0
"""Criteria with limits from the machine itself: nodes and links against the good ones, spreads.

What drifts for all peers alike in a block speaks against none of them. A limit on the scatter of
each of many items can hardly be met by few launches: 64 items at n = 5 and a limit of 2 % need a
true CV of 0.43 %. So the pooled variance is held against the limit, and an item is named when its
own is beyond it by a test over all items. Re-runs confirm what is beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import exp, log

import numpy as np
from msgspec.structs import replace
from scipy import special  # type: ignore[import-untyped]

from records.criteria import LinksCriterion, NodesCriterion, SpreadCriterion
from records.run.rerun import CHECKS_OF_PAIRS, ONLY
from records.site.pair_scans import sample_told
from reports.answers import limit_text
from reports.judgement import Item, JudgedCriterion, listed_nodes
from reports.notation.units import as_stated, significant
from reports.statistics import levels
from reports.statistics.bounds import Bounds, Flags, decide, spread_bounds, spread_factors
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.context import Context, ShownItems, settled, shown
from reports.verdicts.acceptance.fabric import Fabric, fabric_of
from reports.verdicts.acceptance.peers import PeerComparison, PeerGroup, peer_groups
from reports.verdicts.acceptance.values import Rows, Values, rows_of

#: In machines up to this size one better node leaves open whether the others are slow.
SMALL_MACHINE = 16
#: A smaller shortfall does not separate groups.
LEAST_GAP = 0.005
#: Peers of one launch from which on what all have in common in a block is taken off.
LEAST_PEERS = 4
#: Chance that anybody of a case is suspected by mistake, as a share of that of a bound.
NOISY_CHANCE = 0.2
#: Fresh launches that a suspect is judged by.
LEAST_FRESH = 3


def judge_spread(criterion: SpreadCriterion, context: Context) -> JudgedCriterion:
    """The coefficient of variation of launches: of all items together, and of each."""
    parts = []
    for rows in _groups(criterion, context):
        if len(rows.matrix) == 1:
            parts.append(ShownItems([_alone(rows.values(0), criterion, context)]))
        else:
            parts.append(_together(rows, criterion, context))
    statement = (
        f"{context.metric_title(criterion.metric)}: coefficient of variation over the launches"
        f" at most {as_stated(criterion.cv_at_most)}"
    )
    return context.judged(criterion, statement, parts)


def _groups(criterion: SpreadCriterion, context: Context) -> Iterator[Rows]:
    """Rows judged together: nodes or pairs of a case, all cases without nodes."""
    apart: list[Values] = []
    for rows in context.evidence.rows(criterion):
        if rows.values(0).place:
            yield rows
        else:
            apart += map(rows.values, range(len(rows.matrix)))
    if apart:
        yield rows_of(apart)


def _alone(values: Values, criterion: SpreadCriterion, context: Context) -> Item:
    """A value that has no peers: the interval of its own deviation."""
    numbers, least_n = values.values.tolist(), context.criteria.least_launches
    confidence = context.level(len(numbers))
    bounds = spread_bounds(numbers, confidence, least_n)
    item = context.value_item(values, numbers, (None, criterion.cv_at_most), bounds=bounds)
    again = values.values[values.blocks >= context.evidence.fresh].tolist()
    return _confirmed(item, spread_bounds(again, confidence) if again else None)


def _together(rows: Rows, criterion: SpreadCriterion, context: Context) -> ShownItems:
    """An item for all together, in which noisy ones do not count, and one for each. Blocks of the
    run say which are noisy, re-runs confirm it."""
    limit, criteria, count = criterion.cv_at_most, context.criteria, len(rows.matrix)
    placed = bool(rows.values(0).place)
    shared = placed and count >= LEAST_PEERS
    logs = np.log(np.where(rows.matrix > 0, rows.matrix, np.nan))  # 0 has no relative spread
    logs = levels.peers_of(logs).logs if shared else logs
    fresh = rows.blocks >= context.evidence.fresh
    parts = logs, logs[:, ~fresh], logs[:, fresh]
    every, before, again = (levels.deviations_of(part, shared=shared) for part in parts)
    noisy = _beyond(*before, limit, NOISY_CHANCE * (1 - criteria.confidence))
    counts = np.isfinite(logs).sum(axis=1)

    def item(row: int) -> Item:
        bounds = _bounds(int(counts[row]), every[0][row], every[1][row], context)
        known = logs[row][np.isfinite(logs[row])]
        shares, limits = np.exp(known).tolist(), (None, limit if noisy[row] else None)
        single = context.value_item(rows.values(row), shares, limits, bounds=bounds)
        if not noisy[row]:
            return single
        away = np.abs(logs[row, fresh] - np.nanmedian(logs[row]))
        single = replace(single, verdict="FAIL", about="unsteady")
        return settled(single, away[np.isfinite(away)].tolist())

    counted = ~noisy if 2 * noisy.sum() < count else np.ones(count, dtype=bool)
    bounds = _bounds(int(counts[counted].min()), *_pooled(every, counted), context)
    whole = replace(
        context.value_item(rows.values(0), (), (None, limit), bounds=bounds),
        subject=f"{int(counted.sum())} of {count} together",
        environment="all" if len(rows.environments) > 1 else min(rows.environments),
        place=(),
        launches=rows.launches,
    )
    deviation, freedom = _pooled(again, counted)
    since = _bounds(LEAST_FRESH, deviation, freedom, context) if freedom else None
    plain = ~noisy & (counts >= criteria.least_launches) & placed
    part = shown(item, plain, every[0])
    return part._replace(items=[_confirmed(whole, since), *part.items])


def _beyond(deviations: Matrix, freedom: Matrix, limit: float, chance: float) -> Flags:
    """Whose variance is beyond the limit (χ²) and beyond that of the others (F), by Holm."""
    known = freedom > 0
    p = np.ones(len(freedom))
    if known.any():
        own, k = deviations[known] ** 2, freedom[known]
        usual = float(np.median(deviations[known] / levels.typical_deviation(k))) ** 2
        others = np.maximum(1.0, levels.EFFICIENCY * (k.sum() - k))
        p[known] = np.maximum(
            special.gammaincc(k / 2, k * own / limit**2 / 2),
            special.fdtrc(k, others, own / max(usual, 1e-300)),
        )
    order = np.argsort(p, kind="stable")
    holm = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)) <= chance
    noisy = np.zeros(len(p), dtype=bool)
    noisy[order[holm]] = True
    return noisy


def _pooled(found: tuple[Matrix, Matrix], counted: Flags) -> tuple[float, float]:
    """The pooled deviation, and its degrees of freedom.

    Of many items it is the median of their deviations: who has a stray launch is asked apart.
    """
    deviations, freedom = (part[counted] for part in found)
    known, total = freedom > 0, float(freedom.sum())
    if known.sum() >= LEAST_PEERS:
        typical = levels.typical_deviation(freedom[known])
        return float(np.median(deviations[known] / typical)), levels.EFFICIENCY * total
    return float(np.sqrt((freedom * deviations**2).sum() / total)) if total else 0.0, total


def _bounds(n: int, deviation: float, freedom: float, context: Context) -> Bounds:
    """Bounds of a deviation of so many degrees of freedom, one-sided."""
    confidence = context.level(n)
    if freedom <= 0:
        return Bounds(n, deviation, None, None, confidence, "none")
    low, high = spread_factors(freedom, confidence)
    return Bounds(n, deviation, deviation * low, deviation * high, confidence, "chi-squared")


def _confirmed(item: Item, fresh: Bounds | None) -> Item:
    """An item; of one beyond its limit re-runs alone confirm it, or clear it by their bound."""
    if item.verdict != "FAIL":
        return item
    if fresh is None:
        note = "beyond the limit: it fails when re-runs confirm it"
        return replace(item, verdict="SUSPECT", note=note)
    again, limit = f"{significant(100 * fresh.centre, 2)} % in re-runs", item.at_most or 0.0
    if fresh.centre > limit:
        return replace(item, note=f"confirmed: {again}")
    verdict, _ = decide(fresh, None, limit, LEAST_FRESH)
    word = "cleared" if verdict == "PASS" else "not confirmed"
    return replace(item, verdict=verdict, note=f"{word}: {again}")


def _judged_peers(
    criterion: NodesCriterion | LinksCriterion,
    context: Context,
    statement: str,
    size: int,
    items_of: Callable[[PeerGroup], ShownItems],
) -> JudgedCriterion:
    """A criterion on nodes (size 1) or pairs (2)."""
    groups = peer_groups(criterion, context, size)
    parts = (
        part
        for group in groups
        for part in (items_of(group), ShownItems([*group.missing(criterion, context)]))
    )
    needs = f"; at least two {'nodes' if size == 1 else 'pairs of nodes'} are needed"
    return context.judged(criterion, statement, parts, needs)


def judge_nodes(criterion: NodesCriterion, context: Context) -> JudgedCriterion:
    """Every node's share of the good nodes' level against 1 − within."""
    statement = (
        f"{context.metric_title(criterion.metric)} of every node at least"
        f" {as_stated(100 * (1 - criterion.within))} % of the good nodes' median; a node stands out"
        f" beyond a modified z of {as_stated(criterion.modified_z)}"
    )
    items_of = partial(_node_items, criterion=criterion, context=context)
    return _judged_peers(criterion, context, statement, 1, items_of)


def _node_items(group: PeerGroup, criterion: NodesCriterion, context: Context) -> ShownItems:
    """An item for each node; where half of them or more are slow, one for their group."""
    least = 1 - criterion.within
    gap = max(-log(least), LEAST_GAP)
    tops = [levels.top_of(peers.centres, gap, peers.error) for peers in group.by_blocks]
    found = PeerComparison(group, context, (least, None), [top.level for top in tops])
    scores = levels.scores_of(group.by_blocks[0], tops[0])
    stand_out = scores < -criterion.modified_z
    beyond = np.flatnonzero(stand_out & ~found.verdicts[0]).tolist()
    out = [row for row in beyond if found.item(row, "node").verdict == "FAIL"]
    better = tops[0].better & (len(scores) <= SMALL_MACHINE)
    group_item = None
    if len(out) >= 2 and 2 * len(out) >= len(scores):
        place = tuple(group.place(row)[0] for row in out)
        group_item = found.together(out, listed_nodes(place), place, "group", at_once=True)

    def item(row: int) -> Item:
        node = found.item(row, "node")
        if better[row]:
            by = 100 * (exp(found.looks[0].peers.centres[row] - tops[0].level) - 1)
            note = (
                f"{by:.0f} % better than all others: it is not like them, or they all are slow;"
                " an absolute limit tells, a waiver for this node settles it"
            )
            return replace(node, verdict="INCONCLUSIVE", note=note, decidable=False)
        if node.verdict != "FAIL":
            return node
        if not stand_out[row]:
            note = f"does not stand out from the others (modified z {scores[row]:.1f})"
            return replace(node, note=f"beyond the limit, but {note}")
        if group_item is not None:
            return replace(node, verdict=group_item.verdict, note="one of a slow group")
        return found.suspect(node, row)

    part = shown(item, found.verdicts[0] & ~better, found.looks[0].centre, found.limits)
    return part._replace(items=[*part.items, group_item]) if group_item else part


def judge_links(criterion: LinksCriterion, context: Context) -> JudgedCriterion:
    """Every pair's share of the good pairs' level or of the best; what explains slow pairs."""
    other = "best pair's" if criterion.of == "best" else "good pairs' median"
    title = context.metric_title(criterion.metric).removesuffix(" of the pair")
    limit = limit_text(criterion.at_least, criterion.at_most, "1")
    cases = {case.id: case for case in context.evidence.cases_of(criterion)}.values()
    scans = [case for case in cases if case.check in CHECKS_OF_PAIRS]
    missed = dict.fromkeys(sample_told(case.nodes, case.params) for case in scans)
    samples = [f"each launch measured {text}" for text in missed if text]
    nodes = len(context.evidence.nodes)
    some = samples or any(case.params.get(ONLY) or case.nodes < nodes for case in scans)
    every = f"every {'measured ' if some else ''}pair of nodes"
    statement = "; ".join([f"{title} of {every} {limit} × the {other}", *samples])
    items_of = partial(_pair_items, criterion=criterion, context=context)
    return _judged_peers(criterion, context, statement, 2, items_of)


def _pair_items(group: PeerGroup, criterion: LinksCriterion, context: Context) -> ShownItems:
    """The items of slow links of nodes and of cuts, then one for each pair."""
    gap = max(LEAST_GAP, log(criterion.at_most or 1.0), -log(criterion.at_least or 1.0))
    pairs, fabrics = (group.ends, len(group.names), gap), []
    for peers in group.by_blocks:
        best = float(np.nanmax(peers.centres)) if criterion.of == "best" else None
        fabrics.append(fabric_of(peers.centres, *pairs, peers.error, level=best))
    limits = criterion.at_least, criterion.at_most
    found = PeerComparison(group, context, limits, [fabric.level for fabric in fabrics])
    # Where re-runs measured some pairs, the run alone says what is slow; they confirm or clear it.
    measured_again = np.isfinite(group.logs[:, group.fresh]).any(axis=1)
    fabric = fabrics[0 if measured_again.all() else -1]
    parts = list(_part_items(found, fabric))
    causes = [f"the slow {_WAYS[part.about]} {part.subject}" for part in parts]
    # Of each pair's part, and of none: whether it is slow, or was suspected and is cleared.
    slow = np.array([*(part.verdict != "PASS" for part in parts), False])[fabric.explained]
    cleared = np.array([*(bool(part.state) for part in parts), False])[fabric.explained] & ~slow
    cleared &= ~measured_again

    def item(row: int) -> Item:
        pair = found.item(row, "pair")
        if pair.verdict != "PASS" and (slow[row] or cleared[row]):
            number = int(fabric.explained[row])
            note, cause = f"explained by {causes[number]}", causes[number]
            if cleared[row]:
                note = f"{note}, which re-runs cleared"
                return replace(pair, verdict="PASS", note=note, charged_to=cause)
            verdict = parts[number].verdict
            return replace(pair, verdict=verdict, state=None, note=note, charged_to=cause)
        return found.suspect(pair, row) if pair.verdict == "FAIL" else pair

    passes, others = found.verdicts
    charged = others & (slow | cleared)
    cause = np.where(charged, fabric.explained, -1)
    part = shown(item, passes | charged, found.looks[0].centre, limits, cause)
    first = [one for one in parts if one.verdict != "PASS" or one.state]
    return part._replace(items=[*first, *part.items])


_WAYS = {"link": "link of", "cut": "cut between"}


def _part_items(found: PeerComparison, fabric: Fabric) -> Iterator[Item]:
    """An item for each part. Cuts fail before re-runs confirm them, and links if half are slow."""
    names = found.group.names
    many = 2 * sum(part.kind == "link" for part in fabric.parts) >= len(names)
    for part in fabric.parts:
        groups = [listed_nodes([names[node] for node in group], 2) for group in part.groups]
        place = tuple(names[node] for node in part.nodes)
        at_once = part.kind == "cut" or many
        rows = part.pairs.tolist()
        yield found.together(rows, " and ".join(groups), place, part.kind, at_once=at_once)
