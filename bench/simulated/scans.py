# SPDX-License-Identifier: Apache-2.0
"""What the node check and a scan of pairs would print on all nodes of a machine of known truth.

The part of simulated_ranks.py that needs numpy: python -m bench.simulated.scans with its words.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from bench.simulated.machines import NODE_RATES, Machine, Noise, measured_pairs, write_program_file
from bench.simulated.ranks import CV, DRIFT, Launch, answer, say_metric
from records.site.pair_places import rounds_of_pairs, sampled_pairs
from records.site.pair_scans import rounds_measured

#: What each kernel reports: metric, share of a rate of NODE_RATES, that rate.
_KERNELS = {
    "stream": [
        ("stream_copy", 0.9, "stream_triad"),
        ("stream_scale", 0.9, "stream_triad"),
        ("stream_add", 1.0, "stream_triad"),
        ("stream_triad", 1.0, "stream_triad"),
    ],
    "dgemm": [("dgemm_rate", 1.0, "dgemm_rate")],
    "hpl": [("node_hpl_rate", 1.0, "node_hpl_rate")],
}


def machine_of(truth: Mapping[str, Any]) -> Machine:
    """The machine that a file of truth describes; nodes count from 0."""
    return Machine(
        truth["nodes"],
        interfaces={int(node): share for node, share in truth["interfaces"].items()},
        pairs={(low, high): share for low, high, share in truth["pairs"]},
        uplinks={int(leaf): share for leaf, share in truth["uplinks"].items()},
    )


def node(launch: Launch) -> Mapping[str, Any]:
    """Rates of every node, slow ones by their share."""
    asked, hosts, rng = launch.options, launch.hosts, np.random.default_rng()
    slow = launch.truth["slow_nodes"]
    level = np.array([slow.get(host, 1.0) for host in hosts]) * np.exp(DRIFT * rng.normal())
    spent_s = 0.0
    for kernel in asked["kernels"].split(","):
        for name, share, like in _KERNELS[kernel]:
            centre, unit = NODE_RATES[like]
            noise = CV * rng.standard_normal((len(hosts), asked["repetitions"]))
            rates = share * centre * level[:, None] * np.exp(noise)
            for host, samples in zip(hosts, rates.tolist(), strict=True):
                say_metric(name, unit, float(np.median(samples)), {"node": host}, samples)
            spent_s += float(np.max(np.sum(_work(name, launch) / rates, axis=1)))
    time.sleep(spent_s)
    return {"results_verified": "simulated"}


def _work(metric: str, launch: Launch) -> float:
    """Bytes or operations of a sample, on all ranks of a node."""
    asked = launch.options
    n = asked["hpl-n"]
    work = {"dgemm_rate": 2 * asked["dgemm-n"] ** 3, "node_hpl_rate": 2 * n**3 / 3 + 3 * n**2 / 2}
    return float(launch.ranks_per_node * work.get(metric, 3 * asked["stream-bytes"]))


def alltoall_pairs(launch: Launch) -> Mapping[str, Any]:
    """All pairs, or those that are listed, in lines or in a file."""
    asked, machine, rng = launch.options, machine_of(launch.truth), np.random.default_rng()
    low, high = _pairs(launch)
    nodes = len(launch.hosts)
    rounds = rounds_measured(nodes, asked.get("rounds", 0))
    if "only" in asked:
        rounds = len(np.unique(rounds_of_pairs(low, high, nodes, asked["seed"])))
    notes: dict[str, Any] = {"rounds": rounds, "payload_verified": "simulated"}
    if "file" in asked:
        notes["pair_file"] = write_program_file(Path(asked["file"]), machine, low, high, rng)
    else:
        rates, times = measured_pairs(machine, low, high, Noise(CV, drift=0.0), rng)
        for row, (one, other) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            at = {"node": machine.names[one], "peer": machine.names[other]}
            say_metric("pair_latency", "s", float(times[row]), at)
            say_metric("pair_bandwidth", "bytes/s", float(rates[row]), at)
    once_s = asked["latency-iterations"] * 4e-6
    once_s += asked["bandwidth-iterations"] * asked["bandwidth-bytes"] / 5e9
    time.sleep(once_s * max(1.0, len(low) / (nodes // 2)))
    return notes


def _pairs(launch: Launch) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the nodes of each pair that is asked for."""
    hosts, asked = launch.hosts, launch.options
    if "only" in asked:
        number = {host: place for place, host in enumerate(hosts)}
        listed = {frozenset(pair.split(":")) for pair in asked["only"].split(",")}
        ends = [pair for pair in combinations(hosts, 2) if frozenset(pair) in listed]
        low, high = np.array([[number[name] for name in pair] for pair in ends]).T
        return low, high
    if rounds := asked.get("rounds", 0):
        return sampled_pairs(len(hosts), rounds, asked["seed"])
    low, high = np.triu_indices(len(hosts), 1)
    return low, high


if __name__ == "__main__":
    _launch = Launch(sys.argv[1:])
    answer(_launch, {"node": node, "alltoall_pairs": alltoall_pairs}[_launch.program])
