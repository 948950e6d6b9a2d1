# SPDX-License-Identifier: Apache-2.0
"""What explains slow pairs of nodes: a node's own link (a row), a cut between groups, one pair.

A pair has the least rate of all that lies on its way, so the levels of rows and cuts are medians
over pairs, and a pair is explained by what is as slow as it is itself. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.cluster import hierarchy  # type: ignore[import-untyped]
from scipy.sparse import csr_array  # type: ignore[import-untyped]
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]
from scipy.spatial.distance import squareform  # type: ignore[import-untyped]

from records.site.pair_places import Indices, positions_of
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.levels import APART, Flags, Top, top_of

Nodes = tuple[int, ...]

#: Deviations are cut off here, as multiples of the tolerance: a node belongs to no group when more
#: than 1/1.4 of its pairs there are slow.
_CLIP = 1.4
#: A cut between groups that one bad uplink does not explain: this share of its pairs is slow.
DENSE = 0.7
#: The good pairs join this share of the nodes at least, or they are exceptions.
_LEAST_NODES = 1 / 8


@dataclass(frozen=True)
class Part:
    """A part of the network: the link of one node, or a cut between groups of nodes.

    `pairs` are the positions of the pairs that it joins to good nodes or groups: those by which its
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
    parts: tuple[Part, ...]
    explained: NDArray[np.int64]
    better: Flags


def fabric_of(
    centres: Matrix, nodes: int, gap: float, error: float, level: float | None = None
) -> Fabric:
    """What is slow between so many nodes.

    `centres` are logarithms of the pairs in the order of combinations, greater is better, NaN where
    there is none; `gap` is what a pair may fall short of `level` (default: that of good pairs);
    `error` the standard error of one centre.

    Nodes that reach each other within `gap` are groups (average linkage of deviations that are cut
    off at 1.4 gaps). A node in none has a slow link; groups that do not reach each other lie on two
    sides of a slow cut. What is left is looked through for slow pairs that join two sets of nodes.
    """
    top = _top_pairs(centres, nodes, gap, error)
    level = top.level if level is None else level
    if not np.isfinite(level):
        return Fabric(level, (), np.full(len(centres), -1), top.better)
    deviations = _matrix(level - centres, nodes)
    groups, single = _groups(deviations, gap, error)
    parts = [_link(node, groups, deviations) for node in single]
    parts += _cuts(deviations, _with_single(groups, single, deviations, gap), gap)
    parts = [part for part in parts if np.isfinite(centres[part.pairs]).any()]
    explained = _explained(parts, level - centres, nodes, gap)
    slow = (explained < 0) & (level - centres > gap)
    for part in _further_cuts(slow, level - centres, nodes):
        parts.append(part)
        explained[part.pairs] = len(parts) - 1
    return Fabric(level, tuple(parts), explained, top.better)


def pair_positions(one: Sequence[int], other: Sequence[int], nodes: int) -> Indices:
    """Positions of all pairs of the one and the other nodes, in the order of combinations."""
    first, second = np.meshgrid(np.asarray(one), np.asarray(other), indexing="ij")
    low, high = np.minimum(first, second).ravel(), np.maximum(first, second).ravel()
    keep = low != high
    return np.unique(positions_of(low[keep], high[keep], nodes))


def _top_pairs(centres: Matrix, nodes: int, gap: float, error: float) -> Top:
    """The good pairs; they join an eighth of the nodes at least, and most pairs among those."""
    top = top_of(centres, gap, error, least=1)
    rows, columns = np.triu_indices(nodes, 1)
    better = np.zeros(len(centres), dtype=bool)
    while top.good.any() and not top.good.all():
        joined = components(rows[top.good], columns[top.good], nodes)
        sizes = np.bincount(joined)
        inside = float((sizes * (sizes - 1) / 2).sum())
        enough = sizes[sizes > 1].sum() >= max(2.0, _LEAST_NODES * nodes)
        if enough and top.good.sum() >= 0.4 * inside:
            break
        better |= top.good
        rest = np.where(better, np.nan, centres)
        if not np.isfinite(rest).any():
            break
        top = top_of(rest, gap, error, least=1)
    return Top(top.level, top.good, better)


def components(rows: Indices, columns: Indices, nodes: int) -> NDArray[np.int32]:
    """The number of the connected set that each node is in, by the pairs that join them."""
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(nodes, nodes))
    labels: NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return labels


def _matrix(values: Matrix, nodes: int) -> Matrix:
    """The symmetric matrix of pairs; NaN on the diagonal."""
    matrix = np.full((nodes, nodes), np.nan)
    matrix[np.triu_indices(nodes, 1)] = values
    lower = np.tril_indices(nodes, -1)
    matrix[lower] = matrix.T[lower]
    return matrix


