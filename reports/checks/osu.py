# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks: each by its own quantity."""

from functools import partial

from reports.show.section import Section, side_by_side_table

#: What benchmarks are read by.
_HEADLINES = (*("osu_message_rate", "osu_bandwidth", "osu_latency", "osu_init_mean"),)

SECTION = Section(
    tables=[partial(side_by_side_table, check="osu", metric=metric) for metric in _HEADLINES]
)
