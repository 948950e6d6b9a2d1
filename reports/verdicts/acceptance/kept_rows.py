# SPDX-License-Identifier: Apache-2.0
"""Which of very many peers get an item: those that do not plainly pass, the lowest of the others.

The others are counted. Pure functions.
"""

from __future__ import annotations

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from records.site.pair_places import Indices
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.bounds import bound_rank

#: Of more peers than these the open and the bad ones are kept, and the lowest of the others.
MOST_KEPT, LOWEST_KEPT = 3000, 50


def telling_rows(
    values: Matrix,
    at_least: float | None,
    at_most: float | None,
    *,
    confidence: float,
    least_n: int,
) -> Indices:
    """The rows of `values`, a block a column, that get an item where each row's median is held
    against the limits; all rows but those that plainly pass and are not nearest to a limit."""
    if len(values) <= MOST_KEPT:
        return np.arange(len(values))
    low, high = _bounds_of_medians(values, confidence, least_n)
    least, most = -np.inf if at_least is None else at_least, np.inf if at_most is None else at_most
    plain = (low >= least) & (high <= most)
    good = np.flatnonzero(plain)
    margins = np.minimum(low[good] - least, most - high[good])
    lowest = good[np.argsort(margins, kind="stable")[:LOWEST_KEPT]]
    return np.sort(np.concatenate([np.flatnonzero(~plain), lowest]))


def _bounds_of_medians(values: Matrix, confidence: float, least_n: int) -> tuple[Matrix, Matrix]:
    """The bounds that `median_bounds` gives each row; NaN where a row has too few values."""
    counts = np.isfinite(values).sum(axis=1)
    ordered = np.sort(values, axis=1)  # NaN last
    low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
    for n in np.unique(counts[counts >= max(least_n, 2)]).tolist():
        rows, rank = counts == n, bound_rank(n, confidence)
        mine = ordered[rows, :n]
        if rank is None:
            reach = special.stdtrit(n - 1, confidence) * mine.std(axis=1, ddof=1) / np.sqrt(n)
            low[rows], high[rows] = mine.mean(axis=1) - reach, mine.mean(axis=1) + reach
        else:
            low[rows], high[rows] = mine[:, rank[0] - 1], mine[:, n - rank[0]]
    return low, high
