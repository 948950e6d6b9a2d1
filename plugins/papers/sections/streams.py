# SPDX-License-Identifier: Apache-2.0
"""Streams of messages, one way and both ways."""

from reports.checks.common.curves import over_lengths
from reports.show.section import Section

rates = over_lengths(
    "streams",
    "window_rate",
    anchor="picture-streams",
    title="Rate of streams",
    caption="One panel for each direction; both ways: the bytes of both directions together, while"
    " the line rate is that of one.",
)

SECTION = Section(pictures=(rates,))
