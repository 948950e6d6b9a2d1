# SPDX-License-Identifier: Apache-2.0
"""Scans of all pairs of a large machine, judged and run again in rounds.

Bandwidths with known truth in memory: launches scatter by 1 %, one in 1,000 loses 10 to 30 % by
itself. What is asked for is measured again, and only that, until nothing is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import numpy as np

from bench.rows import Row, efforts, mean, share_of
from bench.tests.claims.acceptance import criteria_of, criterion, titles_of
from bench.tests.simulated.machines import Machine, Noise, measured_pairs
from records.site.pair_scans import Indices
from reports.judgement import Judgement
from reports.load.scans import PairColumns
from reports.tests.scanned_machine import evidence_of
from reports.verdicts.acceptance.judge import judge as judge_acceptance

TOPIC = "Acceptance: scans of all pairs"
#: Machines of 100 nodes, and of 1,000.
RUNS = efforts((2, 0), (8, 1), (40, 5))
BLOCKS, AGAIN, ROUNDS = 5, 3, 6
NOISE = Noise(0.01, "stray", strays=1e-3)
CRITERIA = criteria_of(
    criterion("links", "alltoall_pairs", "pair_bandwidth", at_least=0.93),
    criterion(
        "limit",
        "alltoall_pairs",
        "pair_bandwidth",
        at_least=1e9,
        unit="bytes/s",
        where={"node": "n1", "peer": "n2"},
    ),
    reruns_at_most=ROUNDS,
    rerun_blocks=AGAIN,
)


def measured(
    machine: Machine, low: Indices, high: Indices, blocks: range, rng: np.random.Generator
) -> PairColumns:
    """Values of pairs in these blocks."""
    launches = [measured_pairs(machine, low, high, NOISE, rng)[0] for _ in blocks]
    names, values = tuple(machine.names), np.array(launches, dtype=np.float32).T
    return PairColumns(names, ("",) * machine.nodes, low, high, (*blocks,), values)


def judged_in_rounds(machine: Machine, seed: int) -> tuple[Judgement, float]:
    """Scan and judge one machine until nothing is asked for any more: the last judgement, and
    the share of the scan that was measured again."""
    rng, tested = np.random.default_rng(seed), 0
    low, high = np.triu_indices(machine.nodes, 1)
    parts = [measured(machine, low, high, range(1, BLOCKS + 1), rng)]
    for count in range(ROUNDS + 1):
        judgement = judge_acceptance(CRITERIA, evidence_of(parts), date(2026, 11, 22), count)
        if not judgement.rerun:
            break
        (pairs,) = judgement.rerun.values()
        ends = np.array([[int(name[1:]) - 1 for name in pair.split(":")] for pair in pairs])
        some, others = np.sort(ends, axis=1).T if pairs else (low, high)
        tested += len(some)
        start = BLOCKS + 1 + count * AGAIN
        parts.append(measured(machine, some, others, range(start, start + AGAIN), rng))
    return judgement, tested / len(low)


def of_size(nodes: int, n: int) -> Iterator[Row]:
    """All rows of machines of so many nodes."""
    size = f"{nodes:,} nodes, {nodes * (nodes - 1) // 2:,} pairs"
    drawn = np.random.default_rng(nodes).choice(nodes, (5, 2), replace=False).tolist()
    bad = {(min(pair), max(pair)): 0.8 for pair in drawn}
    machines = {
        "all good": Machine(nodes),
        "five pairs at 80 %": Machine(nodes, pairs=bad),
        "an interface at 85 %": Machine(nodes, interfaces={7: 0.85}),
    }
    for what, machine in machines.items():
        right = titles_of(machine)
        ends = [judged_in_rounds(machine, (100 if right else 0) + seed) for seed in range(n)]
        named = [{finding.title for finding in last.named} for last, _ in ends]
        passed = [last.verdict == "PASS" for last, _ in ends]
        most, least = (0.05, None) if right else (None, 0.8)
        yield share_of(f"{size}, {what}: PASS", passed, most=most, least=least)
        if right:
            failed = [last.verdict == "FAIL" for last, _ in ends]
            hits = [fail and one == right for fail, one in zip(failed, named, strict=True)]
            yield share_of("… FAIL, with just that named", hits, least=0.9)
        else:
            yield share_of("… somebody is named", named, most=0.02)
        if n > 1:
            again = [share_again for _, share_again in ends]
            yield mean("… measured again, as a share of the scan", again, most=0.2)


def rows(hundred: int, thousand: int = 0) -> Iterator[Row]:
    """All rows; see the module's docstring."""
    yield from of_size(100, hundred)
    if thousand:
        yield from of_size(1000, thousand)
