# SPDX-License-Identifier: Apache-2.0
"""Values by launch: {block: value}; what follows from two checks pairs launches of one block."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from reports.analysis import Analysis, Row
from reports.notation.units import fixed, si_text
from reports.show.tables import Cell

ByBlock = dict[int, float]


def by_block(row: Row) -> ByBlock:
    """A row's values by block, SI units."""
    return dict(zip(row.series.blocks.tolist(), row.series.values.tolist(), strict=True))


def over_nodes(analysis: Analysis, environment: str, metric: str, **at: str) -> ByBlock:
    """The median over nodes of a node metric, by block, at the point `at`."""
    found: dict[int, list[float]] = {}
    for row in analysis.rows_of("node", metric):
        here = all(row.series.at_value(name) == value for name, value in at.items())
        if here and analysis.case(row).environment == environment:
            for block, value in by_block(row).items():
                found.setdefault(block, []).append(value)
    return {block: median(values) for block, values in found.items()}


#: Where echo times are looked for, in this order: checks, and the construct that counts where a
#: check has several.
_ECHOES = {"echo": None, "pt2pt": "Send/Recv", "pvm_echo": "InPlace"}


def echo_times(
    analysis: Analysis, environment: str, transport: str = "library"
) -> dict[int, ByBlock]:
    """Half round trips in s between neighbouring nodes, by message length and block.

    Those of our echo; where a campaign has none, of pt2pt's Send/Recv or of PVM's InPlace on the
    direct route.
    """
    for check, construct in _ECHOES.items():
        times: dict[int, ByBlock] = {}
        for row in analysis.rows_of(check, "half_round_trip"):
            case = analysis.case(row)
            here = (
                case.environment == environment
                and row.series.at_value("construct") == construct
                and _is_plain(case.params, transport)
            )
            if here:
                size = int(row.series.at_value("message_bytes") or 0)
                times.setdefault(size, {}).update(by_block(row))
        if times:
            return times
    return {}


def _is_plain(params: Mapping[str, Any], transport: str) -> bool:
    plain = {
        "placement": "between-nodes",
        "distance": 1,
        "route": "direct",
        "reply_before_wait": False,
    }
    return (
        params.get("transport", "library") == transport
        and params.get("hops", 0) <= 1
        and all(params.get(name, value) == value for name, value in plain.items())
    )


def together(one: ByBlock, other: ByBlock) -> list[tuple[float, float]]:
    """Pairs of values of the same block."""
    return [(one[block], other[block]) for block in sorted(one.keys() & other.keys())]


def spread_cell(values: list[float], places: int, unit: str = "") -> Cell:
    """Median of launches, their least and greatest, and how many there were."""
    if not values:
        return Cell("–", title="not measured")
    text = fixed(median(values), places)
    if len(values) > 1:
        text += f" ({fixed(min(values), places)} … {fixed(max(values), places)})"
    title = f"median of n = {len(values)}: {si_text(median(values))} {unit}".strip()
    return Cell(text, title=title)


def scaled(values: Mapping[int, float], factor: float) -> list[float]:
    """The values of all blocks over `factor`."""
    return [value / factor for _, value in sorted(values.items())]
