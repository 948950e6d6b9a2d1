# SPDX-License-Identifier: Apache-2.0
"""What is calculated for the tables and claims of T. H. Dunigan (1988)."""

from __future__ import annotations

from plugins.papers.fields import LENGTH, Field
from plugins.papers.run_values import RunValues

#: Two nodes as Slurm places them.
_NODES = {"params.placement": "between-nodes", "params.transport": "library", "params.hops": 0}
_SHORT = {LENGTH: [8, 16, 32, 64, 128, 256, 512]}
_HOST = {"params.placement": "login-node", "params.transport": "tcp"}


def _times(run: RunValues) -> Field:
    return run.values("echo", "half_round_trip", _NODES, by=[LENGTH])


def _of_8_bytes(run: RunValues) -> Field:
    return run.values("echo", "half_round_trip", {**_NODES, LENGTH: 8})


def _operation(run: RunValues, operation: str) -> Field:
    at = {"at.operand": "real64", "at.operation": operation}
    return run.values("node", "operation_time", at)


CALCULATIONS = {
    "ring_rate": lambda run: run.values("ring", "ring_rate", by=["ranks"]).pick(
        "ranks", "greatest"
    ),
    "long_ring_rate": lambda run: run.values(
        "ring", "ring_rate", {LENGTH: 8192}, by=["ranks"]
    ).pick("ranks", "greatest"),
    "start_up": lambda run: _times(run).line("start_up"),
    "per_byte": lambda run: _times(run).line("per_byte"),
    "long_rate": lambda run: run.values("echo", "bandwidth", {**_NODES, LENGTH: 8192}),
    "flop_rate": lambda run: 1 / _operation(run, "*+*+*"),
    "of_8_bytes": _of_8_bytes,
    "product": lambda run: _operation(run, "*"),
    "in_products": lambda run: _of_8_bytes(run) / _operation(run, "*"),
    "time": lambda run: run.values("echo", "half_round_trip", _NODES),
    "short_time": lambda run: run.values("echo", "half_round_trip", {**_NODES, **_SHORT}),
    "short_host_time": lambda run: run.values("echo", "half_round_trip", {**_HOST, **_SHORT}),
}
