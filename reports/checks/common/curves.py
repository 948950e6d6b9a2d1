# SPDX-License-Identifier: Apache-2.0
"""Latency and bandwidth against message length: all environments over all lengths measured."""

from __future__ import annotations

from collections.abc import Callable

from reports.analysis import Analysis
from reports.checks.common.fits import chosen_construct
from reports.show.lines import Picture, size_picture
from reports.show.rows import message_bytes
from reports.show.tables import slug


def latency_and_bandwidth(check: str, *metrics: str) -> Callable[[Analysis], Picture | None]:
    """The picture of a time and a rate, of the plain send and receive."""

    def picture(analysis: Analysis) -> Picture | None:
        rows = analysis.rows_of(check, *metrics)
        plain = chosen_construct(rows)
        mine = [row for row in rows if row.series.at_value("construct") == plain]
        drawn = [row for row in mine if message_bytes(row)]
        return size_picture(
            analysis,
            drawn,
            f"picture-{slug(check)}",
            "Latency and bandwidth",
            f"{plain or 'Send and receive'}, all lengths measured"
            + ("; 0 bytes stand in the tables." if len(drawn) < len(mine) else "."),
        )

    return picture
