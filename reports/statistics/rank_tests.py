# SPDX-License-Identifier: Apache-2.0
"""Three or more environments over the same blocks or cells: Friedman's test and Nemenyi's distance.

Rows of a matrix are blocks (or cells), columns are environments; values in one direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from reports.statistics.descriptive import LEVEL, Matrix
from reports.statistics.signed_rank import mid_ranks


@dataclass(frozen=True, slots=True)
class Friedman:
    """`mean_ranks` a column (1 = least value) over `rows` rows, χ² with columns − 1 degrees of
    freedom, and its p."""

    mean_ranks: tuple[float, ...]
    rows: int
    statistic: float
    p: float

    @property
    def critical_difference(self) -> float:
        """The critical difference of mean ranks at 95 %."""
        return nemenyi_difference(len(self.mean_ranks), self.rows)


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
    return Friedman(
        tuple(means.tolist()),
        rows,
        statistic,
        float(special.chdtrc(columns - 1, statistic)),
    )


def nemenyi_difference(columns: int, rows: int, level: float = LEVEL) -> float:
    """Mean ranks further apart than q·√(k(k+1)/(6n)) differ, all pairs at once.

    q is the quantile of the studentised range for k columns and infinite degrees of freedom over √2
    [Nemenyi 1963; Demšar, JMLR 7 (2006), table 5: 2.343, 2.569, 2.728 for k = 3, 4, 5].
    """
    from scipy import stats  # slow: SciPy, rarely needed

    quantile = float(stats.studentized_range.ppf(level, columns, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(columns * (columns + 1) / (6 * rows)))
