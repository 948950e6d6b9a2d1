# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of the answer to one weight: the weight at which another environment would be the
best choice, for each check."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np

from reports.analysis.cells import LEAST_DIFFERENCE
from reports.statistics.descriptive import Matrix
from reports.statistics.signed_rank import LEAST_N

#: Shares of one check at which the order is looked at before the turn between two is narrowed down.
_GRID = 65
#: Halvings of the interval between two shares: to 1e-15.
_HALVINGS = 44
#: Shares beyond these read 0 % and 100 %, and no weight falls to a smaller part of what it is.
_LEAST_SHARE, _MOST_SHARE, _LEAST_PART = 5e-5, 0.995, 0.01


@dataclass(frozen=True, slots=True)
class Turn:
    """`leader` would be the best choice once `check` had more (`above`) or less than the share
    `share` of all weight, the others kept in proportion; `declared` is its share, `weight` the
    weight at the turn."""

    check: str
    declared: float
    share: float
    weight: float
    above: bool
    leader: str


def turns(  # noqa: PLR0917
    names: Sequence[str],
    scores: Matrix,
    by_check: Mapping[str, Matrix],
    weights: Mapping[str, float],
    leaders: Sequence[str],
    proven: Collection[tuple[str, str, str]],
) -> tuple[str, list[Turn]]:
    """Environment of least cost, and for each check the nearest turns below and above its share.

    The best choice has the least cost, more than 3 % below that of all other `leaders`: those of
    which the answer says that each may be the best. It must be proven (check, better, worse) that
    it is faster than they are in the check that has more, or in another of those that have. Costs
    are compared as the score's pairs are: Hodges–Lehmann estimate of ln of their ratio over the
    blocks that count (those in which `scores` has a value).
    """
    whole = sum(weights.values())
    counted = np.isfinite(scores)
    costs = {check: np.where(counted, cost, np.nan) for check, cost in by_check.items()}
    order = _Order([names.index(name) for name in leaders])
    if (lowest := order.lowest(scores)) is None:
        return "", []
    now, found = order.best(scores), []
    for check, cost in costs.items() if len(costs) > 1 else ():
        declared = weights[check] / whole
        rest = sum(weights[c] / (whole - weights[check]) * costs[c] for c in costs if c != check)
        for above in (False, True):
            better = {(a, b) for name, a, b in proven if (name == check) == above}
            fit = [
                place
                for place, name in enumerate(names)
                if place != now and all(name == one or (name, one) in better for one in leaders)
            ]
            turn = order.first_turn(np.asarray(rest), cost, declared, float(above), fit)
            least = max(_LEAST_SHARE, _LEAST_PART * declared)
            if turn is not None and least < turn[0] < _MOST_SHARE:
                share, other = turn
                weight = share / (1 - share) * (whole - weights[check])
                found.append(Turn(check, declared, share, weight, above, names[other]))
    return names[lowest], found


@dataclass(frozen=True)
class _Order:
    """Environments by their costs; `leaders` are the places of those that may be the best."""

    leaders: Sequence[int]

    def first_turn(
        self, rest: Matrix, cost: Matrix, declared: float, end: float, fit: Sequence[int]
    ) -> tuple[float, int] | None:
        """The share nearest to the declared one, on the way to `end`, at which one of `fit` would
        be the best choice."""

        def best(share: float) -> int | None:
            place = self.best((1 - share) * rest + share * cost)
            return place if place in fit else None

        shares = np.linspace(declared, end, _GRID)
        for near, far in pairwise(shares.tolist() if fit else []):
            if (place := best(far)) is None:
                continue
            low, high = near, far
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                found = best(middle)
                low, high, place = (middle, high, place) if found is None else (low, middle, found)
            return high, place
        return None

    def best(self, total: Matrix) -> int | None:
        """The best choice; None where the least cost is within 3 % of another leader's."""
        if (place := self.lowest(total)) is None:
            return None
        others = (_distance(total, one, place) for one in self.leaders if one != place)
        return place if all(other > log(LEAST_DIFFERENCE) for other in others) else None

    def lowest(self, total: Matrix) -> int | None:
        """The environment that no other is below; None with too few blocks in common."""
        best = 0
        for other in range(1, len(total)):
            distance = _distance(total, other, best)
            if np.isnan(distance):
                return None
            best = other if distance < 0 else best
        return best


def _distance(total: Matrix, first: int, second: int) -> float:
    """Hodges–Lehmann estimate of ln of a ratio; NaN with too few blocks in common."""
    logs = np.log(total[first]) - np.log(total[second])
    logs = logs[np.isfinite(logs)]
    i, j = np.triu_indices(len(logs))
    return float(np.median(logs[i] + logs[j]) / 2) if len(logs) >= LEAST_N else np.nan
