# SPDX-License-Identifier: Apache-2.0
"""Nodes judged against the good nodes: slow ones are named, and slow groups.

What drifts for all nodes alike in a block speaks against none of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from records.criteria import LinksCriterion, NodesCriterion
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.bounds import Bounds, bound_rank, decide, median_bounds
from reports.verdicts.acceptance.criteria_judges import Context, Limits
from reports.verdicts.acceptance.kept_rows import LOWEST_KEPT, MOST_KEPT
from reports.verdicts.acceptance.levels import (
    Peers,
    Reach,
    peers_of,
    reach_of,
    scores_of,
    top_of,
    typical_error,
)
from reports.verdicts.acceptance.model import Item, JudgedCriterion, Subject, listed_nodes
from reports.verdicts.acceptance.peer_groups import PeerGroup, Place, peer_groups
from reports.verdicts.acceptance.suspects import settled

#: In machines up to this size one better node leaves open whether the others are slow.
SMALL_MACHINE = 16
#: A smaller shortfall is none by which groups are told apart.
LEAST_GAP = 0.005


@dataclass(frozen=True)
class Standing:
    """A group of peers measured against a level: all items that speak of them are made here.

    Shares are shown so that greater is better where `upward`, else as multiples. `first` are the
    bounds that the blocks of the run alone give, where there are re-runs.
    """

    group: PeerGroup
    context: Context
    limits: Limits
    upward: bool
    peers: Peers
    level: float
    first: Reach | None

    @cached_property
    def reach(self) -> Reach:
        """Bounds of each row."""
        return reach_of(self.peers, self.level, self.context.criteria.confidence)

    @cached_property
    def fresh(self) -> NDArray[np.bool_]:
        """Which columns are blocks of re-runs."""
        return np.asarray(self.group.blocks) >= self.context.evidence.fresh

    @cached_property
    def telling(self) -> list[int]:
        """The rows that get an item: all, or of very many those that are not plainly good, and the
        lowest of the others."""
        rows = len(self.peers.logs)
        if rows <= MOST_KEPT:
            return list(range(rows))
        least, most = self.limits
        low, high = self._ends(self.reach)
        plain = self.peers.counts >= self.context.criteria.least_launches
        plain &= (low >= (least or 0.0)) & (high <= (most or np.inf))
        if self.first is not None:
            low, high = self._ends(self.first)
            plain &= (high >= (least or 0.0)) & (low <= (most or np.inf))
        order = np.argsort(self.peers.centres, kind="stable")
        lowest = order[plain[order]][:LOWEST_KEPT]
        return sorted({*np.flatnonzero(~plain).tolist(), *lowest.tolist()})

    def _ends(self, reach: Reach) -> tuple[Matrix, Matrix]:
        """Bounds as shares, the lower first."""
        ends = self.shown(reach.low), self.shown(reach.high)
        return ends if self.upward else ends[::-1]

    def shown(self, logs: Matrix) -> Matrix:
        """Deviations as shares or multiples of the level."""
        return np.asarray(np.exp(logs if self.upward else -logs))

    def row_bounds(self, row: int, reach: Reach, n: int) -> Bounds:
        """The bounds of a row in shares; none below the launches that a verdict needs."""
        criteria = self.context.criteria
        ends = sorted(self.shown(np.array([reach.low[row], reach.high[row]])).tolist())
        centre = float(self.shown(self.peers.centres[row] - self.level))
        if n < criteria.least_launches:
            return Bounds(n, centre, None, None, criteria.confidence, "none")
        return Bounds(n, centre, ends[0], ends[1], criteria.confidence, "pooled")

    def item(self, row: int, place: Place, about: Subject) -> Item:
        """A node or a pair, judged by its bounds; the run's PASS stays when re-runs scatter."""
        logs = self.peers.logs[row] - self.level
        known = np.isfinite(logs)
        bounds = self.row_bounds(row, self.reach, int(known.sum()))
        shares = self.shown(logs[known])
        measured = np.exp(self.group.sign * self.group.logs[row][known])
        item = replace(
            self._item("–".join(place), place, about, bounds, shares.tolist()),
            measured=float(np.median(measured)) if measured.size else 0.0,
        )
        if not known.all():
            launches = zip(self.group.launches, known.tolist(), strict=True)
            item = replace(item, launches=tuple(key for key, there in launches if there))
        return item if self.first is None else self._with_first(item, row, known)

    def _with_first(self, item: Item, row: int, known: NDArray[np.bool_]) -> Item:
        """The item with what the run alone said: it passed, or it raised a suspicion."""
        assert self.first is not None
        bounds = self.row_bounds(row, self.first, int((known & ~self.fresh).sum()))
        before, _ = decide(bounds, *self.limits, self.context.criteria.least_launches)
        if item.verdict == "INCONCLUSIVE" and before == "PASS":
            return replace(item, verdict="PASS", note="met by the launches of the run")
        if item.verdict == "PASS" and before == "FAIL":
            note = "suspected in the run, cleared by re-runs"
            return replace(item, state="not confirmed", note=note)
        if item.verdict == "INCONCLUSIVE" and before == "FAIL":
            return settled(item, self.again(row))
        return item

    def again(self, row: int) -> list[float]:
        """A row's shares in re-runs."""
        logs = self.peers.logs[row][self.fresh] - self.level
        found: list[float] = self.shown(logs[np.isfinite(logs)]).tolist()
        return found

    def suspect(self, item: Item, row: int) -> Item:
        """An item beyond its limit, as re-runs show it; five launches are needed to suspect."""
        if bound_rank(item.bounds.n, self.context.criteria.confidence) is None:
            note = f"beyond the limit, but n = {item.bounds.n} is too few to suspect anybody"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        return settled(item, self.again(row))

    def together(
        self, rows: Sequence[int], subject: str, place: Place, about: Subject, *, at_once: bool
    ) -> Item:
        """One item for what several rows have in common: the median of them in each block."""
        logs = _of_blocks(self.peers.logs[list(rows)]) - self.level
        known = np.isfinite(logs)
        criteria = self.context.criteria
        shares = self.shown(logs[known]).tolist()
        bounds = median_bounds(shares or [0.0], criteria.confidence, criteria.least_launches)
        measured = np.exp(self.group.sign * _of_blocks(self.group.logs[list(rows)]))[known]
        item = replace(
            self._item(subject, place, about, bounds, shares),
            measured=float(np.median(measured)) if measured.size else None,
        )
        again = self.shown(logs[known & self.fresh]).tolist()
        if item.verdict != "FAIL":
            suspected = again and self._suspected(self.shown(logs[known & ~self.fresh]).tolist())
            return settled(item, again) if suspected else item
        if bounds.method != "order":
            note = f"beyond the limit, but n = {bounds.n} is too few to suspect anything"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        return settled(item, again, at_once=at_once)

    def _suspected(self, shares: Sequence[float]) -> bool:
        """Whether shares of the run's launches alone are beyond the limit."""
        criteria = self.context.criteria
        bounds = median_bounds(shares or [0.0], criteria.confidence, criteria.least_launches)
        verdict, _ = decide(bounds, *self.limits, criteria.least_launches)
        return verdict == "FAIL" and bounds.method == "order"

    def _item(
        self, subject: str, place: Place, about: Subject, bounds: Bounds, shares: Sequence[float]
    ) -> Item:
        first, criteria = self.group.first, self.context.criteria
        verdict, note = decide(bounds, *self.limits, criteria.least_launches)
        return Item(
            subject=subject,
            environment=first.case.environment,
            bounds=bounds,
            unit="1",
            at_least=self.limits[0],
            at_most=self.limits[1],
            verdict=verdict,
            note=note,
            launches=self.group.launches,
            place=place,
            group=self.group.point,
            metric=first.metric,
            measured_unit=self.context.evidence.register.metrics[first.metric].unit,
            about=about,
            shares=tuple(shares),
        )


