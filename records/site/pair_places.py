# SPDX-License-Identifier: Apache-2.0
"""Pairs of nodes as columns of numbers: their places among all, and those of a sample of rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from records.site.pair_scans import rounds_measured, rounds_of_all

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
