# SPDX-License-Identifier: Apache-2.0
"""Launches that are too short to measure something, on simulated machines.

Machines with cores of 1 to 50 GFLOP/s and links from 100 Mbit/s to 200 Gbit/s draw parameters of
each check at random; what a launch takes there is computed here, not by the check. A clock tick of
4 ms disturbs launches of one go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from bench.rows import Count, Row, efforts, share
from bench.tests.simulated.machines import Speeds
from checks.common.definition import LEAST_ONCE_S, is_short
from checks.common.registry import CHECKS
from records.metric import Metric

TOPIC = "Launches that are too short"
RUNS = efforts(30, 200, 2000)
#: A task that the kernel lets in stays for a tick at 250 Hz.
TICK_S = 0.004
#: What a value may be moved by, which blocks of an application aim at.
MOVED = 0.02
#: Samples behind a median last as long together, at least: cores change their clock twice in that.
CLOCK_S = 1e-3

#: What a launch prints, for how long each value was measured, and whether in one go.
Launch = tuple[list[Metric], float, bool]


def _time(name: str, value_s: float, *more: Any) -> Metric:
    return Metric(name, "s", "lower", value_s, *more)


def _rate(name: str, value: float, *more: Any, unit: str = "bytes/s") -> Metric:
    return Metric(name, unit, "higher", value, *more)


def _hpl(m: Speeds, p: Any) -> Launch:
    took_s = 2 * p.n**3 / 3 / (p.p * p.q * m.flop_per_s)
    return [_time("time", took_s)], took_s, True


def _echo(m: Speeds, p: Any) -> Launch:
    half = {size: m.one_way_s(size) for size in p.sizes}
    metrics = [
        _time("half_round_trip", one_s, {"message_bytes": size}, [one_s] * p.iterations)
        for size, one_s in half.items()
    ]
    return metrics, 2 * p.iterations * float(np.median([*half.values()])), False


def _node(m: Speeds, p: Any) -> Launch:
    rate = p.ranks_per_node * m.flop_per_s
    samples = [rate] * p.repetitions
    metric = _rate("dgemm_rate", rate, {"node": "n1"}, samples, unit="flop/s")
    return [metric], p.repetitions * 2 * p.dgemm_n**3 / m.flop_per_s, False


def _pairs(m: Speeds, p: Any) -> Launch:
    latency_s, long_s = m.one_way_s(p.latency_bytes), m.one_way_s(p.bandwidth_bytes)
    metrics = []
    for one, two in combinations(range(p.ranks), 2):
        at = {"node": f"n{one}", "peer": f"n{two}"}
        metrics.append(_time("pair_latency", latency_s, at))
        metrics.append(_rate("pair_bandwidth", p.bandwidth_bytes / long_s, at))
    shorter_s = min(p.latency_iterations * latency_s, p.bandwidth_iterations * long_s)
    return metrics, 2 * shorter_s, False


def _bisection(m: Speeds, p: Any) -> Launch:
    window_s = m.start_s + p.window * p.message_bytes / m.link_bytes_per_s
    rate = p.ranks // 2 * 2 * p.window * p.message_bytes / window_s
    metric = _rate("bisection_rate", rate, None, [rate] * p.matchings)
    return [metric], p.matchings * p.iterations * window_s, False


def _ring(m: Speeds, p: Any) -> Launch:
    took = {size: p.turns * p.ranks * m.one_way_s(size) for size in p.sizes}
    metrics = [
        _time("ring_time", one_s, {"order": p.order, "message_bytes": size})
        for size, one_s in took.items()
    ]
    return metrics, float(np.median([*took.values()])), True


def _streams(m: Speeds, p: Any) -> Launch:
    windows = {size: m.start_s + p.window * size / m.link_bytes_per_s for size in p.sizes}
    metrics = []
    for size, window_s in windows.items():
        rate, at = p.window * size / window_s, {"direction": "one-way", "message_bytes": size}
        metrics.append(_rate("window_rate", rate, at, [rate] * p.iterations))
    return metrics, p.iterations * float(np.median([*windows.values()])), False


def _osu(m: Speeds, p: Any) -> Launch:
    half_s, at = m.one_way_s(p.greatest_bytes), {"message_bytes": p.greatest_bytes}
    return [_time("osu_latency", half_s, at)], 2 * p.iterations * half_s, True


def _netpipe(m: Speeds, p: Any) -> Launch:
    half_s, at = m.one_way_s(p.greatest_bytes), {"message_bytes": p.greatest_bytes}
    return [_time("netpipe_half_round_trip", half_s, at)], 2 * 3 * p.repeats * half_s, False


#: By check: what a launch is there, parameters, and the ends between which others are drawn; a
#: list has one drawn member.
CASES: dict[str, tuple[Callable[[Speeds, Any], Launch], dict[str, Any], dict[str, Any]]] = {
    "hpl": (_hpl, {}, {"n": (100, 5000)}),
    "pt2pt": (_echo, {}, {"sizes": [(8, 2**20)], "iterations": (1, 500)}),
    "node": (_node, {"ranks": 1, "kernels": ["dgemm"]}, {"dgemm_n": (16, 1000)}),
    "alltoall_pairs": (
        _pairs,
        {"ranks": 4},
        {
            "latency_iterations": (1, 2000),
            "bandwidth_bytes": (1024, 2**20),
            "bandwidth_iterations": (1, 500),
        },
    ),
    "bisection": (_bisection, {"ranks": 4}, {"message_bytes": (8, 2**18), "iterations": (1, 50)}),
    "ring": (_ring, {"ranks": 4}, {"sizes": [(8, 2**20)], "turns": (1, 20000)}),
    "streams": (_streams, {}, {"sizes": [(8, 2**18)], "iterations": (1, 100)}),
    "osu": (_osu, {}, {"greatest_bytes": (8, 2**20), "iterations": (10, 100_000)}),
    "netpipe": (_netpipe, {}, {"greatest_bytes": (8, 2**20), "repeats": (1, 200)}),
}


def rows(machines: int) -> Iterator[Row]:
    """All rows; each check on so many machines."""
    for check, (launch, fixed, drawn) in CASES.items():
        rng = np.random.default_rng(len(check))
        definition = CHECKS[check]
        unseen = Count(f"{check}: too short, and not flagged", most=0.0)
        false = Count(f"{check}: long enough, and flagged", most=0.0)

        def draw(ends: Any, rng: np.random.Generator = rng) -> Any:
            if isinstance(ends, list):
                return [draw(one, rng) for one in ends]
            return int(np.exp(rng.uniform(*np.log(ends))))

        for _ in range(machines):
            machine = Speeds.drawn(rng)
            given = fixed | {name: draw(ends) for name, ends in drawn.items()}
            params = definition.parameters.model_validate({**definition.example, **given})
            metrics, took_s, once = launch(machine, params)
            short = is_short(definition.durations_s(params, metrics), definition.least_measured_s)
            moved = TICK_S / took_s > MOVED if once else took_s < CLOCK_S
            false.add(short and not moved)
            unseen.add(moved and not short)
        yield from (unseen.row(), false.row())
    yield from _disturbed(machines)


def _disturbed(machines: int) -> Iterator[Row]:
    """Launches in one go into which one other task is let."""
    rng = np.random.default_rng(20)
    took = np.exp(rng.uniform(np.log(0.005), np.log(5), 20 * machines))
    moved = rng.uniform(0, TICK_S, len(took)) / took > MOVED
    flagged = took < LEAST_ONCE_S
    what = "a tick in a launch of one go that is not flagged: moved by more than 2 %"
    yield share(what, int(moved[~flagged].sum()), int((~flagged).sum()), most=0.0)
    yield share("… in one that is flagged", int(moved[flagged].sum()), int(flagged.sum()))