def _groups(deviations: Matrix, gap: float, error: float) -> tuple[list[Nodes], list[int]]:
    """Groups of nodes that reach each other within `gap`, and the nodes that are in none."""
    nodes = len(deviations)
    if nodes < 3:
        return [tuple(range(nodes))], []
    tree = hierarchy.linkage(squareform(_distances(deviations, gap), checks=False), "average")
    labels = hierarchy.fcluster(tree, gap, criterion="distance")
    found = [tuple(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    found.sort(key=len, reverse=True)
    groups = [group for group in found if len(group) > 1]
    single = [group[0] for group in found if len(group) == 1]
    kept = groups[:1]
    for group in groups[1:]:
        inside = deviations[np.ix_(group, group)][np.triu_indices(len(group), 1)]
        across = deviations[np.ix_(group, kept[0])].ravel()
        share = 1 / max(1, np.isfinite(inside).sum()) + 1 / max(1, np.isfinite(across).sum())
        apart = np.nanmedian(across) - np.nanmedian(inside)
        if apart > max(gap / 2, APART * error * np.sqrt(share)):
            kept.append(group)
        else:
            single += group  # as slow among themselves: each has a slow link
    return kept, sorted(single)


def _distances(deviations: Matrix, gap: float) -> Matrix:
    """Deviations from 0 to 1.4 gaps; a pair that was not measured has the median of the slower of
    its nodes."""
    clipped = np.clip(deviations, 0, _CLIP * gap)
    known = np.isfinite(clipped)
    own = np.array([_median(row) if np.isfinite(row).any() else 0.0 for row in clipped])
    found = np.where(known, clipped, np.maximum(own[:, None], own))
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def _link(node: int, groups: Sequence[Nodes], deviations: Matrix) -> Part:
    """A node's own link, known by its pairs with the group that it reaches best."""
    nodes = len(deviations)
    best = min(groups, key=lambda group: _median(deviations[node, list(group)]), default=())
    return Part("link", ((node,),), pair_positions([node], best, nodes))


def _with_single(
    groups: Sequence[Nodes], single: Sequence[int], deviations: Matrix, gap: float
) -> list[Nodes]:
    """The groups, with the nodes of slow links that reach one much better than the others."""
    sides = [list(group) for group in groups]
    for node in single if len(groups) > 1 else ():
        reached = [_median(deviations[node, list(group)]) for group in groups]
        best, second = np.argsort(reached, kind="stable")[:2].tolist()
        if reached[second] - reached[best] > gap:
            sides[best].append(node)
    return sorted(tuple(sorted(side)) for side in sides)


def _median(values: Matrix) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("inf")


def _cuts(deviations: Matrix, groups: Sequence[Nodes], gap: float) -> Iterator[Part]:
    """The cuts between groups, the least slow first; groups apart alike are one cut of several."""
    if len(groups) < 2:
        return
    count, nodes = len(groups), len(deviations)
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
            owner = next(place for place, group in enumerate(groups) if set(group) <= set(side))
            merged.setdefault(int(labels[owner]), []).append(side)
        for parts in merged.values():
            if len(parts) > 1:
                crossing = [pair_positions(a, b, nodes) for a, b in combinations(parts, 2)]
                yield Part("cut", tuple(parts), np.unique(np.concatenate(crossing)))
        sides = [tuple(sorted(n for part in parts for n in part)) for parts in merged.values()]


def _explained(parts: Sequence[Part], deviations: Matrix, nodes: int, gap: float) -> Indices:
    """The slowest part on the way of each pair, −1 where there is none.

    A pair that is slower than all parts on its way together is not explained by them.
    """
    found = np.full(len(deviations), -1)
    slowest, together = np.zeros(len(deviations)), np.zeros(len(deviations))
    for number, part in enumerate(parts):
        level = _median(deviations[part.pairs])
        on_way = part.pairs
        if part.kind == "link":
            on_way = pair_positions(part.nodes, range(nodes), nodes)
        together[on_way] += level
        mine = on_way[level > slowest[on_way]]
        found[mine], slowest[mine] = number, level
    found[deviations > together + gap] = -1
    return found


def _further_cuts(slow: Flags, deviations: Matrix, nodes: int) -> Iterator[Part]:
    """Slow pairs that join two sets of nodes, most of all pairs between them."""
    edges = np.stack([side[slow] for side in np.triu_indices(nodes, 1)])
    for sides, count in two_sides(edges, nodes):
        pairs = pair_positions(*sides, nodes)
        pairs = pairs[np.isfinite(deviations[pairs])]
        if count >= DENSE * len(pairs):
            yield Part("cut", sides, pairs)


def two_sides(edges: Indices, nodes: int) -> Iterator[tuple[tuple[Nodes, Nodes], int]]:
    """Two sets of nodes that edges join, three or more, and none within either; how many join
    them."""
    if edges.shape[1] < 3:
        return
    labels = components(edges[0], edges[1], nodes)
    for label in np.unique(labels[edges[0]]).tolist():
        mine = edges[:, labels[edges[0]] == label]
        sides = _two_sides(mine) if mine.shape[1] >= 3 else None
        if sides is not None:
            yield sides, mine.shape[1]


def _two_sides(edges: Indices) -> tuple[Nodes, Nodes] | None:
    """The two sides of a connected graph whose edges all join one side with the other."""
    side = {int(edges[0, 0]): 0}
    neighbours: dict[int, list[int]] = {}
    for one, other in edges.T.tolist():
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    rest = list(side)
    while rest:
        node = rest.pop()
        for other in neighbours[node]:
            if other not in side:
                side[other] = 1 - side[node]
                rest.append(other)
            elif side[other] == side[node]:
                return None
    one, two = (tuple(sorted(n for n, s in side.items() if s == which)) for which in (0, 1))
    return one, two
