# SPDX-License-Identifier: Apache-2.0
"""Resamples of a run's blocks: in one row all numbers come from the same launches' blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.analysis import Analysis
from reports.checks.common.echo_times import ByBlock
from reports.models.launches import resampled_medians
from reports.statistics.descriptive import Matrix

SEED = 18


@dataclass(frozen=True)
class Resampled:
    """Medians over launches and over resampled blocks; the same blocks in every call."""

    blocks: tuple[int, ...]

    def medians(self, values: Sequence[ByBlock]) -> Matrix:
        """A column for each series: the median over its launches, then those of the resamples."""
        rows = np.array([[one.get(block, np.nan) for block in self.blocks] for one in values])
        return np.vstack([np.nanmedian(rows, axis=1), resampled_medians(rows, SEED)])


def resampled_of(analysis: Analysis, environment: str) -> Resampled:
    """The blocks of an environment's launches."""
    mine = [row.series for row in analysis.rows if analysis.case(row).environment == environment]
    return Resampled(tuple(sorted({int(b) for one in mine for b in one.blocks})))
