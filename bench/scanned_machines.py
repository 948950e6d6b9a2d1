# SPDX-License-Identifier: Apache-2.0
"""Machines with known truth as scans of pairs see them, and the file that a scan writes of them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from records.pair_places import Indices
from records.topology import SwitchDescription, SwitchTree

#: Nodes of a leaf switch.
LEAF = 40
#: A good pair, and by how much launches scatter.
LEVEL, LATENCY_S, CV = 1.15e10, 2e-6, 0.01


@dataclass(frozen=True)
class Machine:
    """Shares of the good level, by number: of single pairs, of nodes' interfaces, of uplinks."""

    nodes: int
    pairs: Mapping[tuple[int, int], float] = field(default_factory=dict)
    interfaces: Mapping[int, float] = field(default_factory=dict)
    uplinks: Mapping[int, float] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The nodes."""
        return [f"n{number + 1}" for number in range(self.nodes)]

    @property
    def switches(self) -> dict[str, SwitchDescription]:
        """Leaf switches below one switch."""
        leaves = {
            f"s{leaf + 1}": SwitchDescription(
                nodes=f"n[{leaf * LEAF + 1}-{min((leaf + 1) * LEAF, self.nodes)}]"
            )
            for leaf in range(-(-self.nodes // LEAF))
        }
        return {**leaves, "top": SwitchDescription(switches=f"s[1-{len(leaves)}]")}

    @property
    def tree(self) -> SwitchTree:
        """The same as a topology."""
        return SwitchTree(self.switches)

    def shares(self, low: Indices, high: Indices) -> np.ndarray:
        """The true share of each pair: the least on its way."""
        own = np.ones(self.nodes)
        own[[*self.interfaces]] = [*self.interfaces.values()]
        found = np.minimum(own[low], own[high])
        for leaf, level in self.uplinks.items():
            across = (low // LEAF == leaf) != (high // LEAF == leaf)
            found[across] = np.minimum(found[across], level)
        for (one, other), level in self.pairs.items():
            found[(low == one) & (high == other)] = level
        return found


def scattered(
    machine: Machine, low: Indices, high: Indices, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Latencies and bandwidths of these pairs as one launch measures them."""
    scatter = np.exp(CV * rng.standard_normal(len(low), dtype=np.float32))
    return LATENCY_S * scatter, LEVEL * machine.shares(low, high) * scatter


def write_program_file(
    path: Path, machine: Machine, low: Indices, high: Indices, rng: np.random.Generator
) -> dict[str, int]:
    """The file as pair_file.c writes it, rows in any order; what the program says of it."""
    row = np.dtype([("node", "u4"), ("peer", "u4"), ("latency", "f4"), ("bandwidth", "f4")])
    order = rng.permutation(len(low))
    rows = np.empty(len(low), row)
    rows["node"], rows["peer"] = low[order], high[order]
    rows["latency"], rows["bandwidth"] = scattered(machine, low[order], high[order], rng)
    text = "".join(f"{name}\0" for name in machine.names).encode()
    crc = zlib.crc32(rows.data, zlib.crc32(text))
    head = np.array([0x01020304, 1], "u4").tobytes() + np.array([len(rows)], "u8").tobytes()
    head += np.array([machine.nodes, len(text)], "u4").tobytes()
    with path.open("wb") as file:
        file.write(b"ASSAYPRS" + head + text)
        rows.tofile(file)
        file.write(np.array([crc, 0x04030201], "u4").tobytes())
    return {"rows": len(rows), "crc32": crc}
