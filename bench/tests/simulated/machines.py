# SPDX-License-Identifier: Apache-2.0
"""Machines with known truth: trees of switches, weak interfaces and pairs, slow nodes.

A pair's bandwidth is the least of its two interfaces, of the uplinks on its way and of its own
share; a node's rates are its own share. Nothing of the code that judges is used.
"""

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from records.site.pair_scans import Indices
from records.site.topology import SwitchDescription, Topology
from reports.tests import synthetic

Floats = NDArray[np.float64]

#: Rates of a good node; bandwidth in bytes/s and latency in s of a good pair.
NODE_RATES = {
    "stream_triad": (1.6e11, "bytes/s"),
    "dgemm_rate": (1.2e12, "flop/s"),
    "node_hpl_rate": (1.0e12, "flop/s"),
}
LINK, LATENCY_S = 1.15e10, 1.3e-6
CORES = 64
#: Nodes of a leaf switch.
LEAF = 40
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
    """Scatter of launches about the truth: `cv` of one value, `drift` of all of a launch.

    `kind`: normal, skewed (exponential), heavy (Student's t, 3 degrees), stray (a share `strays` of
    all values loses 10 to 30 %).
    """

    cv: float = 0.01
    kind: str = "normal"
    drift: float = 0.01
    strays: float = 1 / 200

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        """Logarithms of factors; less is worse."""
        found = rng.standard_normal(size)
        if self.kind == "skewed":
            found = 1 - rng.exponential(1, size)
        elif self.kind == "heavy":
            found = rng.standard_t(3, size) / np.sqrt(3)
        found = self.cv * found
        if self.kind == "stray":
            hit = rng.random(size) < self.strays
            found += hit * np.log(1 - rng.uniform(0.1, 0.3, size))
        return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True)
