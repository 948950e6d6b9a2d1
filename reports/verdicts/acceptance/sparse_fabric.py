# SPDX-License-Identifier: Apache-2.0
"""What explains slow pairs where only some pairs were measured, or the nodes are very many.

The same parts as in fabric.py, found without a matrix of all pairs: links by the medians of nodes,
cuts by those of switches where the site declares them, else by the slow pairs that are left. The
`pairs` of a part and `explained` are rows. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from records.site.pair_places import Indices, positions_of
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.fabric import DENSE, Fabric, Part, components, fabric_of, two_sides
from reports.verdicts.acceptance.levels import Flags, top_of

#: Of a node's pairs with good nodes more than this share is slow where its own link is.
_MOST_SLOW = 0.6
#: A node and a pair of switches are judged by so many pairs, at least.
_LEAST_PAIRS = 3
#: Nodes on the smaller side of a cut, at least.
_LEAST_SIDE = 3


@dataclass(frozen=True)
class Sample:
    """Pairs by rows, ascending: how far each falls short of the level, whether that is more than
    the tolerance, and the numbers of its nodes."""

    short: Matrix
    slow: Flags
    low: Indices
    high: Indices
    nodes: int

    def at(self, chosen: Flags | Indices) -> Indices:
        """How many of the chosen pairs each node has."""
        ends = np.concatenate([self.low[chosen], self.high[chosen]])
        return np.asarray(np.bincount(ends, minlength=self.nodes), dtype=np.int64)

    @cached_property
    def _positions(self) -> Indices:
        return positions_of(self.low, self.high, self.nodes)

    def rows_of(self, node: int) -> Indices:
        """The rows of a node's pairs."""
        others = np.delete(np.arange(self.nodes), node)
        ends = np.minimum(others, node), np.maximum(others, node)
        wanted = positions_of(*ends, self.nodes)
        rows: Indices = np.searchsorted(self._positions, wanted)
        rows = np.minimum(rows, len(self._positions) - 1)
        return np.asarray(rows[self._positions[rows] == wanted], dtype=np.int64)


def sparse_fabric_of(
    centres: Matrix,
    ends: Indices,
    nodes: int,
    gap: float,
    error: float,
    *,
    level: float | None = None,
    switches: Sequence[str] = (),
) -> Fabric:
    """What is slow between the nodes; `ends` are the numbers of each pair's nodes, ascending.

    A node has a slow link when most of its pairs with good nodes are slow; the worst is found
    first, and its pairs are left out. Of the others the median of each pair of switches is one
    value, and switches are explained as nodes are by `fabric_of`.
    """
    top = top_of(centres, gap, error, least=1)
    level = top.level if level is None else level
    explained = np.full(len(centres), -1)
    if not np.isfinite(level):
        return Fabric(level, (), explained, top.better)
    short = np.nan_to_num(level - centres)
    sample = Sample(short, short > gap, ends[:, 0], ends[:, 1], nodes)
    number = {name: place for place, name in enumerate(dict.fromkeys(switches))}
    own = np.array([number[name] for name in switches], dtype=np.int64)
    cuts = list(_cuts_of_switches(sample, own, len(number), gap, error))
    parts: list[Part] = []
    left = np.ones(len(centres), dtype=bool)
    for cut in cuts:
        left[cut.pairs] = False
    parts += _links_and_cuts(sample, list(_links(sample, left)))
    parts += cuts
    for place, part in enumerate(parts):
        typical = float(np.median(sample.short[part.pairs])) if len(part.pairs) else 0.0
        mine = part.pairs[sample.slow[part.pairs]]
        mine = mine[sample.short[mine] <= typical + gap]
        explained[mine[explained[mine] < 0]] = place
    rest = sample.slow & (explained < 0)
    for cut in _cuts_of_pairs(sample, rest):
        explained[cut.pairs[rest[cut.pairs]]] = len(parts)
        parts.append(cut)
    return Fabric(level, tuple(parts), explained, top.better)


