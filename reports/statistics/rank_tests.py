# SPDX-License-Identifier: Apache-2.0
"""Three or more environments over the same blocks or cells: Friedman's test.

Rows of a matrix are blocks (or cells), columns are environments; values in one direction.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy import special  # type: ignore[import-untyped]

from reports.statistics.descriptive import Matrix
from reports.statistics.signed_rank import mid_ranks


@dataclass(frozen=True, slots=True)
class Friedman:
    """χ² with columns − 1 degrees of freedom, and its p."""

    statistic: float
    p: float


def friedman(values: Matrix) -> Friedman | None:
    """Whether any column differs, by ranks within rows; ties by mid-ranks.

    χ² = (k−1)·n²·Σ_j(mean rank_j − (k+1)/2)² / Σ_ij(r_ij − (k+1)/2)², which is right with ties too
    [Friedman 1937; Conover 1999, §5.8]. Assumes independent rows. Least: 3 columns, 3 rows; None
    below, and p = 1 where every row is tied throughout.
    """
    rows, columns = values.shape
    if rows < 3 or columns < 3:
        return None
    ranks = mid_ranks(values)
    means = ranks.mean(axis=0)
    centre = (columns + 1) / 2
    spread = float(((ranks - centre) ** 2).sum()) / (columns - 1)
    statistic = rows**2 * float(((means - centre) ** 2).sum()) / spread if spread > 0 else 0.0
    return Friedman(statistic, float(special.chdtrc(columns - 1, statistic)))
