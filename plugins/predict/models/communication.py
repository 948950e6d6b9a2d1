# SPDX-License-Identifier: Apache-2.0
"""Messages of the applications: su3_rmd's halos by lattice and grid, HPL's panels and rows.

su3_rmd: the prime factors of the rank count, largest first, each cut the longest extent that they
divide (checks/su3_rmd/src/layout.c). A step exchanges links and staples once each, a measurement
links once more: for every divided direction one message of three SU(3) matrices a site of the face.
HPL: the model of its authors, https://www.netlib.org/benchmark/hpl/scalability.html: a panel's
broadcast along a row of the grid, row exchanges and updates along a column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Three 3 × 3 complex matrices.
REALS_PER_FACE_SITE = 3 * 18
_DOUBLE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Transfer:
    """Messages that the busiest rank sends one after the other, and how far.

    `starts` counts start-up times, `sent_bytes` is the volume of them all; `sharing` ranks of a
    node send through its link at once.
    """

    starts: float
    sent_bytes: float
    between_nodes: bool
    sharing: int = 1

    @property
    def message_bytes(self) -> float:
        """The mean length of a message."""
        return self.sent_bytes / self.starts


def cut(lattice: Sequence[int], ranks: int) -> tuple[int, ...] | None:
    """The process grid that su3_rmd chooses; None where so many ranks do not cut the lattice.

    Of extents of one length one that is cut already is cut again, else the first.
    """
    local, grid = list(lattice), [1] * len(lattice)
    for factor in prime_factors(ranks):
        fits = [d for d, extent in enumerate(local) if extent % factor == 0]
        if not fits:
            return None
        best = max(fits, key=lambda d: (local[d], grid[d] > 1, -d))
        local[best] //= factor
        grid[best] *= factor
    return tuple(grid)


def prime_factors(number: int) -> list[int]:
    """The prime factors, largest first."""
    found, factor = [], 2
    while factor * factor <= number:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return sorted([*found, number] if number > 1 else found, reverse=True)


def halo_transfers(
    lattice: Sequence[int],
    grid: Sequence[int],
    *,
    ranks_per_node: int,
    real_bytes: int,
    exchanges: int,
) -> list[Transfer]:
    """A rank's messages in so many exchanges, a transfer for each divided direction.

    Ranks fill nodes in their order, the first direction fastest. A direction whose neighbour is on
    another node for any rank costs every rank that, for all wait for the slowest.
    """
    local = [extent // parts for extent, parts in zip(lattice, grid, strict=True)]
    ranks = np.arange(math.prod(grid))
    found, stride = [], 1
    for extent, parts in zip(local, grid, strict=True):
        if parts > 1:
            place = ranks // stride % parts
            ahead = ranks + np.where(place < parts - 1, stride, stride * (1 - parts))
            crossing = ranks[ahead // ranks_per_node != ranks // ranks_per_node]
            sharing = int(np.bincount(crossing // ranks_per_node).max(initial=0))
            face = math.prod(local) // extent
            volume = float(exchanges * REALS_PER_FACE_SITE * real_bytes * face)
            found.append(Transfer(exchanges, volume, sharing > 0, max(1, sharing)))
        stride *= parts
    return found


def squarest_grid(ranks: int) -> tuple[int, int]:
    """P × Q of HPL nearest to a square, no higher than wide."""
    p = next(k for k in range(math.isqrt(ranks), 0, -1) if ranks % k == 0)
    return p, ranks // p


def hpl_transfers(n: int, nb: int, p: int, q: int, *, ranks_per_node: int) -> list[Transfer]:
    """α·N((NB + 1)·log₂P + P)/NB + β·N²(3P + Q)/(2PQ), β a double; nothing on one rank.

    The ranks of a node share its link.
    """
    if p * q == 1:
        return []
    starts = n * ((nb + 1) * math.log2(p) + p) / nb
    volume = _DOUBLE_BYTES * n**2 * (3 * p + q) / (2 * p * q)
    between = p * q > ranks_per_node
    return [Transfer(starts, volume, between, ranks_per_node if between else 1)]