def _links(sample: Sample, left: Flags) -> Iterator[Part]:
    """The slow links of nodes, the worst first: each takes its pairs from the nodes it met."""
    left = left.copy()
    known, bad = sample.at(left), sample.at(left & sample.slow)
    for _ in range(sample.nodes):
        share = np.where(known >= _LEAST_PAIRS, bad / np.maximum(known, 1), 0.0)
        worst = float(share.max())
        if worst <= _MOST_SLOW:
            return
        node = int(np.lexsort((-bad, -share))[0])
        mine = sample.rows_of(node)
        mine = mine[left[mine]]
        left[mine] = False
        known = known - sample.at(mine)
        bad = bad - sample.at(mine[sample.slow[mine]])
        yield Part("link", ((node,),), mine)


def _links_and_cuts(sample: Sample, links: Sequence[Part]) -> Iterator[Part]:
    """Nodes with slow links that reach each other well are one side of a cut: no link is slow."""
    accused = np.zeros(sample.nodes, dtype=bool)
    accused[[part.groups[0][0] for part in links]] = True
    inside = accused[sample.low] & accused[sample.high] & ~sample.slow
    labels = components(sample.low[inside], sample.high[inside], sample.nodes)
    sizes = np.bincount(labels, weights=accused, minlength=1)
    yield from (part for part in links if sizes[labels[part.groups[0][0]]] < _LEAST_SIDE)
    for label in np.flatnonzero(sizes >= _LEAST_SIDE).tolist():
        side = accused & (labels == label)
        crossing = np.flatnonzero(side[sample.low] != side[sample.high])
        sides = (np.flatnonzero(one).tolist() for one in (side, ~side))
        yield Part("cut", tuple(tuple(one) for one in sides), crossing)


def _cuts_of_switches(
    sample: Sample, own: Indices, count: int, gap: float, error: float
) -> Iterator[Part]:
    """Cuts between switches: an uplink, which all pairs of its switch with others cross, or one
    between groups."""
    if count < 2:
        return
    one, other = own[sample.low], own[sample.high]
    low, high = np.minimum(one, other), np.maximum(one, other)
    across = low != high
    places = positions_of(low[across], high[across], count)
    medians = np.full(count * (count - 1) // 2, np.nan)
    order = np.argsort(places, kind="stable")
    short, found = sample.short[across][order], places[order]
    edges = np.flatnonzero(np.diff(found, prepend=-1))
    for start, end in zip(edges, [*edges[1:], len(found)], strict=True):
        if end - start >= _LEAST_PAIRS:
            medians[found[start]] = -float(np.median(short[start:end]))
    parts = fabric_of(_filled(medians, count), count, gap, error, 0.0).parts
    if count == 2 and -medians[0] > gap:
        parts = (Part("cut", ((0,), (1,)), np.zeros(1, dtype=np.int64)),)
    for part in parts:
        side = np.full(sample.nodes, len(part.groups) if part.kind == "link" else -1)
        for place, group in enumerate(part.groups):
            side[np.isin(own, group)] = place
        groups = (np.flatnonzero(side == place).tolist() for place in range(side.max() + 1))
        low, high = side[sample.low], side[sample.high]
        crossing = np.flatnonzero((low != high) & (np.minimum(low, high) >= 0))
        yield Part("cut", tuple(tuple(group) for group in groups), crossing)


def _filled(medians: Matrix, count: int) -> Matrix:
    """Pairs of switches without a value are as slow as the slower switch's median."""
    rows, columns = np.triu_indices(count, 1)
    known = np.isfinite(medians)
    ends = np.concatenate([rows[known], columns[known]])
    values = np.concatenate([medians[known], medians[known]])
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(count + 1))
    own = [
        float(np.median(values[order][low:high])) if high > low else 0.0
        for low, high in pairwise(starts.tolist())
    ]
    typical = np.minimum(np.array(own)[rows], np.array(own)[columns])
    return np.asarray(np.where(known, medians, typical))


def _cuts_of_pairs(sample: Sample, rest: Flags) -> Iterator[Part]:
    """Slow pairs that join two sets of nodes, most of the measured pairs between them."""
    edges = np.stack([sample.low[rest], sample.high[rest]])
    for sides, count in two_sides(edges, sample.nodes):
        member = np.zeros(sample.nodes, dtype=np.int64)
        for place, side in enumerate(sides, start=1):
            member[list(side)] = place
        crossing = np.flatnonzero(member[sample.low] * member[sample.high] == 2)
        if count >= DENSE * len(crossing):
            yield Part("cut", sides, crossing)
