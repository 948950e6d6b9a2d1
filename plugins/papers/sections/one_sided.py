# SPDX-License-Identifier: Apache-2.0
"""One-sided copies: times and rates of put and get, by what completes them."""

from reports.checks.common.curves import over_lengths
from reports.show.section import Section

_CAPTION = (
    "One panel for each operation and what completes it. By fences a copy is half of a copy there"
    " and its answer back; under a lock it is one copy, in which the other rank takes no part."
)

SECTION = Section(
    pictures=[
        over_lengths(
            "one_sided",
            f"one_sided_{metric}",
            anchor=f"picture-one-sided-{metric}s",
            title=title,
            caption=_CAPTION,
        )
        for metric, title in {"time": "Time of a copy", "rate": "Rate of copies"}.items()
    ]
)