def _of_blocks(logs: Matrix) -> Matrix:
    """The median of each column; NaN where it has no value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmedian(logs, axis=0))


@dataclass(frozen=True, slots=True)
class Made:
    """The items of a group; how many good peers have none, and how many explained pairs."""

    items: list[Item]
    passed: int = 0
    explained: int = 0


def first_blocks(group: PeerGroup, context: Context) -> Peers | None:
    """The peers by the blocks of the run alone; None where all blocks are the run's."""
    mine = np.asarray(group.blocks) < context.evidence.fresh
    return None if mine.all() or not mine.any() else peers_of(group.logs[:, mine])


def kept(items: Sequence[Item]) -> tuple[list[Item], int]:
    """The items that are kept, and how many are not: of very many the good ones but the lowest."""
    if len(items) <= MOST_KEPT:
        return list(items), 0
    good = [item for item in items if item.verdict == "PASS" and item.state is None]
    lowest = sorted(good, key=lambda item: item.margin or 0.0)[:LOWEST_KEPT]
    left_out = {id(item) for item in good} - {id(item) for item in lowest}
    return [item for item in items if id(item) not in left_out], len(left_out)


def judge_nodes(criterion: NodesCriterion, context: Context) -> JudgedCriterion:
    """Every node's share of the good nodes' level against 1 − within."""
    least = 1 - criterion.within
    statement = (
        f"{context.metric_title(criterion.metric)} of every node at least {100 * least:g} % of the"
        f" good nodes' median; a node stands out beyond a modified z of {criterion.modified_z:g}"
    )

    def items_of(group: PeerGroup) -> Made:
        return Made(_node_items(group, criterion, context))

    return judged_peers(criterion, context, statement, 1, items_of)


