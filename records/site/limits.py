# SPDX-License-Identifier: Apache-2.0
"""Bounds of physics: on any machine, and by the nominal rates of a site.

A bound is taken on the safe side: a value beyond it cannot be, one within it proves nothing.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from records.metric import MetricDefinition

#: Clocks count nanoseconds (clock_gettime).
_TICK_S = 1e-9
#: A message takes longer: a line of a cache needs 20 ns from core to core (Core-to-core latencies
#: of Zen and Xeon), a call of MPI as long.
_MESSAGE_S = 1e-8
#: Cycles a second of a core; the records of overclockers, under liquid helium, are below this.
CORE_HZ = 1e10
#: By unit what a core does a cycle, and an accelerator a second. Operations: two fused
#: multiply-adds of 512 bits (AVX-512, SVE of the A64FX) in single precision; bytes: two loads and
#: a store of 512 bits, in the nearest cache. Ten times the B200's 40 Tflop/s of double precision
#: and 8 TB/s.
_CORE_BYTES = 192
_RATES = {"flop/s": (64, 4e14), "bytes/s": (_CORE_BYTES, 8e13)}
#: More than a link between two ranks carries, or the memory that they share (NVLink 5: 1.8 TB/s).
LINK_MOST_BYTES_PER_S = 2e12
#: The launch is stamped by a clock that may have been set meanwhile.
_CLOCK_SHARE, _CLOCK_S = 1.02, 0.1


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """A launch as its metrics are bounded by it: its cores, its time; `devices`: whether it asked
    for more than cores and memory."""

    ranks: int
    cores: int
    seconds: float
    devices: bool = False


def window(
    metric: MetricDefinition, at: Mapping[str, Any], launched: Launched
) -> tuple[float, float]:
    """The least and the greatest value that a launch can measure, on whatever machine. A time is at
    least a tick of the clock, at most the launch's own; a rate is that of a byte or operation in
    all of that time at least. Values of other units are bounded by the metric itself."""
    low, high = metric.bounds
    if metric.kind == "share":
        return low, min(high, 1.0)
    most_s = launched.seconds * _CLOCK_SHARE + _CLOCK_S
    cores = launched.cores
    size = at.get("message_bytes")
    bytes_ = size if isinstance(size, int | float) else 0
    if metric.unit == "s":
        least_s = _TICK_S
        if metric.kind == "quotient":
            least_s = 1 / (CORE_HZ * cores)
        elif metric.kind == "chain":
            least_s = 1 / CORE_HZ
        elif metric.kind == "copy":
            least_s = max(_TICK_S, bytes_ / (CORE_HZ * _CORE_BYTES))
        elif metric.kind == "mean":  # a rank may be done when its message has left
            least_s = max(_TICK_S, bytes_ / LINK_MOST_BYTES_PER_S) / launched.ranks
        elif metric.limit == "link" and launched.ranks > 1:  # one rank alone sends nothing
            least_s = max(_MESSAGE_S, bytes_ / LINK_MOST_BYTES_PER_S)
        # Where some ranks have no time, a mean over them may be less than a tick.
        least_s = least_s / launched.ranks if metric.may_be_zero else least_s
        return least_s, min(high, most_s * cores if metric.kind == "sum" else most_s)
    if metric.unit == "1/s":
        return low, min(high, CORE_HZ * cores)
    if metric.unit not in _RATES:
        return low, high
    core, device = _RATES[metric.unit]
    most = cores * CORE_HZ * core + (launched.ranks * device if launched.devices else 0)
    if metric.limit in ("link", "links"):
        most = min(LINK_MOST_BYTES_PER_S, bytes_ / _TICK_S if bytes_ > 0 else float("inf"))
        most *= launched.ranks if metric.limit == "links" else 1
    return max(low, 1 / most_s), min(high, most)


class Nominal(msgspec.Struct, frozen=True, kw_only=True):
    """Nominal rates; None where the site does not state one. `link_bytes_per_s` is what a node's
    link leaves to payload, one way; a shaped link passes `burst_bytes` at once after a pause."""

    link_bytes_per_s: float | None = None
    burst_bytes: float = 0
    core_flop_per_s: float | None = None
    node_memory_bytes_per_s: float | None = None


def payload_rate(bits_per_second: float | None, payload_share: float | None) -> float | None:
    """Bytes a second that a link leaves to payload."""
    return bits_per_second / 8 * (payload_share or 1.0) if bits_per_second else None


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
