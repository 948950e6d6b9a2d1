# SPDX-License-Identifier: Apache-2.0
"""Bounds of metrics by the nominal rates of a site.

A bound is taken on the safe side: a value beyond it cannot be, one within it proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from records.metric import MetricDefinition

#: Cycles a second of a core; the records of overclockers, under liquid helium, are below this.
CORE_HZ = 1e10
#: More than a link between two ranks carries, or the memory that they share (NVLink 5: 1.8 TB/s).
LINK_MOST_BYTES_PER_S = 2e12


class Nominal(msgspec.Struct, frozen=True, kw_only=True):
    """Nominal rates; None where the site does not state one. `link_bytes_per_s` is what a node's
    link leaves to payload, one way; a shaped link passes `burst_bytes` at once after a pause."""

    link_bytes_per_s: float | None = None
    burst_bytes: float = 0
    core_flop_per_s: float | None = None
    node_memory_bytes_per_s: float | None = None


def nominal(
    *,
    bits_per_second: float | None,
    payload_share: float | None,
    core_peak_flop_per_s: float | None,
    memory_bytes_per_second: float | None,
    burst_bytes: float | None = None,
) -> Nominal:
    """The rates in a site's description or provenance."""
    link = bits_per_second / 8 * (payload_share or 1.0) if bits_per_second else None
    return Nominal(
        link_bytes_per_s=link,
        burst_bytes=burst_bytes or 0,
        core_flop_per_s=core_peak_flop_per_s,
        node_memory_bytes_per_s=memory_bytes_per_second,
    )


def bound(
    metric: MetricDefinition,
    at: Mapping[str, Any],
    ranks: int,
    ranks_per_node: int,
    rates: Nominal,
    *,
    cpus_per_task: int | None = None,
) -> float | None:
    """The greatest value that is possible, of a time the least; None where none is known. Messages
    are bounded by the link only where each crosses it: with one rank on each of several nodes; and
    only by what of them a shaped link does not pass at once."""
    if metric.limit == "memory":
        return rates.node_memory_bytes_per_s
    if metric.limit == "flop":
        cores = ranks * (cpus_per_task or 1)
        return cores * rates.core_flop_per_s if rates.core_flop_per_s else None
    link = rates.link_bytes_per_s
    if not metric.limit or link is None or ranks_per_node != 1 or ranks < 2:
        return None
    size = at.get("message_bytes")
    waiting = 1.0  # the share of the message that takes its turn
    if isinstance(size, int) and size > 0:
        waiting = 1 - rates.burst_bytes / size
    if waiting <= 0:
        return None
    if metric.better == "higher":
        together = metric.limit == "links" and at.get("direction") != "one-way"
        return (link * ranks if together else link) / waiting
    return size * waiting / link if isinstance(size, int) and size > 0 else None


def is_beyond(metric: MetricDefinition, value: float, limit: float) -> bool:
    """Tell whether a value is better than its bound."""
    return value > limit if metric.better == "higher" else value < limit
