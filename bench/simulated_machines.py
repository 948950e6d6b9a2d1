# SPDX-License-Identifier: Apache-2.0
"""Run directories of machines with known truth: trees of switches, weak interfaces, slow nodes.

A pair's bandwidth is the least of its two interfaces, of the uplinks on its way and of its own
share; a node's rates are its own share. Nothing of the code that judges is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NODE_RATES = {
    "stream_triad": (1.6e11, "bytes/s"),
    "dgemm_rate": (1.2e12, "flop/s"),
    "node_hpl_rate": (1.0e12, "flop/s"),
}
LINK, LATENCY = 1.15e10, 1.3e-6
CORES = 64
#: What the site states of itself: the machine reaches 86, 78 and 92 % of it.
SITE = {
    "core_peak_flop_per_s": 1.4e12 / CORES,
    "memory_bytes_per_second": 2.05e11,
    "network": {"name": "simulated", "bits_per_second": 1e11, "payload_share": 1.0},
}
CHECKS = ("node", "alltoall_pairs", "hpl", "su3_rmd")
PARAMS: dict[str, dict[str, Any]] = {"hpl": {"p": 4, "q": 4, "n": 40000, "nb": 192}}


@dataclass(frozen=True)
class Noise:
    """How launches scatter about the truth: `cv` of one value, `drift` of all of a launch.

    `kind`: normal, skewed (exponential), heavy (Student's t, 3 degrees), stray (a launch in 200 of
    each value loses 10 to 30 %).
    """

    cv: float = 0.01
    kind: str = "normal"
    drift: float = 0.01

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Logarithms of factors; less is worse."""
        normal = rng.standard_normal(size)
        if self.kind == "skewed":
            normal = 1 - rng.exponential(1, size)
        elif self.kind == "heavy":
            normal = rng.standard_t(3, size) / np.sqrt(3)
        found = self.cv * normal
        if self.kind == "stray":
            hit = rng.random(size) < 1 / 200
            found = found + hit * np.log(1 - rng.uniform(0.1, 0.3, size))
        return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True)
class Machine:
    """The truth. Shares are factors of good speed: of nodes, of interfaces, of pairs, of uplinks.

    `switches` lists groups of nodes (by number) below one uplink each, any nesting.
    """

    nodes: int = 16
    slow_nodes: Mapping[int, float] = field(default_factory=dict)
    interfaces: Mapping[int, float] = field(default_factory=dict)
    pairs: Mapping[tuple[int, int], float] = field(default_factory=dict)
    switches: Sequence[tuple[Collection[int], float]] = ()
    noisy_nodes: Mapping[int, float] = field(default_factory=dict)
    spread_of_nodes: float = 0.0

    @property
    def names(self) -> list[str]:
        """Names of the nodes."""
        return [f"n{number + 1}" for number in range(self.nodes)]

    def bandwidth_shares(self) -> Floats:
        """The share of each pair, in the order of combinations."""
        matrix = np.ones((self.nodes, self.nodes))
        for node, share in self.interfaces.items():
            matrix[node, :] = np.minimum(matrix[node, :], share)
            matrix[:, node] = np.minimum(matrix[:, node], share)
        for below, share in self.switches:
            inside = np.isin(np.arange(self.nodes), list(below))
            across = inside[:, None] != inside[None, :]
            matrix[across] = np.minimum(matrix[across], share)
        for (one, other), share in self.pairs.items():
            matrix[one, other] = matrix[other, one] = min(matrix[one, other], share)
        return np.asarray(matrix[np.triu_indices(self.nodes, 1)], dtype=np.float64)

    def latency_factors(self) -> Floats:
        """Further switches on the way cost 15 % each."""
        matrix = np.ones((self.nodes, self.nodes))
        for below, _ in self.switches:
            inside = np.isin(np.arange(self.nodes), list(below))
            matrix[inside[:, None] != inside[None, :]] *= 1.15
        return np.asarray(matrix[np.triu_indices(self.nodes, 1)], dtype=np.float64)


