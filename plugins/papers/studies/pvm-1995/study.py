# SPDX-License-Identifier: Apache-2.0
"""What is calculated for the tables and claims of H. Casanova, J. Dongarra and W. Jiang (1995)."""

from __future__ import annotations

from collections.abc import Mapping

from plugins.papers.fields import LENGTH, Field
from plugins.papers.run_values import RunValues

_NODES = {"params.placement": "between-nodes"}
_MPI = {**_NODES, "params.transport": "library", "params.hops": 0}
_DIRECT = {**_NODES, "params.route": "direct"}
#: The messages through which the paper's straight lines go.
_LINE_BYTES = 1024
#: Lengths of figures 3(a), 5 and 7.
_SHORTEST = [0, 128, 256, 384, 512, 640, 768, 896, 1024]
_SHORT = {LENGTH: [128, 256, 512, 768, 1024]}
_LONG = {LENGTH: 800_000}


def _of_pvm(run: RunValues, construct: str, at: Mapping[str, object]) -> Field:
    where = {"at.construct": construct, **_DIRECT, **at}
    return run.values("pvm_echo", "half_round_trip", where)


def by_latency_and_rate(row: Mapping[str, str], at: Mapping[str, float]) -> dict[str, float | None]:
    """t(m), a line through the latency and the rate of 800 Kbytes, µs; R(m) = m/t, MB/s."""
    m, latency_us = at["message_bytes"], float(row["latency_us"])
    per_byte_us = 1 / float(row["bandwidth_mb_s"]) - latency_us / 8e5
    time_us = latency_us + per_byte_us * m
    return {"time_us": time_us, "rate_mb_s": m / time_us}


CALCULATIONS = {
    "by_latency_and_rate": by_latency_and_rate,
    "latency": lambda run: run.values("pvm_echo", "half_round_trip_mean", _NODES, by=[LENGTH]).line(
        "start_up", up_to=_LINE_BYTES
    ),
    "latency_mpi": lambda run: run.values("echo", "half_round_trip_mean", _MPI, by=[LENGTH]).line(
        "start_up", up_to=_LINE_BYTES
    ),
    "long_time": lambda run: run.values("pvm_echo", "half_round_trip_mean", {**_LONG, **_DIRECT}),
    "copy_time": lambda run: run.values("pvm_echo", "copy_time", {**_LONG, **_DIRECT}),
    "pvm_rate": lambda run: run.values("pvm_echo", "bandwidth_mean", _NODES),
    "short_time": lambda run: run.values(
        "pvm_echo", "half_round_trip_mean", {**_NODES, LENGTH: _SHORTEST}
    ),
    "short_time_mpi": lambda run: run.values(
        "echo", "half_round_trip_mean", {**_MPI, LENGTH: _SHORTEST}
    ),
    "rate_mpi": lambda run: run.values("echo", "bandwidth", _MPI),
    "long_rate_mpi": lambda run: run.values("echo", "bandwidth", {**_MPI, **_LONG}),
    "psend": lambda run: _of_pvm(run, "psend", {}),
    "in_place": lambda run: _of_pvm(run, "InPlace", {}),
    "raw": lambda run: _of_pvm(run, "Raw", {}),
    "short_in_place": lambda run: _of_pvm(run, "InPlace", _SHORT),
    "short_raw": lambda run: _of_pvm(run, "Raw", _SHORT),
    "long_in_place": lambda run: _of_pvm(run, "InPlace", _LONG),
    "long_raw": lambda run: _of_pvm(run, "Raw", _LONG),
    "psend_rate_pvm": lambda run: run.values(
        "pvm_echo",
        "bandwidth_mean",
        {**_DIRECT, "at.construct": "psend", **_LONG, "environment": "pvm"},
    ),
    "rate_mpich": lambda run: run.values(
        "echo", "bandwidth", {**_MPI, **_LONG, "environment": "mpich"}
    ),
}
