# SPDX-License-Identifier: Apache-2.0
"""Nodes and pairs of nodes judged against the good ones: slow nodes, groups, links, cuts, pairs.

What drifts for all peers alike in a block speaks against none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import exp, log
from statistics import median
from typing import Any

import numpy as np
from msgspec.structs import asdict, replace

from records.criteria import LinksCriterion, NodesCriterion
from records.run.rerun import CHECKS_OF_PAIRS, ONLY
from records.site.pair_scans import sample_told
from reports.answers import limit_text
from reports.judgement import Item, JudgedCriterion, Subject, listed_nodes
from reports.notation.units import as_stated
from reports.statistics.bounds import Bounds, Flags, Limits, bound_rank, decide, decided
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import Peers, reach_of, row_medians, scores_of, top_of
from reports.verdicts.acceptance.context import Context, ShownItems, lowness, settled, shown
from reports.verdicts.acceptance.fabric import Fabric, fabric_of
from reports.verdicts.acceptance.peer_groups import PeerGroup, Place, peer_groups

#: In machines up to this size one better node leaves open whether the others are slow.
SMALL_MACHINE = 16
#: A smaller shortfall does not separate groups.
LEAST_GAP = 0.005


@dataclass(frozen=True)
class PeerLook:
    """Peers of some blocks against the level of the good ones: bounds of each row as shares of it,
    or as multiples where the limit is one, NaN below the least launches; its median in all."""

    peers: Peers
    level: float
    confidence: float
    centre: Matrix
    low: Matrix
    high: Matrix
    passes: Flags
    fails: Flags

    def bounds(self, row: int) -> Bounds:
        """The bounds of a row; none below the launches that a verdict needs."""
        n, centre = int(self.peers.counts[row]), float(self.centre[row])
        if np.isnan(self.low[row]):
            return Bounds(n, centre, None, None, self.confidence, "none")
        low, high = float(self.low[row]), float(self.high[row])
        return Bounds(n, centre, low, high, self.confidence, "pooled")


@dataclass(frozen=True)
class PeerComparison:
    """A group of peers against their good ones; all items that speak of them are made here.

    `levels` are those of the good ones by `group.by_blocks`: in all blocks and, where there are
    re-runs, in those of the run alone.
    """

    group: PeerGroup
    context: Context
    limits: Limits
    levels: Sequence[float]

    @cached_property
    def looks(self) -> list[PeerLook]:
        """All blocks, and those of the run alone."""
        every = self.group.by_blocks
        centre = self._shown(every[0].centres - self.levels[0])
        return [self._look(*one, centre) for one in zip(every, self.levels, strict=True)]

    def _look(self, peers: Peers, level: float, centre: Matrix) -> PeerLook:
        confidence = self.context.level(peers.logs.shape[1])
        ends = np.sort(self._shown(np.stack(reach_of(peers, level, confidence)[:2])), axis=0)
        ends[:, peers.counts < self.context.criteria.least_launches] = np.nan
        passes, fails = decided(ends, self.limits)
        return PeerLook(peers, level, confidence, centre, ends[0], ends[1], passes, fails)

    def _shown(self, logs: Matrix) -> Matrix:
        """Deviations as shares or multiples of the level."""
        return np.asarray(np.exp(logs if self.limits[1] is None else -logs))

    def _shares(self, logs: Matrix) -> list[float]:
        """The shares of a row of deviations, without those that are not known."""
        shares: list[float] = self._shown(logs[np.isfinite(logs)]).tolist()
        return shares

    @property
    def lowness(self) -> Matrix:
        """Order of the rows by their margins, the least first."""
        return lowness(self.looks[0].centre, self.limits)

    @cached_property
    def verdicts(self) -> tuple[Flags, Flags]:
        """Rows that pass by all blocks, or by the run's where re-runs scatter; rows beyond the
        limit or open. Of the others re-runs say more."""
        every, *run = self.looks
        if not run:
            return every.passes, ~every.passes
        passes = (every.passes & ~run[0].fails) | (~every.fails & run[0].passes)
        return passes, every.fails | ~(passes | run[0].fails)

    def item(self, row: int, about: Subject) -> Item:
        """A node or a pair, judged by its bounds; the run's PASS stays when re-runs scatter."""
        every, *run = self.looks
        logs = every.peers.logs[row] - every.level
        known = np.isfinite(logs)
        measured = np.exp(self.group.sign * self.group.logs[row][known])
        place = self.group.place(row)
        item = self._item(
            "–".join(place),
            place,
            about,
            every.bounds(row),
            self._shares(logs),
            measured=median(measured.tolist() or [0.0]),
        )
        if not known.all():
            launches = zip(self.group.launches, known.tolist(), strict=True)
            item = replace(item, launches=tuple(key for key, there in launches if there))
        if not run:
            return item
        if item.verdict == "INCONCLUSIVE" and run[0].passes[row]:
            bounds, note = asdict(run[0].bounds(row)), "met by the launches of the run"
            return replace(item, **bounds, verdict="PASS", note=note)
        if item.verdict == "PASS" and run[0].fails[row]:
            note = "suspected in the run, cleared by re-runs"
            return replace(item, state="not confirmed", note=note)
        if item.verdict == "INCONCLUSIVE" and run[0].fails[row]:
            return settled(item, self.again(row))
        return item

    def again(self, row: int) -> list[float]:
        """A row's shares in re-runs."""
        every = self.looks[0]
        return self._shares(every.peers.logs[row][self.group.fresh] - every.level)

    def suspect(self, item: Item, row: int) -> Item:
        """An item beyond its limit, as re-runs show it; five launches are needed to suspect."""
        if bound_rank(item.n, self.context.criteria.confidence) is None:
            note = f"beyond the limit, but n = {item.n} is too few to suspect anybody"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        return settled(item, self.again(row))

    def together(
        self, rows: Sequence[int], subject: str, place: Place, about: Subject, *, at_once: bool
    ) -> Item:
        """Item of several rows together: the median of them in each block."""
        every, fresh = self.looks[0], self.group.fresh
        logs = row_medians(every.peers.logs[list(rows)].T) - every.level
        shares, again = self._shares(logs), self._shares(logs[fresh])
        bounds = self.context.bounds(shares)
        measured = np.exp(self.group.sign * row_medians(self.group.logs[list(rows)].T))
        measured = measured[np.isfinite(logs)]
        typical = float(np.median(measured)) if measured.size else None
        item = self._item(subject, place, about, bounds, shares, measured=typical)
        if item.verdict == "FAIL":
            if bounds.method == "order":
                return settled(item, again, at_once=at_once)
            note = f"beyond the limit, but n = {bounds.n} is too few to suspect anything"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        before = self.context.bounds(self._shares(logs[~fresh]))
        verdict, _ = decide(before, *self.limits, self.context.criteria.least_launches)
        suspected = again and verdict == "FAIL" and before.method == "order"
        return settled(item, again) if suspected else item

    def _item(
        self,
        subject: str,
        place: Place,
        about: Subject,
        bounds: Bounds,
        shares: Sequence[float],
        **more: Any,
    ) -> Item:
        first, context = self.group.first, self.context
        return context.item(
            first.case,
            first.metric,
            subject,
            bounds,
            self.limits,
            launches=self.group.launches,
            place=place,
            point=self.group.point,
            measured_unit=context.evidence.register.metrics[first.metric].unit,
            about=about,
            shares=tuple(shares),
            **more,
        )


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
    tops = [top_of(peers.centres, gap, peers.error) for peers in group.by_blocks]
    found = PeerComparison(group, context, (least, None), [top.level for top in tops])
    scores = scores_of(group.by_blocks[0], tops[0])
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

    part = shown(item, found.verdicts[0] & ~better, found.lowness)
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
    part = shown(item, passes | charged, found.lowness, cause)
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
