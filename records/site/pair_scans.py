# SPDX-License-Identifier: Apache-2.0
"""Scans of pairs of nodes: how a sample of rounds is drawn, what it misses, where values lie; pairs
as columns of numbers.

A tournament of n nodes has R rounds of disjoint pairs, R = n − 1 for even n, else n. Of a sample
the first k are measured; nodes are players in an order that the seed shuffles, so that each pair is
in it with the chance k/R.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The artifact with the values of a scan, beside its record, and the folder of the run directory.
ARTIFACT, FOLDER, SUFFIX = "points", "points", "parquet"
#: Columns of its pairs; in the record the key of `at` at which a summary over all pairs stands.
NODE, PEER, SUMMARY = "node", "peer", "pairs"
#: Members of the file's metadata, JSON texts: the names of its nodes, and the switch of each.
NODES_META, SWITCHES_META = "assay.nodes", "assay.switches"


def rounds_of_all(nodes: int) -> int:
    """Rounds of disjoint pairs in which every pair is once."""
    return nodes - 1 + nodes % 2


def rounds_measured(nodes: int, rounds: int) -> int:
    """Rounds of which `rounds` are asked for; 0: all."""
    every = rounds_of_all(nodes)
    return min(rounds, every) if rounds else every


def pairs_measured(nodes: int, rounds: int) -> int:
    """Pairs in them: each round has ⌊n/2⌋."""
    return rounds_measured(nodes, rounds) * (nodes // 2)


def chance_link_missed(nodes: int, rounds: int) -> float:
    """Chance that a given pair is in none of the rounds: 1 − k/R."""
    return 1 - rounds_measured(nodes, rounds) / rounds_of_all(nodes)


def chance_node_missed(nodes: int, rounds: int) -> float:
    """Chance that a given node has no partner in any of them: only of odd n, in a single round."""
    return 1 / nodes if nodes % 2 and rounds_measured(nodes, rounds) == 1 else 0.0


def sample_told(nodes: int, params: Mapping[str, Any]) -> str | None:
    """Sentence of what a sample of rounds can miss; None where it is all or a list."""
    asked = params.get("rounds", 0)
    if params.get("only") or not isinstance(asked, int) or not 0 < asked < rounds_of_all(nodes):
        return None
    return (
        f"{asked} of {rounds_of_all(nodes)} rounds: {pairs_measured(nodes, asked)} of"
        f" {nodes * (nodes - 1) // 2} pairs of {nodes} nodes; the chance to miss a single bad link"
        f" is {100 * chance_link_missed(nodes, asked):.3g} %, a bad node"
        f" {100 * chance_node_missed(nodes, asked):.3g} %"
    )


Indices = NDArray[np.int64]

_MASK = 2**64 - 1


def positions_of(low: Indices, high: Indices, nodes: int) -> Indices:
    """The places of pairs (low < high) among all pairs of the nodes in the order of combinations:
    low·(2n − low − 1)/2 + high − low − 1."""
    return np.asarray(low * (2 * nodes - low - 1) // 2 + high - low - 1, dtype=np.int64)


def sampled_pairs(nodes: int, rounds: int, seed: int) -> tuple[Indices, Indices]:
    """The pairs of the first rounds, the lower node first: the circle method (Kirkman 1847) with
    players in the order of the seed, as checks/common/src/assay/tournament.c and shuffle.c."""
    order, moving = np.array(_shuffled(nodes, seed), dtype=np.int64), rounds_of_all(nodes)
    players = np.arange(moving)
    found = []
    for number in range(rounds_measured(nodes, rounds)):
        partners = (2 * number - players) % moving
        partners[partners == players] = moving if moving < nodes else -1
        keep = partners > players
        found.append(np.sort([order[players[keep]], order[partners[keep]]], axis=0))
    low, high = np.concatenate(found, axis=1)
    return low, high


def rounds_of_pairs(low: Indices, high: Indices, nodes: int, seed: int) -> Indices:
    """The round of the tournament in which each of these pairs meets, as tournament_round in C."""
    moving, place = rounds_of_all(nodes), np.argsort(_shuffled(nodes, seed))
    one, other = place[low], place[high]
    total = one + other
    meeting = np.where(total % 2, total + moving, total) // 2 % moving
    fixed = (one == moving) | (other == moving)
    return np.asarray(np.where(fixed, total - moving, meeting), dtype=np.int64)


def _shuffled(count: int, seed: int) -> list[int]:
    """Fisher and Yates with the generator splitmix64, values that would be biased rejected."""
    order, state = list(range(count)), seed & _MASK
    for left in range(count, 1, -1):
        excess = (1 << 64) % left
        while True:
            state = (state + 0x9E3779B97F4A7C15) & _MASK
            z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
            value = z ^ (z >> 31)
            if value >= excess:
                break
        chosen = value % left
        order[left - 1], order[chosen] = order[chosen], order[left - 1]
    return order
