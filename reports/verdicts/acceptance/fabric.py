# SPDX-License-Identifier: Apache-2.0
"""Causes of slow pairs of nodes: a node's own link, a cut between groups of nodes, one pair.

A pair has the least rate of all that is on its way, so the level of a part is the median over its
pairs, and a pair is explained by a part as slow as it is itself. Where most pairs were measured,
nodes are grouped by the matrix of all pairs; in a sample, or of thousands of nodes, links are found
by the shares of slow pairs. Pure functions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy  # type: ignore[import-untyped]
from scipy.sparse import csr_array  # type: ignore[import-untyped]
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]
from scipy.spatial.distance import squareform  # type: ignore[import-untyped]

from records.site.pair_scans import Indices
from reports.statistics.bounds import Flags
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import APART, top_of

Nodes = tuple[int, ...]

#: Of more nodes no matrix of all pairs is made, nor of a smaller share of the pairs.
MOST_DENSE, LEAST_KNOWN = 2000, 0.5
#: Deviations are cut off here, as multiples of the tolerance: a node belongs to no group when more
#: than 1/1.4 of its pairs there are slow.
_CLIP = 1.4
#: A cut between groups that one bad uplink does not explain: this share of its pairs is slow.
_DENSE = 0.7
#: The good pairs join this share of the nodes at least, or they are exceptions.
_LEAST_NODES = 1 / 8
#: In a sample: of a node's pairs with good nodes more than this share is slow where its own link
#: is; a node is judged by so many pairs, at least; nodes on a side of a cut, at least.
_MOST_SLOW, _LEAST_PAIRS, _LEAST_SIDE = 0.6, 3, 3


@dataclass(frozen=True)
class FabricPart:
    """A part of the network: the link of one node, or a cut between groups of nodes.

    `pairs` are the rows of the pairs that it joins to good nodes or groups: those by which its
    level is known.
    """

    kind: Literal["link", "cut"]
    groups: tuple[Nodes, ...]
    pairs: Indices

    @property
    def nodes(self) -> Nodes:
        """All nodes concerned."""
        return tuple(node for group in self.groups for node in group)


@dataclass(frozen=True)
class Fabric:
    """The level of good pairs, and the slow parts; `explained` gives each pair's part, or −1."""

    level: float
    parts: tuple[FabricPart, ...]
    explained: Indices


@dataclass(frozen=True)
class _Pairs:
    """Pairs by rows: how far each falls short of the level (NaN: no value), its nodes' numbers.

    `gap` is what a pair may fall short, `error` the standard error of one centre.
    """

    short: Matrix
    low: Indices
    high: Indices
    nodes: int
    gap: float
    error: float

    @cached_property
    def slow(self) -> Flags:
        """True for pairs that fall short by more than the tolerance."""
        return np.asarray(self.short > self.gap)

    def rows_of(self, node: int) -> Indices:
        """The rows of a node's pairs, ascending."""
        return np.flatnonzero((self.low == node) | (self.high == node))

    def counts(self, chosen: Flags | Indices) -> Indices:
        """Number of the chosen pairs that each node has."""
        ends = np.concatenate([self.low[chosen], self.high[chosen]])
        return np.bincount(ends, minlength=self.nodes).astype(np.int64)

    def cut(self, groups: Sequence[Sequence[int]]) -> FabricPart:
        """The cut between these groups, with the pairs that join two of them."""
        side = np.full(self.nodes, -1)
        for place, group in enumerate(groups):
            side[list(group)] = place
        low, high = side[self.low], side[self.high]
        crossing = np.flatnonzero((low != high) & (np.minimum(low, high) >= 0))
        return FabricPart("cut", tuple(tuple(group) for group in groups), crossing)

    def holds_together(self, cut: FabricPart) -> bool:
        """True where each side of a cut has several nodes, and good pairs that join them."""
        sides = [np.isin(np.arange(self.nodes), group) for group in cut.groups]
        inside = [np.count_nonzero(side[self.low] & side[self.high]) for side in sides]
        sizes = [len(group) for group in cut.groups]
        enough = (2 * pairs >= size for pairs, size in zip(inside, sizes, strict=True))
        return min(sizes) >= _LEAST_SIDE and all(enough)

    def matrix(self) -> Matrix:
        """Shortfall of each pair of nodes, symmetric; NaN where there is none."""
        found = np.full((self.nodes, self.nodes), np.nan)
        found[self.low, self.high] = found[self.high, self.low] = self.short
        return found


