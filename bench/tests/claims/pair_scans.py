# SPDX-License-Identifier: Apache-2.0
"""Scans of all pairs of a large machine, judged and run again in rounds.

Bandwidths with known truth in memory: launches scatter by 1 %, one in 1,000 loses 10 to 30 % by
itself. What is asked for is measured again, and only that, until nothing is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import combinations

import msgspec
import numpy as np

from bench.rows import Row, efforts, mean, share
from bench.tests.claims.acceptance import criteria_of, criterion, titles_of
from bench.tests.simulated.machines import Machine, Noise, measured_pairs
from records.metric import MetricDefinition, Register
from records.run.plan import PlannedCase
from records.site.limits import Nominal
from reports.judgement import Judgement
from reports.tests.synthetic import case
from reports.verdicts.acceptance.judge import judge as judge_acceptance
from reports.verdicts.acceptance.values import CriterionEvidence, LaunchRef, Values

TOPIC = "Acceptance: scans of all pairs"
#: Machines of 100 nodes, and of 1,000.
RUNS = efforts((2, 0), (8, 1), (40, 5))
BLOCKS, AGAIN, ROUNDS = 5, 3, 6
NOISE = Noise(0.01, "stray", strays=1e-3)
CASE = "alltoall_pairs-1"
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
REGISTER = Register.of(
    [MetricDefinition("pair_bandwidth", "bytes/s", "higher", "bandwidth", limit="link")], []
)


class Scan:
    """The scan of a machine's pairs, and what was measured of it again."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine, self.rng = machine, np.random.default_rng(seed)
        self.ends = [*combinations(machine.names, 2)]
        self.numbers = np.triu_indices(machine.nodes, 1)
        asked = case("alltoall_pairs", "mpich", {"ranks": machine.nodes}, machine.nodes)
        self.case = msgspec.convert(asked | {"id": CASE, "nodes": machine.nodes}, PlannedCase)
        self.blocks = np.arange(1, BLOCKS + 1)
        found = self._measured(np.arange(len(self.ends)), BLOCKS)
        self.values = [self._values(place, self.blocks, row) for place, row in enumerate(found)]

    def _measured(self, places: np.ndarray, blocks: int) -> np.ndarray:
        low, high = (numbers[places] for numbers in self.numbers)
        launches = [
            measured_pairs(self.machine, low, high, NOISE, self.rng)[0] for _ in range(blocks)
        ]
        return np.array(launches).T

    def _values(self, place: int, blocks: np.ndarray, values: np.ndarray) -> Values:
        at = dict(zip(("node", "peer"), self.ends[place], strict=True))
        return Values(self.case, "pair_bandwidth", at, blocks, values)

    def measure_again(self, places: np.ndarray) -> None:
        """Add the blocks of a re-run of these pairs."""
        more = np.arange(self.blocks[-1] + 1, self.blocks[-1] + AGAIN + 1)
        self.blocks = np.concatenate([self.blocks, more])
        for place, row in zip(places.tolist(), self._measured(places, AGAIN), strict=True):
            before = self.values[place]
            blocks = np.concatenate([before.blocks, more])
            self.values[place] = self._values(place, blocks, np.concatenate([before.values, row]))

    def judged(self, reruns: int) -> Judgement:
        """The judgement after so many re-runs."""
        launches = {
            (CASE, block): LaunchRef("simulated", CASE, block, "ok", (), {})
            for block in range(1, BLOCKS + 1)
        }
        nodes = tuple(self.machine.names)
        more = (launches, [self.case], REGISTER, Nominal(), nodes, BLOCKS + 1)
        evidence = CriterionEvidence([*self.values], *more)
        return judge_acceptance(CRITERIA, evidence, date(2026, 11, 22), reruns)


def judged_in_rounds(machine: Machine, seed: int) -> tuple[Judgement, float]:
    """Scan and judge one machine until nothing is asked for any more: the last judgement, and
    the share of the scan that was measured again."""
    scan, tested = Scan(machine, seed), 0
    place_of = {frozenset(pair): place for place, pair in enumerate(scan.ends)}
    for count in range(ROUNDS + 1):
        judgement = scan.judged(count)
        if not judgement.rerun:
            break
        pairs = [frozenset(pair.split(":")) for pair in judgement.rerun[CASE]] or [*place_of]
        tested += len(pairs)
        scan.measure_again(np.array([place_of[pair] for pair in pairs]))
    return judgement, tested / len(scan.ends)


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
        passed = sum(last.verdict == "PASS" for last, _ in ends)
        most, least = (0.05, None) if right else (None, 0.8)
        yield share(f"{size}, {what}: PASS", passed, n, most=most, least=least)
        if right:
            failed = [last.verdict == "FAIL" for last, _ in ends]
            hits = sum(fail and one == right for fail, one in zip(failed, named, strict=True))
            yield share("… FAIL, with just that named", hits, n, least=0.9)
        else:
            yield share("… somebody is named", sum(map(bool, named)), n, most=0.02)
        if n > 1:
            again = [share_again for _, share_again in ends]
            yield mean("… measured again, as a share of the scan", again, most=0.2)


def rows(hundred: int, thousand: int = 0) -> Iterator[Row]:
    """All rows; see the module's docstring."""
    yield from of_size(100, hundred)
    if thousand:
        yield from of_size(1000, thousand)
