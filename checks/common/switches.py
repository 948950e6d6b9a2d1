# SPDX-License-Identifier: Apache-2.0
"""Nodes of a launch at one switch, or at several, as its case asks and the site allows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from random import Random
from typing import Literal

#: What a case asks for.
Switches = Literal["one", "several"]
#: The nodes at each switch that has nodes.
Leaves = Mapping[str, Sequence[str]]


def unfit_switches(asked: Switches | None, nodes: int, leaves: Leaves, site: str) -> str | None:
    """Why no launch of so many nodes can be placed as asked on the site; None: it can."""
    if asked is None:
        return None
    if not leaves:
        return (
            f"switches = {asked}, but site {site} declares no switches (section `topology` of its"
            " site.yaml)"
        )
    largest = max(leaves, key=lambda name: len(leaves[name]))
    if asked == "one" and nodes > len(leaves[largest]):
        return (
            f"switches = one, but the launch has {nodes} nodes, and the largest switch of site"
            f" {site}, {largest}, has {len(leaves[largest])}"
        )
    there = sum(map(len, leaves.values()))
    if asked == "several" and (nodes < 2 or len(leaves) < 2 or nodes > there):
        return (
            f"switches = several, but the launch has {nodes} of the {there} nodes that site {site}"
            f" has at {len(leaves)} of its switches; it takes 2 nodes at 2 switches"
        )
    return None


def nodes_to_be_sure(asked: Switches | None, nodes: int, leaves: Leaves) -> int:
    """Of how many nodes, whichever they are, so many lie as asked; at most those that there are."""
    sizes = [len(names) for names in leaves.values()]
    if asked is None or not sizes:
        return nodes
    if asked == "one":
        return min(sum(sizes), sum(min(size, nodes - 1) for size in sizes) + 1)
    return max(nodes, max(sizes) + 1)


def drawn_at(
    asked: Switches, count: int, free: Collection[str], leaves: Leaves, dice: Random
) -> list[str] | None:
    """`count` of the `free` nodes at random: all at one switch, or dealt out over the switches, so
    that they are at as many as possible. None where the free ones do not suffice.
    """
    hands = [[node for node in leaves[name] if node in free] for name in sorted(leaves)]
    if asked == "one":
        fit = [nodes for nodes in hands if len(nodes) >= count]
        if not fit:
            return None
        (chosen,) = dice.choices(fit, weights=[len(nodes) for nodes in fit])
        return dice.sample(chosen, count)
    hands = [dice.sample(nodes, len(nodes)) for nodes in hands if nodes]
    dice.shuffle(hands)
    dealt = [node for row in zip_longest(*hands) for node in row if node is not None]
    return dealt[:count] if len(hands) > 1 and 2 <= count <= len(dealt) else None


def drawn_among(
    asked: str, count: int, up: Collection[str], leaves: Leaves, dice: Random
) -> list[str] | None:
    """Nodes as `drawn_at` of those that are `up`; where they do not suffice of all, to be waited
    for."""
    every = {node for nodes in leaves.values() for node in nodes}
    wanted: Switches = "one" if asked == "one" else "several"
    return drawn_at(wanted, count, up, leaves, dice) or drawn_at(wanted, count, every, leaves, dice)
