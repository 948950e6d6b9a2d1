# SPDX-License-Identifier: Apache-2.0
"""A scan of all pairs of a large machine: time, memory and sizes; what is planted is named.

python -m bench scans [NODES [ROUNDS [BLOCKS]]] (default: 400 nodes, all rounds, 5 blocks).
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.rows import Row, printed
from bench.tests.claims.scan_files import BLOCKS, faults, judged, named, scanned
from bench.tests.simulated.machines import LEAF, Machine
from records.site.pair_scans import rounds_of_all, sampled_pairs
from reports.load.loading import load_run


def of_size(nodes: int, rounds: int, blocks: int) -> Iterator[Row]:
    """Cost of a scan; a pair, an interface and an uplink are bad, and who is named."""
    rounds = rounds or rounds_of_all(nodes)
    rng = np.random.default_rng(nodes)
    low, high = sampled_pairs(nodes, rounds, 1)
    far = np.flatnonzero((low > LEAF) & (low != 77) & (high != 77))[0]
    bad = int(low[far]), int(high[far])
    machine = Machine(nodes, interfaces={77: 0.85}, pairs={bad: 0.8}, uplinks={0: 0.7})
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "20261120T235011Z-3f2a"
        took = scanned(directory, machine, rounds, blocks, rng)
        size = f"{nodes:,} nodes, {rounds} rounds, {len(low):,} pairs"
        yield Row(f"{size}: the program's file", "", f"{took['program bytes'] / 1e6:.1f} MB")
        yield Row("… the table beside the record", "", f"{took['table bytes'] / 1e6:.1f} MB")
        yield Row("… the record", "", f"{took['record bytes'] / 1e3:.1f} kB")
        yield Row("… checked and made a table", "", f"{took['read'] / blocks:.2f} s a launch")
        yield Row("… greatest memory so far", "", _memory())
        del low, high
        begun = time.monotonic()
        if blocks == 1:
            columns = load_run(directory).scans[0].columns("pair_bandwidth")
            yield Row("… one metric read", "", f"{time.monotonic() - begun:.2f} s")
            right = len(columns.low) == rounds * (nodes // 2)
            yield Row("… every pair is there", "yes", "yes" if right else "no", right)
        else:
            findings = judged(directory).findings
            yield Row(f"… {blocks} blocks judged", "", f"{time.monotonic() - begun:.2f} s")
            right = {named(one) for one in findings} == faults(machine)
            names = "; ".join(sorted(f"{one.kind} {one.name}" for one in findings))[:200]
            what = "… pair, interface and uplink are named, nobody else"
            yield Row(what, "yes", names, right)
        yield Row("… greatest memory", "", _memory())


def _memory() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    given = [int(word) for word in arguments]
    nodes, rounds, blocks = [*given, *(400, 0, BLOCKS)[len(given) :]]
    return printed(of_size(nodes, rounds, blocks))
