# SPDX-License-Identifier: Apache-2.0
"""What is calculated for the tables and claims of J. J. Dongarra and T. H. Dunigan (1996)."""

from __future__ import annotations

from collections.abc import Mapping

from plugins.papers.fields import LENGTH, Field
from plugins.papers.run_values import RunValues

#: Ranks that are neighbours, and the rows beside the machines of then that are of other kinds.
_NEAR = {"params.transport": "library", "params.distance": 1, "params.hops": 0}
_NODES = {"params.placement": "between-nodes", **_NEAR}
_WITHIN = {"params.placement": "within-node", **_NEAR}
_TCP = {"params.transport": "tcp", "params.placement": "between-nodes"}
_UDP = {"params.transport": "udp", "params.placement": "between-nodes"}
_PUT = {
    "params.placement": "between-nodes",
    "params.synchronisation": "lock",
    "at.operation": "put",
}


def _latency(run: RunValues, where: Mapping[str, object]) -> Field:
    return run.values("echo", "echo_latency_least", where)


def _rate(run: RunValues, where: Mapping[str, object]) -> Field:
    return run.values("echo", "bandwidth", {**where, LENGTH: 1_000_000})


def _share(run: RunValues, where: Mapping[str, object]) -> Field:
    return run.share_of_line("echo", "bandwidth", {**where, LENGTH: 1_000_000})


def _half_length(run: RunValues, where: Mapping[str, object]) -> Field:
    return run.values("echo", "half_round_trip", where, by=[LENGTH]).line("half_length")


def _of_one_byte(run: RunValues, where: Mapping[str, object]) -> Field:
    return run.values("echo", "half_round_trip_best", {**where, LENGTH: 1})


def by_half_length(row: Mapping[str, str], at: Mapping[str, float]) -> dict[str, float | None]:
    """R(m) = R∞·m/(m + n½), R∞ from the rate of 10⁶ bytes (Hockney), MB/s."""
    if not (row["bandwidth_mb_s"] and row["n_half_bytes"]):
        return {"rate_mb_s": None}
    m, half = at["message_bytes"], float(row["n_half_bytes"])
    greatest = float(row["bandwidth_mb_s"]) * (1 + half / 1e6)
    return {"rate_mb_s": greatest * m / (m + half)}


def by_line(row: Mapping[str, str], at: Mapping[str, float]) -> dict[str, float | None]:
    """T(m), the straight line through the latency and the time of 10⁶ bytes, µs."""
    if not row["bandwidth_mb_s"]:
        return {"time_us": None}
    latency_us, long_us = float(row["latency_us"]), 1e6 / float(row["bandwidth_mb_s"])
    return {"time_us": latency_us + (long_us - latency_us) * at["message_bytes"] / 1e6}


def share_of_peak(row: Mapping[str, str], _: Mapping[str, float]) -> dict[str, float | None]:
    """Bandwidth over the vendor's peak."""
    rate, peak = row["bandwidth_mb_s"], row["theoretical_bandwidth_mb_s"]
    return {"peak_share": float(rate) / float(peak) if rate and peak else None}


CALCULATIONS = {
    "share_of_peak": share_of_peak,
    "by_half_length": by_half_length,
    "by_line": by_line,
    "time": lambda run: run.values("echo", "half_round_trip", _NODES),
    "any_rate": lambda run: run.values("echo", "bandwidth", _NODES),
    "latency": lambda run: _latency(run, _NODES),
    "rate": lambda run: _rate(run, _NODES),
    "half_length": lambda run: _half_length(run, _NODES),
    "share": lambda run: _share(run, _NODES),
    "latency_within": lambda run: _latency(run, _WITHIN),
    "rate_within": lambda run: _rate(run, _WITHIN),
    "half_length_within": lambda run: _half_length(run, _WITHIN),
    "share_within": lambda run: _share(run, _WITHIN),
    "latency_tcp": lambda run: _of_one_byte(run, _TCP),
    "rate_tcp": lambda run: _rate(run, _TCP),
    "half_length_tcp": lambda run: _half_length(run, _TCP),
    "share_tcp": lambda run: _share(run, _TCP),
    "latency_udp": lambda run: _of_one_byte(run, _UDP),
    "rate_ttcp": lambda run: run.values("streams", "window_rate", {**_TCP, LENGTH: 50_000}),
    "share_ttcp": lambda run: run.share_of_line("streams", "window_rate", {**_TCP, LENGTH: 50_000}),
    "latency_put": lambda run: run.values("one_sided", "one_sided_time_least", {**_PUT, LENGTH: 8}),
    "rate_put": lambda run: run.values("one_sided", "one_sided_rate", {**_PUT, LENGTH: 1_000_000}),
    "share_put": lambda run: run.share_of_line(
        "one_sided", "one_sided_rate", {**_PUT, LENGTH: 1_000_000}
    ),
    "latency_cycles": lambda run: _latency(run, _NODES) * run.values("node", "core_clock"),
}
