# SPDX-License-Identifier: Apache-2.0
"""Nodes and links against their fellows: shares, who stands out, and which link explains a pair.

Pure functions: mappings of numbers in, mappings out. A fleet's values are paired by block, so that
what drifts for all nodes alike does not speak against one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from statistics import median

#: node or pair -> block -> value
ByBlock = Mapping[str, Mapping[int, float]]

Pair = tuple[str, str]


def shares_of_median(values: ByBlock, *, inverse: bool) -> dict[str, dict[int, float]]:
    """Each value over the median of its block, 1 = like the others; `inverse` turns the ratio over.

    `inverse` is for quantities of which less is better, so that a share below 1 is always worse.
    Blocks with fewer than two members are left out, as are values of a block whose median is 0.
    """
    medians = {
        block: median([member[block] for member in values.values() if block in member])
        for block in _common_blocks(values)
    }
    return {
        name: {
            block: (medians[block] / value if inverse else value / medians[block])
            for block, value in member.items()
            if block in medians and medians[block] > 0 and value > 0
        }
        for name, member in values.items()
    }


def shares_of_best(values: ByBlock, *, least: bool) -> dict[str, dict[int, float]]:
    """Each value over the best member's median over its blocks (`least`: the least is best)."""
    centres = [median(member.values()) for member in values.values() if member]
    if not centres:
        return {name: {} for name in values}
    best = min(centres) if least else max(centres)
    return {
        name: {block: value / best for block, value in member.items() if best > 0}
        for name, member in values.items()
    }


def _common_blocks(values: ByBlock) -> list[int]:
    counts: dict[int, int] = {}
    for member in values.values():
        for block in member:
            counts[block] = counts.get(block, 0) + 1
    return sorted(block for block, count in counts.items() if count >= 2)


def explain_links(
    bad: Collection[Pair], measured: Iterable[Pair], slow_nodes: Collection[str]
) -> tuple[list[str], list[Pair], list[Pair]]:
    """What explains the bad pairs: (nodes whose link is bad, single bad pairs, consequences).

    A pair with a slow node is a consequence of that node. Of the rest, a node's own link is bad
    when every measured pair of it is bad, two at least, and not all other nodes are in the same
    state; what is left are links between two nodes. Pairs come back in sorted order.
    """
    consequences = sorted(pair for pair in bad if set(pair) & set(slow_nodes))
    rest = {pair for pair in bad if not set(pair) & set(slow_nodes)}
    open_pairs = {pair for pair in measured if not set(pair) & set(slow_nodes)}
    links = []
    while rest:
        measured_of, bad_of = _pairs_a_node(open_pairs), _pairs_a_node(rest & open_pairs)
        counts = {
            node: count
            for node, count in sorted(bad_of.items())
            if count >= 2 and count == measured_of[node]
        }
        if not counts or _all_alike(counts, open_pairs):
            break
        node = max(counts, key=lambda name: counts[name])
        links.append(node)
        rest = {pair for pair in rest if node not in pair}
        open_pairs = {pair for pair in open_pairs if node not in pair}
    return sorted(links), sorted(rest), consequences


def _pairs_a_node(pairs: Iterable[Pair]) -> Counter[str]:
    """In how many of these (different) pairs each node is."""
    return Counter(node for pair in pairs for node in pair)


def _all_alike(counts: Collection[str], open_pairs: Iterable[Pair]) -> bool:
    """Whether every node is in the same state, so that none can be told from the others."""
    return set(counts) == {node for pair in open_pairs for node in pair}
