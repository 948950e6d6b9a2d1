# SPDX-License-Identifier: Apache-2.0
"""Nodes judged against the good nodes: slow ones are named, and slow groups.

What drifts for all nodes alike in a block speaks against none of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log
from typing import Any

import numpy as np
from msgspec.structs import replace

from records.criteria import LinksCriterion, NodesCriterion
from records.site.pair_places import Indices
from reports.judgement import Item, JudgedCriterion, Subject, bounded, listed_nodes
from reports.notation.units import as_stated
from reports.statistics.bounds import (
    Bounds,
    Flags,
    Limits,
    bound_rank,
    decide,
    rows_kept,
)
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import Peers, Reach, peers_of, reach_of, scores_of
from reports.verdicts.acceptance.criteria_judges import Context
from reports.verdicts.acceptance.peer_groups import PeerGroup, Place, peer_groups
from reports.verdicts.acceptance.reruns import settled

#: In machines up to this size one better node leaves open whether the others are slow.
SMALL_MACHINE = 16
#: A smaller shortfall does not separate groups.
LEAST_GAP = 0.005


@dataclass(frozen=True)
class PeerComparison:
    """A group of peers measured against a level: all items that speak of them are made here.

    Shares are shown so that greater is better, or as multiples where the limit is one. `by_blocks`
    are the peers in all blocks and, where there are re-runs, in those of the run alone; `levels`
    the level of the good ones in each.
    """

    group: PeerGroup
    context: Context
    limits: Limits
    by_blocks: Sequence[Peers]
    levels: Sequence[float]

    @property
    def peers(self) -> Peers:
        """The peers in all blocks."""
        return self.by_blocks[0]

    @property
    def level(self) -> float:
        """The level of the good ones in all blocks."""
        return self.levels[0]

    @cached_property
    def _reach(self) -> list[Reach]:
        """Bounds of each row by all blocks, and by those of the run alone."""
        return [
            reach_of(peers, level, self.context.level(peers.logs.shape[1]))
            for peers, level in zip(self.by_blocks, self.levels, strict=True)
        ]

    @cached_property
    def _fresh(self) -> Flags:
        """Which columns are blocks of re-runs."""
        return np.asarray(self.group.blocks) >= self.context.evidence.fresh

    def rows(self) -> Indices:
        """The rows that get an item: all, or of very many those that are not plainly good, and the
        lowest of the others."""
        least, most = self.limits[0] or 0.0, self.limits[1] or inf
        ends = [np.sort([self._shown(end) for end in reach[:2]], axis=0) for reach in self._reach]
        plain = self.peers.counts >= self.context.criteria.least_launches
        plain &= (ends[0][0] >= least) & (ends[0][1] <= most)
        for low, high in ends[1:]:
            plain &= (high >= least) & (low <= most)
        return rows_kept(~plain, self.peers.centres, plain)

    def _shown(self, logs: Matrix) -> Matrix:
        """Deviations as shares or multiples of the level."""
        return np.asarray(np.exp(logs if self.limits[1] is None else -logs))

    def _shares(self, logs: Matrix) -> list[float]:
        """The shares of a row of deviations, without those that are not known."""
        found: list[float] = self._shown(logs[np.isfinite(logs)]).tolist()
        return found

    def _bounds(self, row: int, reach: Reach, n: int) -> Bounds:
        """The bounds of a row in shares; none below the launches that a verdict needs."""
        ends = sorted(self._shown(np.array([reach.low[row], reach.high[row]])).tolist())
        centre = float(self._shown(self.peers.centres[row] - self.level))
        if n < self.context.criteria.least_launches:
            return Bounds(n, centre, None, None, reach.confidence, "none")
        return Bounds(n, centre, ends[0], ends[1], reach.confidence, "pooled")

    def item(self, row: int, about: Subject) -> Item:
        """A node or a pair, judged by its bounds; the run's PASS stays when re-runs scatter."""
        logs = self.peers.logs[row] - self.level
        known = np.isfinite(logs)
        bounds = self._bounds(row, self._reach[0], int(known.sum()))
        measured = np.exp(self.group.sign * self.group.logs[row][known])
        item = self._item(
            "–".join(self.group.place(row)),
            self.group.place(row),
            about,
            bounds,
            self._shares(logs),
            measured=float(np.median(measured)) if measured.size else 0.0,
        )
        if not known.all():
            launches = zip(self.group.launches, known.tolist(), strict=True)
            item = replace(item, launches=tuple(key for key, there in launches if there))
        if len(self._reach) == 1:
            return item
        bounds = self._bounds(row, self._reach[1], int((known & ~self._fresh).sum()))
        before, _ = decide(bounds, *self.limits, self.context.criteria.least_launches)
        if item.verdict == "INCONCLUSIVE" and before == "PASS":
            note = "met by the launches of the run"
            return replace(bounded(item, bounds), verdict="PASS", note=note)
        if item.verdict == "PASS" and before == "FAIL":
            note = "suspected in the run, cleared by re-runs"
            return replace(item, state="not confirmed", note=note)
        if item.verdict == "INCONCLUSIVE" and before == "FAIL":
            return settled(item, self.again(row))
        return item

    def again(self, row: int) -> list[float]:
        """A row's shares in re-runs."""
        return self._shares(self.peers.logs[row][self._fresh] - self.level)

    def suspect(self, item: Item, row: int) -> Item:
        """An item beyond its limit, as re-runs show it; five launches are needed to suspect."""
        if bound_rank(item.n, self.context.criteria.confidence) is None:
            note = f"beyond the limit, but n = {item.n} is too few to suspect anybody"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        return settled(item, self.again(row))

    def together(
        self, rows: Sequence[int], subject: str, place: Place, about: Subject, *, at_once: bool
    ) -> Item:
        """One item for what several rows have in common: the median of them in each block."""
        logs = _medians(self.peers.logs[list(rows)]) - self.level
        shares, again = self._shares(logs), self._shares(logs[self._fresh])
        bounds = self.context.bounds(shares)
        measured = np.exp(self.group.sign * _medians(self.group.logs[list(rows)]))
        measured = measured[np.isfinite(logs)]
        median = float(np.median(measured)) if measured.size else None
        item = self._item(subject, place, about, bounds, shares, measured=median)
        if item.verdict == "FAIL":
            if bounds.method == "order":
                return settled(item, again, at_once=at_once)
            note = f"beyond the limit, but n = {bounds.n} is too few to suspect anything"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        before = self.context.bounds(self._shares(logs[~self._fresh]))
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


