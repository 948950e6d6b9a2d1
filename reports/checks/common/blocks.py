# SPDX-License-Identifier: Apache-2.0
"""Values by block: of a check's rows, and of half round trips."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from reports.analysis.run import Analysis, Row
from reports.show.rows import message_bytes

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
    analysis: Analysis, environment: str, placement: str = "between-nodes"
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
            and case.params.get("transport", "library") == "library"
            and case.params.get("placement", "between-nodes") == placement
            and case.params.get("hops", 0) <= 1
        ]
        if near:
            return by_block(near, message_bytes)
    return {}