def fabric_of(
    centres: Matrix,
    ends: Indices,
    nodes: int,
    gap: float,
    error: float,
    *,
    level: float | None = None,
) -> Fabric:
    """The slow parts between so many nodes.

    `centres` are logarithms, a pair a row, greater is better, NaN where a pair has none; `ends` the
    numbers of its nodes, both ascending; `gap` is what a pair may fall short of `level` (default:
    that of good pairs); `error` the standard error of one centre.
    """
    low, high = ends[:, 0], ends[:, 1]
    most = nodes <= MOST_DENSE and len(centres) >= LEAST_KNOWN * (nodes * (nodes - 1) // 2)
    if level is None:
        level = top_of(centres, gap, error, least=1).level
        if most:
            level = _good_level(centres, ends, nodes, gap, error)
    if not np.isfinite(level):
        return Fabric(level, (), np.full(len(centres), -1))
    short = level - centres if most else np.nan_to_num(level - centres)
    pairs = _Pairs(short, low, high, nodes, gap, error)
    found = _by_groups(pairs) if most else _by_shares(pairs)
    parts = [part for part in found if np.isfinite(short[part.pairs]).any()]
    explained = _explained_by_slowest(parts, pairs)
    rest = pairs.slow & (explained < 0)
    for cut in _further_cuts(pairs, rest):
        explained[cut.pairs if most else cut.pairs[rest[cut.pairs]]] = len(parts)
        parts.append(cut)
    return Fabric(level, tuple(parts), explained)


def components(rows: Indices, columns: Indices, nodes: int) -> NDArray[np.int32]:
    """The number of the connected set that each node is in, by the pairs that join them."""
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(nodes, nodes))
    labels: NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return labels


def _median(values: Matrix) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("inf")


def _good_level(centres: Matrix, ends: Indices, nodes: int, gap: float, error: float) -> float:
    """The level of the upper cluster of pairs that join an eighth of the nodes at least, and are
    most of the pairs among those."""
    rest = centres
    while True:
        top = top_of(rest, gap, error, least=1)
        if not top.good.any() or top.good.all():
            return top.level
        sizes = np.bincount(components(ends[top.good, 0], ends[top.good, 1], nodes))
        inside = float((sizes * (sizes - 1) / 2).sum())
        enough = sizes[sizes > 1].sum() >= max(2.0, _LEAST_NODES * nodes)
        rest = np.where(top.good, np.nan, rest)
        if (enough and top.good.sum() >= 0.4 * inside) or not np.isfinite(rest).any():
            return top.level


def _by_groups(pairs: _Pairs) -> Iterator[FabricPart]:
    """Nodes that reach each other within `gap` are groups. A node in none has a slow link; groups
    that do not reach each other are on two sides of a slow cut."""
    deviations = pairs.matrix()
    groups, single = _groups(deviations, pairs.gap, pairs.error)
    sides = [list(group) for group in groups]
    for node in single if groups else ():
        reached = np.array([_median(deviations[node, list(group)]) for group in groups])
        best, *others = np.argsort(reached, kind="stable").tolist()
        rows = pairs.rows_of(node)
        other = pairs.low[rows] + pairs.high[rows] - node
        yield FabricPart("link", ((node,),), rows[np.isin(other, groups[best])])
        if others and reached[others[0]] - reached[best] > pairs.gap:
            sides[best].append(node)  # on the side of the group that it reaches much better
    yield from _cuts(pairs, deviations, sorted(tuple(sorted(side)) for side in sides))


