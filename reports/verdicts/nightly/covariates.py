# SPDX-License-Identifier: Apache-2.0
"""What nodes and weekdays add to a night's value, taken out before nights are compared.

A scheduler gives a campaign other nodes every night, and a site may be busier on some weekdays.
ln(value) = level + Σ effects of tonight's nodes and weekday + noise, with random effects of one
variance (best linear unbiased prediction) [Robinson, Statistical Science 6 (1991) 15]. The ratio of
the variances is chosen by restricted likelihood from a grid that has 0 in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np

from records.history.model import Night
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.reference import Mask, last_nights

#: Nights that share a level: a slow change of the level is then no effect of nodes.
_BLOCK = 14
#: Fewer nights tell no effect.
_LEAST_NIGHTS = 12
#: A node, or a weekday, counts from its third change between present and absent on: before, what
#: came with the node and what came with the day cannot be told apart.
_LEAST_TURNS = 3
#: Variances of an effect in units of the noise's.
_RATIOS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
#: Gain in log-likelihood from which effects count; without any 2 % of series have it.
_LEAST_GAIN = 2.0


def night_terms(nights: Sequence[Night]) -> Matrix:
    """Which nodes ran and which weekday it was, 0 or 1; shape (nights, terms)."""
    names = sorted({node for night in nights for node in night.nodes})
    row_of = [set(night.nodes) for night in nights]
    days = [_weekday(night) for night in nights]
    columns = [[name in row for row in row_of] for name in names]
    columns += [[day == number for day in days] for number in range(7)]
    return np.array(columns, dtype=np.float64).reshape(len(columns), len(nights)).T


def _weekday(night: Night) -> int | None:
    try:
        return date.fromisoformat(night.started_at[:10]).weekday()
    except ValueError:
        return None


def term_factors(values: Matrix, usable: Mask, terms: Matrix, most_nights: int) -> Matrix:
    """What each night's value (series × nights) is multiplied by to be as if it had had tonight's
    nodes and weekday; tonight is the last column, and has 1.

    Effects come from the last `most_nights` of the usable nights before tonight. A night among
    those is corrected by what the others tell, so that its residual is as large as tonight's.
    """
    factors = np.ones(values.shape)
    before = usable & (values > 0)
    before[:, -1:] = False
    chosen = last_nights(before, most_nights)
    masks, group = np.unique(chosen, axis=0, return_inverse=True)
    for number, mask in enumerate(masks):
        kept = _known_terms(terms, mask)
        if mask.sum() < _LEAST_NIGHTS or not kept.any():
            continue
        rows = np.flatnonzero(group.ravel() == number)
        factors[rows] = _factors(np.log(values[rows][:, mask]), terms[:, kept], mask)
    return factors


def _known_terms(terms: Matrix, mask: Mask) -> Mask:
    """The terms that came and went often enough on the nights of `mask`."""
    known: Mask = (np.diff(terms[mask], axis=0) != 0).sum(axis=0) >= _LEAST_TURNS
    return known


def _factors(logs: Matrix, terms: Matrix, mask: Mask) -> Matrix:
    """`term_factors` of series with the same chosen nights; `logs` has those nights only."""
    n = logs.shape[1]
    blocks = np.arange(n) * max(1, round(n / _BLOCK)) // n
    level = (blocks[:, np.newaxis] == np.unique(blocks)).astype(np.float64)
    centre = np.eye(n) - level @ (level / level.sum(axis=0)).T
    design = centre @ terms[mask]
    roots, axes = np.linalg.eigh(design @ design.T)
    roots = np.maximum(roots, 0.0)
    turned = logs @ centre @ axes
    freedom = n - level.shape[1]
    scores = np.array([_likelihood(turned, 1 + ratio * roots, freedom) for ratio in (0, *_RATIOS)])
    best, factors = scores.argmax(axis=0), np.ones((len(logs), len(mask)))
    best[scores.max(axis=0) - scores[0] < _LEAST_GAIN] = 0
    for place, ratio in enumerate(_RATIOS, start=1):
        rows = np.flatnonzero(best == place)
        weights = ratio / (1 + ratio * roots)
        effects = (turned[rows] * weights) @ axes.T @ design
        expected = effects @ terms.T
        own = (axes**2 * (roots * weights)).sum(axis=1)
        fitted = turned[rows] * (roots * weights) @ axes.T
        rest = logs[rows] @ centre - fitted
        expected[:, mask] -= rest * own / np.maximum(1 - own, 1 / n)
        factors[rows] = np.exp(expected[:, -1:] - expected)
    return factors


def _likelihood(turned: Matrix, variances: Matrix, freedom: int) -> Matrix:
    """Restricted log-likelihood of each series, the noise's variance at its best; no constants."""
    noise = np.maximum((turned**2 / variances).sum(axis=1) / freedom, 1e-12)
    likelihood: Matrix = -(freedom * np.log(noise) + np.log(variances).sum()) / 2
    return likelihood