class Machine:
    """The truth. Shares are factors of good speed, by number from 0: of nodes, of interfaces, of
    pairs, of the uplinks of leaf switches.

    `groups` lists further nodes below one uplink each, any nesting.
    """

    nodes: int = 16
    slow_nodes: Mapping[int, float] = field(default_factory=dict)
    interfaces: Mapping[int, float] = field(default_factory=dict)
    pairs: Mapping[tuple[int, int], float] = field(default_factory=dict)
    uplinks: Mapping[int, float] = field(default_factory=dict)
    groups: Sequence[tuple[Collection[int], float]] = ()

    @property
    def names(self) -> list[str]:
        """Names of the nodes."""
        return [f"n{number + 1}" for number in range(self.nodes)]

    @property
    def tree(self) -> Topology:
        """Leaf switches below one switch."""
        leaves = {}
        for leaf in range(-(-self.nodes // LEAF)):
            nodes = f"n[{leaf * LEAF + 1}-{min((leaf + 1) * LEAF, self.nodes)}]"
            leaves[f"s{leaf + 1}"] = SwitchDescription(nodes=nodes)
        return Topology(leaves | {"top": SwitchDescription(switches=f"s[1-{len(leaves)}]")})

    def bandwidth_shares(self, low: Indices, high: Indices) -> Floats:
        """The true share of each pair: the least on its way."""
        own: Floats = np.array([self.interfaces.get(node, 1.0) for node in range(self.nodes)])
        found = np.minimum(own[low], own[high])
        leaves = [(np.arange(k * LEAF, (k + 1) * LEAF), s) for k, s in self.uplinks.items()]
        for below, share in [*leaves, *self.groups]:
            across = self._across(below, low, high)
            found[across] = np.minimum(found[across], share)
        for (one, other), share in self.pairs.items():
            here = (low == one) & (high == other)
            found[here] = np.minimum(found[here], share)
        return found

    def latency_factors(self, low: Indices, high: Indices) -> Floats:
        """Further switches on the way cost 15 % each."""
        found = np.ones(len(low))
        for below, _ in self.groups:
            found[self._across(below, low, high)] *= 1.15
        return found

    def _across(self, below: Collection[int], low: Indices, high: Indices) -> NDArray[np.bool_]:
        inside = np.isin(np.arange(self.nodes), list(below))
        return np.asarray(inside[low] != inside[high])


def measured_pairs(
    machine: Machine, low: Indices, high: Indices, noise: Noise, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Bandwidths in bytes/s and latencies in s of these pairs as one launch measures them."""
    drift = noise.drift * rng.standard_normal()
    rates = machine.bandwidth_shares(low, high) * np.exp(noise.draw(rng, len(low)) + drift)
    times = machine.latency_factors(low, high) * np.exp(-noise.draw(rng, len(low)) - drift)
    return LINK * rates, LATENCY_S * times


def write_program_file(
    path: Path, machine: Machine, low: Indices, high: Indices, rng: np.random.Generator
) -> dict[str, int]:
    """The file as pair_file.c writes it, rows in any order; what the program says of it."""
    row = np.dtype([("node", "u4"), ("peer", "u4"), ("latency", "f4"), ("bandwidth", "f4")])
    order = rng.permutation(len(low))
    rows = np.empty(len(low), row)
    rows["node"], rows["peer"] = low[order], high[order]
    rates, times = measured_pairs(machine, low[order], high[order], Noise(drift=0.0), rng)
    rows["bandwidth"], rows["latency"] = rates, times
    text = "".join(f"{name}\0" for name in machine.names).encode()
    crc = zlib.crc32(rows.data, zlib.crc32(text))
    head = np.array([0x01020304, 1], "u4").tobytes() + np.array([len(rows)], "u8").tobytes()
    head += np.array([machine.nodes, len(text)], "u4").tobytes()
    with path.open("wb") as file:
        file.write(b"ASSAYPRS" + head + text)
        rows.tofile(file)
        file.write(np.array([crc, 0x04030201], "u4").tobytes())
    return {"rows": len(rows), "crc32": crc}


def write_run(
    directory: Path,
    machine: Machine,
    noise: Noise,
    rng: np.random.Generator,
    *,
    blocks: int = 5,
    checks: Sequence[str] = CHECKS,
    site: Mapping[str, Any] = SITE,
) -> Path:
    """A whole run of the machine."""

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        metrics = _metrics(record["check"], machine, noise, rng)
        return record | {"nodes": machine.names, "metrics": metrics, "flags": [], "artifacts": {}}

    synthetic.write_run(
        directory, [_case(one, machine) for one in checks], blocks=blocks, edit=edit
    )
    stated = {"name": "virtual", "nodes": machine.nodes, **site}
    synthetic.changed(directory / "provenance.json", site=stated)
    return directory


def _case(check: str, machine: Machine) -> dict[str, Any]:
    ranks_per_node = CORES if check == "node" else 1
    ranks = machine.nodes * ranks_per_node
    found = synthetic.case(check, "mpich", {"ranks": ranks, **PARAMS.get(check, {})}, ranks)
    return found | {"nodes": machine.nodes, "ranks_per_node": ranks_per_node}


def _metrics(
    check: str, machine: Machine, noise: Noise, rng: np.random.Generator
) -> list[dict[str, Any]]:
    names, found = machine.names, []
    if check == "hpl":
        rate = 0.8 * machine.nodes * NODE_RATES["dgemm_rate"][0] / CORES
        return [metric("rate", "flop/s", "higher", rate * np.exp(noise.draw(rng, 1)[0]))]
    if check == "su3_rmd":
        return [metric("program_time", "s", "lower", 60 * np.exp(-noise.draw(rng, 1)[0]))]
    if check == "node":
        drift = noise.drift * rng.standard_normal()
        shares = np.array([machine.slow_nodes.get(node, 1.0) for node in range(machine.nodes)])
        for name, (centre, unit) in NODE_RATES.items():
            values = centre * shares * np.exp(noise.draw(rng, machine.nodes) + drift)
            for node, value in zip(names, values.tolist(), strict=True):
                found.append(metric(name, unit, "higher", value, node=node))
        return found
    low, high = np.triu_indices(machine.nodes, 1)
    rates, times = measured_pairs(machine, low, high, noise, rng)
    columns = (low.tolist(), high.tolist(), rates.tolist(), times.tolist())
    for one, other, rate, time in zip(*columns, strict=True):
        at = {"node": names[one], "peer": names[other]}
        found.append(metric("pair_bandwidth", "bytes/s", "higher", rate, **at))
        found.append(metric("pair_latency", "s", "lower", time, **at))
    return found


def metric(name: str, unit: str, better: str, value: float, **at: str) -> dict[str, Any]:
    """A metric of a record."""
    found = {"name": name, "unit": unit, "better": better, "value": float(value)}
    return found | {"at": at} if at else found