def judged_peers(
    criterion: NodesCriterion | LinksCriterion,
    context: Context,
    statement: str,
    size: int,
    items_of: Callable[[PeerGroup], Made],
) -> JudgedCriterion:
    """A criterion on nodes (size 1) or pairs (2)."""
    items: list[Item] = []
    further = explained = 0
    for group in peer_groups(criterion, context, size):
        made = items_of(group)
        found, more = kept(made.items)
        items += [*found, *group.missing(criterion, context)]
        further += made.passed + more
        explained += made.explained
    items += context.absent(criterion)
    needs = f"; at least two {'nodes' if size == 1 else 'pairs of nodes'} are needed"
    result = context.judged(criterion, statement, items, needs, further)
    return replace(result, explained=explained)


def _node_items(group: PeerGroup, criterion: NodesCriterion, context: Context) -> list[Item]:
    """An item for each node; where half of them or more are slow, one for their group."""
    least = 1 - criterion.within
    gap = max(-log(least), LEAST_GAP)
    peers = peers_of(group.logs)
    top = top_of(peers.centres, gap, typical_error(peers))
    first = first_blocks(group, context)
    before = None
    if first is not None:
        level = top_of(first.centres, gap, typical_error(first)).level
        before = reach_of(first, level, context.criteria.confidence)
    standing = Standing(group, context, (least, None), True, peers, top.level, before)
    scores = scores_of(peers, top)
    items = [standing.item(row, place, "node") for row, place in enumerate(group.places)]
    slow = [row for row, item in enumerate(items) if item.verdict == "FAIL"]
    out = [row for row in slow if scores[row] < -criterion.modified_z]
    many = len(out) >= 2 and 2 * len(out) >= len(items)
    together = None
    if many:
        place = tuple(group.places[row][0] for row in out)
        together = standing.together(out, listed_nodes(place), place, "group", at_once=True)
    for row in slow:
        if row not in out:
            note = f"does not stand out from the others (modified z {scores[row]:.1f})"
            items[row] = replace(items[row], note=f"beyond the limit, but {note}")
        elif together is not None:
            note = "one of a slow group"
            items[row] = replace(items[row], verdict=together.verdict, note=note)
        else:
            items[row] = standing.suspect(items[row], row)
    for row in np.flatnonzero(top.better).tolist() if len(items) <= SMALL_MACHINE else ():
        by = 100 * (exp(peers.centres[row] - top.level) - 1)
        note = (
            f"{by:.0f} % better than all others: it is not like them, or they all are slow;"
            " an absolute limit tells, a waiver for this node settles it"
        )
        items[row] = replace(items[row], verdict="INCONCLUSIVE", note=note, decidable=False)
    return [*items, together] if together else items