def _medians(logs: Matrix) -> Matrix:
    """The median of each column; NaN where it has no value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmedian(logs, axis=0))


@dataclass(frozen=True, slots=True)
class GroupItems:
    """The items of a group; how many good peers have none, and how many explained pairs."""

    items: list[Item]
    passed: int = 0
    explained: int = 0


def peers_by_blocks(group: PeerGroup, context: Context) -> list[Peers]:
    """The peers in all blocks and, where there are re-runs, in those of the run alone."""
    mine = np.asarray(group.blocks) < context.evidence.fresh
    again = mine.any() and not mine.all()
    return [peers_of(logs) for logs in (group.logs, *([group.logs[:, mine]] if again else []))]


def judged_peers(
    criterion: NodesCriterion | LinksCriterion,
    context: Context,
    statement: str,
    size: int,
    items_of: Callable[[PeerGroup], GroupItems],
) -> JudgedCriterion:
    """A criterion on nodes (size 1) or pairs (2)."""
    items: list[Item] = []
    further = explained = 0
    for group in peer_groups(criterion, context, size):
        made = items_of(group)
        good = np.array([one.verdict == "PASS" and one.state is None for one in made.items])
        margins = np.array([one.margin or 0.0 for one in made.items])
        rows = rows_kept(~good, margins, good).tolist()
        items += [*(made.items[row] for row in rows), *group.missing(criterion, context)]
        further += made.passed + len(made.items) - len(rows)
        explained += made.explained
    needs = f"; at least two {'nodes' if size == 1 else 'pairs of nodes'} are needed"
    return context.judged(criterion, statement, items, needs, further=further, explained=explained)


def judge_nodes(criterion: NodesCriterion, context: Context) -> JudgedCriterion:
    """Every node's share of the good nodes' level against 1 − within."""
    statement = (
        f"{context.metric_title(criterion.metric)} of every node at least"
        f" {as_stated(100 * (1 - criterion.within))} % of the good nodes' median; a node stands out"
        f" beyond a modified z of {as_stated(criterion.modified_z)}"
    )

    def items_of(group: PeerGroup) -> GroupItems:
        return GroupItems(_node_items(group, criterion, context))

    return judged_peers(criterion, context, statement, 1, items_of)


def _node_items(group: PeerGroup, criterion: NodesCriterion, context: Context) -> list[Item]:
    """An item for each node; where half of them or more are slow, one for their group."""
    least = 1 - criterion.within
    gap = max(-log(least), LEAST_GAP)
    every = peers_by_blocks(group, context)
    top, *_ = tops = [peers.top(gap) for peers in every]
    found = PeerComparison(group, context, (least, None), every, [one.level for one in tops])
    scores = scores_of(found.peers, top)
    items = [found.item(row, "node") for row in range(len(scores))]
    slow = [row for row, item in enumerate(items) if item.verdict == "FAIL"]
    out = [row for row in slow if scores[row] < -criterion.modified_z]
    together = None
    if len(out) >= 2 and 2 * len(out) >= len(items):
        place = tuple(group.place(row)[0] for row in out)
        together = found.together(out, listed_nodes(place), place, "group", at_once=True)
    for row in slow:
        if row not in out:
            note = f"does not stand out from the others (modified z {scores[row]:.1f})"
            items[row] = replace(items[row], note=f"beyond the limit, but {note}")
        elif together is not None:
            note = "one of a slow group"
            items[row] = replace(items[row], verdict=together.verdict, note=note)
        else:
            items[row] = found.suspect(items[row], row)
    for row in np.flatnonzero(top.better).tolist() if len(items) <= SMALL_MACHINE else ():
        by = 100 * (exp(found.peers.centres[row] - top.level) - 1)
        note = (
            f"{by:.0f} % better than all others: it is not like them, or they all are slow;"
            " an absolute limit tells, a waiver for this node settles it"
        )
        items[row] = replace(items[row], verdict="INCONCLUSIVE", note=note, decidable=False)
    return [*items, together] if together else items
