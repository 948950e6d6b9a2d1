# SPDX-License-Identifier: Apache-2.0
"""Launches that are too short to say something, on simulated machines (goals stand in each row).

python -m bench short_launches [MACHINES]. Machines with cores of 1 to 50 GFLOP/s and links from
100 Mbit/s to 200 Gbit/s draw parameters of each check at random; what a launch takes there is
computed here, not by the check. A clock tick of 4 ms disturbs launches of one go. Exits 1 when a
row misses its goal (bench/rows.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bench.rows import Effort, Row, Runs, printed, share
from checks.common.durations import LEAST_ONCE_S, shortfall
from checks.common.registry import CHECKS
from records.metric import Metric

TOPIC = "Launches that are too short"
MACHINES = Runs(30, 200, 2000)
#: A task that the kernel lets in stays for a tick at 250 Hz.
TICK_S = 0.004
#: What a value may be moved by, which blocks of an application aim at.
MOVED = 0.02
#: Samples behind a median last as long together, at least: cores change their clock twice in that.
CLOCK_S = 1e-3


@dataclass(frozen=True)
class Machine:
    """Speeds, and the time of a short message one way."""

    flop_per_s: float
    memory_bytes_per_s: float
    link_bytes_per_s: float
    start_s: float

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Machine:
        """One of all that there are, on logarithmic scales."""
        log = [(1e9, 5e10), (2e9, 1e11), (1.2e7, 2.5e10), (1e-6, 1e-4)]
        return cls(*(float(np.exp(rng.uniform(*np.log(ends)))) for ends in log))

    def one_way_s(self, size: float) -> float:
        """A message."""
        return self.start_s + size / self.link_bytes_per_s


#: What a launch of a check prints on a machine, and for how long each value was measured.
Launch = tuple[list[Metric], float, bool]


def _hpl(m: Machine, p: Any) -> Launch:
    took = 2 * p.n**3 / 3 / (p.p * p.q * m.flop_per_s)
    return [Metric("time", "s", "lower", took)], took, True


def _echo(m: Machine, p: Any) -> Launch:
    half = [m.one_way_s(size) for size in p.sizes]
    metrics = [
        Metric("half_round_trip", "s", "lower", one, {"message_bytes": size}, [one] * p.iterations)
        for one, size in zip(half, p.sizes, strict=True)
    ]
    return metrics, 2 * p.iterations * float(np.median(half)), False


def _node(m: Machine, p: Any) -> Launch:
    once = 2 * p.dgemm_n**3 / m.flop_per_s
    rate = p.ranks_per_node * m.flop_per_s
    at = {"node": "n1"}
    metric = Metric("dgemm_rate", "flop/s", "higher", rate, at, [rate] * p.repetitions)
    return [metric], p.repetitions * once, False


def _pairs(m: Machine, p: Any) -> Launch:
    latency, long = m.one_way_s(p.latency_bytes), m.one_way_s(p.bandwidth_bytes)
    metrics = []
    for one, two in combinations(range(p.ranks), 2):
        at = {"node": f"n{one}", "peer": f"n{two}"}
        metrics.append(Metric("pair_latency", "s", "lower", latency, at))
        rate = p.bandwidth_bytes / long
        metrics.append(Metric("pair_bandwidth", "bytes/s", "higher", rate, at))
    shorter = min(p.latency_iterations * latency, p.bandwidth_iterations * long)
    return metrics, 2 * shorter, False


def _bisection(m: Machine, p: Any) -> Launch:
    window = m.start_s + p.window * p.message_bytes / m.link_bytes_per_s
    rate = p.ranks // 2 * 2 * p.window * p.message_bytes / window
    metric = Metric("bisection_rate", "bytes/s", "higher", rate, None, [rate] * p.matchings)
    return [metric], p.matchings * p.iterations * window, False


def _ring(m: Machine, p: Any) -> Launch:
    took = [p.turns * p.ranks * m.one_way_s(size) for size in p.sizes]
    metrics = [
        Metric("ring_time", "s", "lower", one, {"order": p.order, "message_bytes": size})
        for one, size in zip(took, p.sizes, strict=True)
    ]
    return metrics, float(np.median(took)), True


def _streams(m: Machine, p: Any) -> Launch:
    metrics, took = [], []
    for size in p.sizes:
        window = m.start_s + p.window * size / m.link_bytes_per_s
        rate = p.window * size / window
        at = {"direction": "one-way", "message_bytes": size}
        metrics.append(Metric("window_rate", "bytes/s", "higher", rate, at, [rate] * p.iterations))
        took.append(p.iterations * window)
    return metrics, float(np.median(took)), False


def _osu(m: Machine, p: Any) -> Launch:
    half = m.one_way_s(p.greatest_bytes)
    at = {"message_bytes": p.greatest_bytes}
    return [Metric("osu_latency", "s", "lower", half, at)], 2 * p.iterations * half, True


def _netpipe(m: Machine, p: Any) -> Launch:
    half = m.one_way_s(p.greatest_bytes)
    at = {"message_bytes": p.greatest_bytes}
    metric = Metric("netpipe_half_round_trip", "s", "lower", half, at)
    return [metric], 2 * 3 * p.repeats * half, False


#: By check: what a launch is there, and parameters drawn for it.
CASES: dict[str, tuple[Callable[[Machine, Any], Launch], Callable[[Any], dict[str, Any]]]] = {
    "hpl": (_hpl, lambda draw: {"n": draw(100, 5000)}),
    "pt2pt": (_echo, lambda draw: {"sizes": [draw(8, 2**20)], "iterations": draw(1, 500)}),
    "node": (_node, lambda draw: {"ranks": 1, "kernels": ["dgemm"], "dgemm_n": draw(16, 1000)}),
    "alltoall_pairs": (
        _pairs,
        lambda draw: {
            "ranks": 4,
            "latency_iterations": draw(1, 2000),
            "bandwidth_bytes": draw(1024, 2**20),
            "bandwidth_iterations": draw(1, 500),
        },
    ),
    "bisection": (
        _bisection,
        lambda draw: {"ranks": 4, "message_bytes": draw(8, 2**18), "iterations": draw(1, 50)},
    ),
    "ring": (_ring, lambda draw: {"ranks": 4, "sizes": [draw(8, 2**20)], "turns": draw(1, 20000)}),
    "streams": (
        _streams,
        lambda draw: {"sizes": [draw(8, 2**18)], "iterations": draw(1, 100)},
    ),
    "osu": (
        _osu,
        lambda draw: {"greatest_bytes": draw(8, 2**20), "iterations": draw(10, 100_000)},
    ),
    "netpipe": (_netpipe, lambda draw: {"greatest_bytes": draw(8, 2**20), "repeats": draw(1, 200)}),
}


def every(machines: int) -> Iterator[Row]:
    """All rows; each check on so many machines."""
    for check, (launch, draw) in CASES.items():
        rng = np.random.default_rng(len(check))
        definition = CHECKS[check]
        false = unseen = short = cured = 0

        def drawn(low: int, high: int, rng: np.random.Generator = rng) -> int:
            return int(np.exp(rng.uniform(np.log(low), np.log(high))))

        for _ in range(machines):
            machine = Machine.drawn(rng)
            params = definition.parameters.model_validate({**definition.example, **draw(drawn)})
            metrics, took, once = launch(machine, params)
            found = shortfall(definition.durations_s(params, metrics), definition.least_measured_s)
            moved = TICK_S / took > MOVED if once else took < CLOCK_S
            false += found is not None and not moved
            unseen += found is None and moved
            if found is not None:
                short += 1
                longer = definition.longer(params, 1.25 * found[1])
                again, _, _ = launch(machine, params.model_copy(update=longer))
                again_s = definition.durations_s(params.model_copy(update=longer), again)
                cured += shortfall(again_s, definition.least_measured_s) is None
        yield share(f"{check}: too short, and not flagged", unseen, machines, most=0.0)
        yield share(f"{check}: long enough, and flagged", false, machines, most=0.0)
        yield share(f"{check}: flagged, and the size proposed is enough", cured, short, least=1.0)
    yield from _disturbed(machines)


def _disturbed(machines: int) -> Iterator[Row]:
    """Launches in one go into which one other task is let."""
    rng = np.random.default_rng(20)
    took = np.exp(rng.uniform(np.log(0.005), np.log(5), 20 * machines))
    moved = rng.uniform(0, TICK_S, len(took)) / took > MOVED
    flagged = took < LEAST_ONCE_S
    yield share(
        "a tick in a launch of one go that is not flagged: moved by more than 2 %",
        int(moved[~flagged].sum()),
        int((~flagged).sum()),
        most=0.0,
    )
    yield share("… in one that is flagged", int(moved[flagged].sum()), int(flagged.sum()))


def rows(effort: Effort) -> Iterator[Row]:
    """All rows; see the module's docstring."""
    return every(MACHINES.at(effort))


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    return printed(every(int(arguments[0]) if arguments else MACHINES.usual))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
