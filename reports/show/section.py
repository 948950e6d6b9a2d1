# SPDX-License-Identifier: Apache-2.0
"""What a report shows of one check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports.analysis import Analysis
from reports.show.panel import Picture
from reports.show.rows import metric_table
from reports.show.tables import Table


@dataclass(frozen=True, slots=True)
class Section:
    """A check's own pictures and tables; after them stand the statistics of every metric.

    Each function takes the analysis of the run and gives None where it has nothing to show.
    `statistics` replaces the tables of every metric where another form serves better.
    """

    pictures: Sequence[Callable[[Analysis], Picture | None]] = ()
    tables: Sequence[Callable[[Analysis], Table | None]] = ()
    statistics: Callable[[Analysis], Sequence[Table]] | None = None


def statistics_tables(analysis: Analysis, check: str) -> list[Table]:
    """The statistics of each measured metric of a check."""
    metrics = analysis.register.metrics
    names = [name for name in analysis.metrics_of(check) if metrics[name].measured]
    made = (metric_table(analysis, check, name) for name in names)
    return [table for table in made if table is not None]
