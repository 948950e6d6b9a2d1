# SPDX-License-Identifier: Apache-2.0
"""Values by launch: {block: value}; what follows from two checks pairs launches of one block."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from reports.analysis import Analysis, Row
from reports.tables import Cell
from reports.units import fixed, si_text

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


def echo_times(analysis: Analysis, environment: str) -> dict[int, ByBlock]:
    """Half round trips in s between neighbouring nodes, by message length and block.

    Those of our echo; where a campaign has none, of pt2pt's Send/Recv.
    """
    for check in ("echo", "pt2pt"):
        times: dict[int, ByBlock] = {}
        for row in analysis.rows_of(check, "half_round_trip"):
            if _is_plain_echo(analysis, row, environment):
                size = int(row.series.at_value("message_bytes") or 0)
                times.setdefault(size, {}).update(by_block(row))
        if times:
            return times
    return {}


def _is_plain_echo(analysis: Analysis, row: Row, environment: str) -> bool:
    case = analysis.case(row)
    return (
        case.environment == environment
        and case.params.get("placement", "between-nodes") == "between-nodes"
        and case.params.get("distance", 1) == 1
        and case.params.get("hops", 0) <= 1
        and row.series.at_value("construct") in (None, "Send/Recv")
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
