# SPDX-License-Identifier: Apache-2.0
"""Collective operations in closed form, compared with the expressions of 1996."""

from reports.checks.collectives.pictures import against_counts, against_length
from reports.checks.collectives.tables import expressions, latencies
from reports.show.section import Section

SECTION = Section(pictures=(against_length, against_counts), tables=(expressions, latencies))
