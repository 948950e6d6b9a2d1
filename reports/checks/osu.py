# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks: each by its own quantity."""

from reports.analysis.run import Analysis
from reports.show.section import Section, side_by_side_table
from reports.show.tables import Table

#: What benchmarks are read by.
_HEADLINES = (
    *("osu_message_rate", "osu_bandwidth", "osu_overall_time", "osu_latency", "osu_init_mean"),
)


def headline_tables(analysis: Analysis) -> list[Table]:
    """Each quantity that a benchmark is read by, environments side by side."""
    made = (side_by_side_table(analysis, "osu", metric) for metric in _HEADLINES)
    return [table for table in made if table is not None]


SECTION = Section(statistics=headline_tables)