def _groups(deviations: Matrix, gap: float, error: float) -> tuple[list[Nodes], list[int]]:
    """Groups of nodes that reach each other within `gap`, by average linkage of deviations that are
    cut off at 1.4 gaps, and the nodes that are in none."""
    nodes = len(deviations)
    if nodes < 3:
        return [tuple(range(nodes))], []
    clipped = np.clip(deviations, 0, _CLIP * gap)
    own = np.array([_median(row) if np.isfinite(row).any() else 0.0 for row in clipped])
    # A pair that was not measured has the median of the slower of its nodes.
    distances = np.where(np.isfinite(clipped), clipped, np.maximum(own[:, None], own))
    np.fill_diagonal(distances, 0.0)
    tree = hierarchy.linkage(squareform(distances, checks=False), "average")
    labels = hierarchy.fcluster(tree, gap, criterion="distance")
    found = [tuple(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    found.sort(key=len, reverse=True)
    kept = found[:1] if len(found[0]) > 1 else []
    single = [] if kept else [*found[0]]
    for group in found[1:]:
        inside = deviations[np.ix_(group, group)][np.triu_indices(len(group), 1)]
        if len(group) > 1:
            across = deviations[np.ix_(group, kept[0])].ravel()
            share = 1 / max(1, np.isfinite(inside).sum()) + 1 / max(1, np.isfinite(across).sum())
            apart = np.nanmedian(across) - np.nanmedian(inside)
            if apart > max(gap / 2, APART * error * np.sqrt(share)):
                kept.append(group)
                continue
        single += group  # alone, or as slow among themselves: each has a slow link
    return kept, sorted(single)


def _cuts(pairs: _Pairs, deviations: Matrix, groups: Sequence[Nodes]) -> Iterator[FabricPart]:
    """The cuts between groups, the least slow first; groups apart alike are one cut of several."""
    count, gap = len(groups), pairs.gap
    if count < 2:
        return
    between = np.zeros((count, count))
    for one, other in combinations(range(count), 2):
        apart = _median(deviations[np.ix_(groups[one], groups[other])].ravel())
        between[one, other] = between[other, one] = max(gap, apart) if np.isfinite(apart) else gap
    tree = hierarchy.linkage(squareform(between, checks=False), "average")
    heights = tree[:, 2]
    edges = [0, *(np.flatnonzero(np.diff(heights) > gap) + 1).tolist(), len(heights)]
    sides = list(groups)
    for _, last in pairwise(edges):
        labels = hierarchy.fcluster(tree, heights[last - 1] * (1 + 1e-9), criterion="distance")
        merged: dict[int, list[Nodes]] = {}
        for side in sides:
            owner = next(place for place, group in enumerate(groups) if {*group} <= {*side})
            merged.setdefault(int(labels[owner]), []).append(side)
        yield from (pairs.cut(parts) for parts in merged.values() if len(parts) > 1)
        sides = [tuple(sorted(n for part in parts for n in part)) for parts in merged.values()]


def _explained_by_slowest(parts: Sequence[FabricPart], pairs: _Pairs) -> Indices:
    """The slowest part on the way of each pair, −1 where there is none.

    A pair that is slower than all parts on its way together is not explained by them.
    """
    found = np.full(len(pairs.short), -1)
    slowest, together = np.zeros((2, len(pairs.short)))
    for number, part in enumerate(parts):
        level = _median(pairs.short[part.pairs])
        on_way = pairs.rows_of(part.nodes[0]) if part.kind == "link" else part.pairs
        together[on_way] += level
        mine = on_way[level > slowest[on_way]]
        found[mine], slowest[mine] = number, level
    found[pairs.short > together + pairs.gap] = -1
    return found


def _by_shares(pairs: _Pairs) -> Iterator[FabricPart]:
    """Cuts between nodes that reach each other well; slow links of nodes, of which those that reach
    each other well are one side of a cut instead."""
    cuts = [cut for cut in _further_cuts(pairs, pairs.slow) if pairs.holds_together(cut)]
    yield from cuts
    left = np.ones(len(pairs.short), dtype=bool)
    for cut in cuts:
        left[cut.pairs] = False
    links = list(_links(pairs, left))
    accused = np.zeros(pairs.nodes, dtype=bool)
    accused[[part.nodes[0] for part in links]] = True
    inside = accused[pairs.low] & accused[pairs.high] & ~pairs.slow
    labels = components(pairs.low[inside], pairs.high[inside], pairs.nodes)
    sizes = np.bincount(labels, weights=accused, minlength=1)
    yield from (part for part in links if sizes[labels[part.nodes[0]]] < _LEAST_SIDE)
    for label in np.flatnonzero(sizes >= _LEAST_SIDE).tolist():
        side = accused & (labels == label)
        yield pairs.cut([np.flatnonzero(nodes).tolist() for nodes in (side, ~side)])


def _links(pairs: _Pairs, left: Flags) -> Iterator[FabricPart]:
    """Links of nodes most of whose pairs are slow, the worst first: each takes its pairs from the
    nodes it met. Its pairs are among those `left`."""
    known, bad = pairs.counts(left), pairs.counts(left & pairs.slow)
    for _ in range(pairs.nodes):
        share = np.where(known >= _LEAST_PAIRS, bad / np.maximum(known, 1), 0.0)
        if float(share.max()) <= _MOST_SLOW:
            return
        node = int(np.lexsort((-bad, -share))[0])
        mine = pairs.rows_of(node)
        mine = mine[left[mine]]
        left[mine] = False
        known = known - pairs.counts(mine)
        bad = bad - pairs.counts(mine[pairs.slow[mine]])
        yield FabricPart("link", ((node,),), mine)


def _further_cuts(pairs: _Pairs, rest: Flags) -> Iterator[FabricPart]:
    """Slow pairs, three or more, that join two sets of nodes and none within either: most of all
    measured pairs between them."""
    low, high, nodes = pairs.low[rest], pairs.high[rest], pairs.nodes
    # In two copies of the nodes, joined across, the two sides of a set are not connected.
    doubled = np.concatenate([low, low + nodes]), np.concatenate([high + nodes, high])
    one, other = components(*doubled, 2 * nodes).reshape(2, nodes)
    sets, counts = np.unique(np.minimum(one, other)[low], return_counts=True)
    for label, count in zip(sets, counts, strict=True):
        sides = [np.flatnonzero(mine == label).tolist() for mine in (one, other)]
        if count < 3 or sides[0] == sides[1]:
            continue
        cut = pairs.cut(sides)
        cut = FabricPart("cut", cut.groups, cut.pairs[np.isfinite(pairs.short[cut.pairs])])
        if count >= _DENSE * len(cut.pairs):
            yield cut