def write_run(
    directory: Path,
    machine: Machine,
    noise: Noise,
    rng: np.random.Generator,
    *,
    blocks: int = 5,
    checks: Sequence[str] = CHECKS,
    site: Mapping[str, Any] | None = None,
    holes: Collection[tuple[str, str]] = (),
) -> Path:
    """A whole run of the machine; `holes` are (metric, node or "n1–n2") that give no value."""
    (directory / "raw").mkdir(parents=True)
    cases = [_case(check, machine.nodes) for check in checks]
    plan = {
        "schema": 1,
        "campaign": "acceptance",
        "question": "Does the machine meet the contract?",
        "site": "simulated",
        "seed": 1,
        "blocks": blocks,
        "environments": ["mpich"],
        "totals": {
            "cases": len(cases),
            "skipped": 0,
            "launches": blocks * len(cases),
            "node_hours": 1.0,
            "wall_s": 1.0,
        },
        "cases": cases,
    }
    stated = {"name": "simulated", "nodes": machine.nodes, **(SITE if site is None else site)}
    provenance = {"schema": 1, "run_id": directory.name, "site": stated}
    (directory / "plan.json").write_bytes(msgspec.json.encode(plan))
    (directory / "provenance.json").write_bytes(msgspec.json.encode(provenance))
    (directory / "campaign.yaml").write_text("schema: 1\n")
    own = dict.fromkeys(NODE_RATES, machine.spread_of_nodes * truth_of_nodes(machine))
    with (directory / "records.jsonl").open("wb") as file:
        for block in range(1, blocks + 1):
            for case in cases:
                metrics = _metrics(case["check"], machine, noise, rng, own)
                metrics = [m for m in metrics if (m["name"], _place(m)) not in holes]
                line = record(directory.name, case, block, metrics, machine.names)
                file.write(msgspec.json.encode(line) + b"\n")
    return directory


def truth_of_nodes(machine: Machine) -> Floats:
    """Standard deviates by which good nodes differ for good; the same in each run of a machine."""
    return np.random.default_rng(machine.nodes).standard_normal(machine.nodes)


def _place(metric: Mapping[str, Any]) -> str:
    at = metric.get("at", {})
    return "–".join(at[name] for name in ("node", "peer") if name in at)


def _case(check: str, nodes: int) -> dict[str, Any]:
    ranks_per_node = CORES if check == "node" else 1
    ranks = nodes * ranks_per_node
    return {
        "id": f"{check}-{hashlib.sha256(check.encode()).hexdigest()[:8]}",
        "check": check,
        "environment": "mpich",
        "params": {"ranks": ranks, **PARAMS.get(check, {})},
        "ranks": ranks,
        "nodes": nodes,
        "ranks_per_node": ranks_per_node,
        "memory_bytes_per_node": 0,
        "estimate_s": 1.0,
        "skipped": None,
    }


def _metrics(
    check: str,
    machine: Machine,
    noise: Noise,
    rng: np.random.Generator,
    own: Mapping[str, Floats],
) -> list[dict[str, Any]]:
    drift = noise.drift * rng.standard_normal()
    names = machine.names
    if check == "hpl":
        rate = 0.8 * machine.nodes * NODE_RATES["dgemm_rate"][0] / CORES
        return [metric("rate", "flop/s", "higher", rate * np.exp(noise.draw(rng, 1)[0]))]
    if check == "su3_rmd":
        return [metric("program_time", "s", "lower", 60 * np.exp(-noise.draw(rng, 1)[0]))]
    if check == "node":
        shares = np.ones(machine.nodes)
        more = np.zeros(machine.nodes)
        for node, share in machine.slow_nodes.items():
            shares[node] = share
        for node, cv in machine.noisy_nodes.items():
            more[node] = cv
        found = []
        for name, (centre, unit) in NODE_RATES.items():
            logs = noise.draw(rng, machine.nodes) + drift + own[name]
            logs += more * rng.standard_normal(machine.nodes)
            values = (centre * shares * np.exp(logs)).tolist()
            found += [
                metric(name, unit, "higher", value, node=node)
                for node, value in zip(names, values, strict=True)
            ]
        return found
    count = machine.nodes * (machine.nodes - 1) // 2
    rates = LINK * machine.bandwidth_shares() * np.exp(noise.draw(rng, count) + drift)
    times = LATENCY * machine.latency_factors() * np.exp(-noise.draw(rng, count) - drift)
    found = []
    for (one, other), rate, time in zip(
        combinations(names, 2), rates.tolist(), times.tolist(), strict=True
    ):
        at = {"node": one, "peer": other}
        found.append(metric("pair_bandwidth", "bytes/s", "higher", rate, **at))
        found.append(metric("pair_latency", "s", "lower", time, **at))
    return found


def metric(name: str, unit: str, better: str, value: float, **at: str) -> dict[str, Any]:
    """A metric of a record."""
    found = {"name": name, "unit": unit, "better": better, "value": float(value)}
    return found | {"at": at} if at else found


def record(
    run_id: str,
    case: Mapping[str, Any],
    block: int,
    metrics: Sequence[Mapping[str, Any]],
    nodes: Sequence[str],
) -> dict[str, Any]:
    """The record of an ok launch."""
    return {
        "schema": 1,
        "run_id": run_id,
        "case_id": case["id"],
        "check": case["check"],
        "environment": "mpich",
        "site": "simulated",
        "params": case["params"],
        "block": block,
        "attempt": 1,
        "status": "ok",
        "reason": None,
        "started_at": "2026-11-20T23:50:11.120Z",
        "ended_at": "2026-11-20T23:50:19.904Z",
        "job_id": "41",
        "nodes": list(nodes),
        "ranks": case["ranks"],
        "metrics": list(metrics),
        "flags": [],
        "artifacts": {},
    }
