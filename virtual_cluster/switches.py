# SPDX-License-Identifier: Apache-2.0
"""The switches of a cluster: one, or a tree of them. Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from records.errors import AssayError

ONE = "1"
TOP = "top"
_WORDS = re.compile(r"[1-9]\d{0,2}(x[1-9]\d{0,2}){0,3}")


@dataclass(frozen=True)
class Switch:
    """A switch; `above` is the one that it hangs below, None for the top one. A switch has nodes
    or other switches."""

    name: str
    above: str | None
    nodes: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


def check_switches(words: str, nodes: int) -> None:
    """Raise AssayError unless `words` is such a tree and each of its lowest switches has a node."""
    if not _WORDS.fullmatch(words):
        raise AssayError(
            f"--switches {words!r}: allowed are a number of switches, as 2, or numbers from the top"
            " down, as 2x3: two switches below the top one and three below each of those"
        )
    leaves = prod(_levels(words))
    if leaves > nodes:
        raise AssayError(
            f"--switches {words}: {leaves} switches have nodes, but there are {nodes} nodes; give"
            " more --nodes or fewer switches"
        )


def switch_tree(words: str, nodes: list[str]) -> list[Switch]:
    """The switches from the top down; nodes are dealt to the lowest ones in order.

    "1" is a single switch; "2" two below a top one; "2x3" three below each of two.
    """
    levels = [] if words == ONE else _levels(words)
    names = [TOP]
    made: list[Switch] = []
    parents: dict[str, str | None] = {TOP: None}
    for children in levels:
        lower: list[str] = []
        for name in names:
            stem = "s" if name == TOP else f"{name}-"
            below = tuple(f"{stem}{number}" for number in range(1, children + 1))
            made.append(Switch(name, parents[name], below=below))
            parents |= dict.fromkeys(below, name)
            lower += below
        names = lower
    # The nodes cut into as many parts in order, as even as can be.
    ends = [round(i * len(nodes) / len(names)) for i in range(len(names) + 1)]
    shares = [nodes[a:b] for a, b in pairwise(ends)]
    made += [Switch(name, parents[name], tuple(n)) for name, n in zip(names, shares, strict=True)]
    return made


def _levels(words: str) -> list[int]:
    return [int(word) for word in words.split("x")]
