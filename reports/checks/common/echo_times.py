# SPDX-License-Identifier: Apache-2.0
"""Half round trips between neighbouring nodes or ranks, whichever check measured them."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from reports.analysis import Analysis, Row
from reports.show.rows import message_bytes

ByBlock = dict[int, float]
#: Where echo times are looked for, in this order: checks, and the construct that counts where a
#: check has several.
_ECHOES = {"echo": None, "pt2pt": "Send/Recv", "pvm_echo": "InPlace"}
_PLAIN = {
    "distance": 1,
    "route": "direct",
    "reply_before_wait": False,
}


def echo_times(
    analysis: Analysis,
    environment: str,
    transport: str = "library",
    placement: str = "between-nodes",
) -> dict[int, ByBlock]:
    """Half round trips in s between neighbouring nodes, or within one, by message length and block.

    Those of our echo; where a campaign has none, of pt2pt's Send/Recv or of PVM's InPlace on the
    direct route.
    """
    for check, construct in _ECHOES.items():
        times: dict[int, ByBlock] = {}
        for row in analysis.rows_of(check, "half_round_trip"):
            case = analysis.case(row)
            params = case.params
            if (
                case.environment == environment
                and row.series.at_value("construct") == construct
                and params.get("transport", "library") == transport
                and params.get("hops", 0) <= 1
                and params.get("placement", "between-nodes") == placement
                and all(params.get(name, value) == value for name, value in _PLAIN.items())
            ):
                times.setdefault(message_bytes(row), {}).update(row.series.by_block())
        if times:
            return times
    return {}


def median_by_block(rows: Iterable[Row]) -> ByBlock:
    """The median of several rows in each block."""
    found: dict[int, list[float]] = {}
    for row in rows:
        for block, value in row.series.by_block().items():
            found.setdefault(block, []).append(value)
    return {block: median(found[block]) for block in sorted(found)}


def together(one: ByBlock, other: ByBlock) -> list[tuple[float, float]]:
    """Pairs of values of the same block."""
    return [(one[block], other[block]) for block in sorted(one.keys() & other.keys())]
