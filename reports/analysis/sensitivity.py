# SPDX-License-Identifier: Apache-2.0
"""How much the order hangs on one weight: the weight at which another environment has the least
cost, exactly, for each check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from reports.statistics.descriptive import Matrix
from reports.statistics.signed_rank import LEAST_N

#: Shares of one check at which the order is looked at before the turn between two is narrowed down.
_GRID = 65
#: Halvings of the interval between two shares: to 1e-15.
_HALVINGS = 44


@dataclass(frozen=True, slots=True)
class Turn:
    """`leader` has the least cost once `check` has more (`above`) or less than the share `share` of
    all weight, the others kept in proportion; `declared` is its share, `weight` the weight at the
    turn."""

    check: str
    declared: float
    share: float
    weight: float
    above: bool
    leader: str

    def as_json(self) -> dict[str, Any]:
        """The turn for machines; a weight without bound is null."""
        return asdict(self) | {"weight": self.weight if np.isfinite(self.weight) else None}


def turns(
    names: Sequence[str],
    scores: Matrix,
    by_check: Mapping[str, Matrix],
    weights: Mapping[str, float],
) -> tuple[str, list[Turn]]:
    """Who has the least cost, and for each check the nearest turns below and above its share.

    Costs are compared as the score's pairs are: Hodges–Lehmann estimate of ln of their ratio over
    the blocks that count (those in which `scores` has a value).
    """
    whole = sum(weights.values())
    counted = np.isfinite(scores)
    costs = {check: np.where(counted, cost, np.nan) for check, cost in by_check.items()}
    leader = _leader(scores)
    if leader is None:
        return "", []
    found = []
    for check, cost in costs.items() if len(costs) > 1 else ():
        declared = weights[check] / whole
        rest = sum(weights[c] / (whole - weights[check]) * costs[c] for c in costs if c != check)
        for end in (0.0, 1.0):
            turn = _first_turn(np.asarray(rest), cost, declared, end, leader)
            if turn is not None:
                share, other = turn
                weight = share / (1 - share) * (whole - weights[check]) if share < 1 else np.inf
                above = end > declared
                found.append(Turn(check, declared, share, weight, above, names[other]))
    return names[leader], found


def _first_turn(
    rest: Matrix, cost: Matrix, declared: float, end: float, leader: int
) -> tuple[float, int] | None:
    """The share nearest to the declared one, on the way to `end`, at which another leads."""

    def leads(share: float) -> int | None:
        return _leader((1 - share) * rest + share * cost)

    shares = np.linspace(declared, end, _GRID)
    for near, far in pairwise(shares.tolist()):
        if leads(far) == leader:
            continue
        low, high = near, far
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if leads(middle) == leader else (low, middle)
        other = leads(high)
        return None if other is None else (high, other)
    return None


def _leader(total: Matrix) -> int | None:
    """The environment that no other is below; None with too few blocks in common."""
    logs = np.log(total)
    best = 0
    for other in range(1, len(logs)):
        difference = logs[other] - logs[best]
        difference = difference[np.isfinite(difference)]
        if len(difference) < LEAST_N:
            return None
        first, second = np.triu_indices(len(difference))
        if np.median(difference[first] + difference[second]) < 0:
            best = other
    return best
