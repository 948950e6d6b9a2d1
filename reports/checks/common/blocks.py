# SPDX-License-Identifier: Apache-2.0
"""Values by block: of a check's rows, of half round trips, of two measurements compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import Any, TypeVar

from reports.analysis.run import Analysis, Row
from reports.notation.units import ReadableUnit, between
from reports.show.rows import message_bytes, range_cell
from reports.show.tables import Cell
from reports.statistics.signed_rank import LEAST_N, paired_effect

K = TypeVar("K")

ByBlock = dict[int, float]
#: Where echo times are looked for, in this order: checks, and the construct that counts where a
#: check has several.
_ECHOES = {"echo": None, "pt2pt": "Send/Recv", "pvm_echo": "InPlace"}
_PLAIN = {"distance": 1, "route": "direct", "reply_before_wait": False}


def rows_where(
    analysis: Analysis, check: str, metric: str, params: Mapping[str, Any], **at: Any
) -> list[Row]:
    """Rows at points with these coordinates, of cases with these parameters: a parameter that a
    case does not state is right."""
    return [
        row
        for row in analysis.rows_of(check, metric)
        if all(analysis.case(row).params.get(name, v) == v for name, v in params.items())
        and all(row.series.at_value(name) == value for name, value in at.items())
    ]


def by_block(rows: Iterable[Row], key: Callable[[Row], K]) -> dict[K, ByBlock]:
    """Values by key and block; of rows with one key the last counts."""
    values: dict[K, ByBlock] = {}
    for row in rows:
        values.setdefault(key(row), {}).update(row.series.by_block())
    return values


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
        near = [
            row
            for row in rows_where(analysis, check, "half_round_trip", _PLAIN, construct=construct)
            if (case := analysis.case(row)).environment == environment
            and case.params.get("transport", "library") == transport
            and case.params.get("placement", "between-nodes") == placement
            and case.params.get("hops", 0) <= 1
        ]
        if near:
            return by_block(near, message_bytes)
    return {}


def median_by_block(rows: Iterable[Row]) -> ByBlock:
    """The median of several rows in each block."""
    values: dict[int, list[float]] = {}
    for row in rows:
        for block, value in row.series.by_block().items():
            values.setdefault(block, []).append(value)
    return {block: median(values[block]) for block in sorted(values)}


def together(first: ByBlock, second: ByBlock) -> list[tuple[float, float]]:
    """Pairs of values of the same block."""
    return [(first[block], second[block]) for block in sorted(first.keys() & second.keys())]


def ratio_interval_cell(pairs: list[tuple[float, float]]) -> Cell:
    """Where the ratio lies, from the launches' scatter; too few of them tell nothing."""
    if len(pairs) < LEAST_N:
        return Cell("–", title=f"an interval needs {LEAST_N} launches of each, not {len(pairs)}")
    effect = paired_effect(*zip(*pairs, strict=True))
    title = f"{effect.interval.level:.1%} interval of n = {effect.n}: about {effect.ratio:.3f}"
    return Cell(between(effect.interval.low, effect.interval.high, 3), title=title)


def compared_cells(ours: ByBlock, theirs: ByBlock, unit: ReadableUnit) -> list[Cell]:
    """Both, their ratio of each block, and its interval."""
    pairs = together(ours, theirs)
    values = (range_cell(found.values(), unit) for found in (ours, theirs))
    return [*values, range_cell(a / b for a, b in pairs), ratio_interval_cell(pairs)]
