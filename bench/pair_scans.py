# SPDX-License-Identifier: Apache-2.0
"""Scans of all pairs of a large machine, judged and run again in rounds (goals stand in each row).

python -m bench pair_scans [NODES]. Bandwidths with known truth in memory: launches scatter by 1 %,
one in 1,000 loses 10 to 30 % by itself. What is asked for is measured again, and only that, until
nothing is asked for. Exits 1 when a row misses its goal (bench/rows.py).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import combinations

import numpy as np

from bench.rows import Effort, Row, Runs, mean, printed, share
from bench.scanned_machines import CV, LEVEL
from records.criteria import Criteria
from records.limits import Nominal
from records.metric import MetricDefinition, Register
from records.plan import PlannedCase
from reports.acceptance.judge import judge
from reports.acceptance.model import Judgement
from reports.acceptance.values import Evidence, LaunchRef, Values

TOPIC = "Acceptance: scans of all pairs"
#: Machines of 100 nodes, and of 1,000.
HUNDRED, THOUSAND = Runs(2, 8, 40), Runs(0, 1, 5)
BLOCKS, AGAIN, ROUNDS = 5, 3, 6
STRAY = 1e-3
CASE = "alltoall_pairs-1"
CRITERIA = Criteria.model_validate(
    {
        "schema": 1,
        "name": "scan",
        "title": "Every link like the others",
        "reruns_at_most": ROUNDS,
        "rerun_blocks": AGAIN,
        "criteria": [
            {
                "id": "bandwidth",
                "kind": "links",
                "title": "Bandwidth of every pair",
                "check": "alltoall_pairs",
                "metric": "pair_bandwidth",
                "at_least": 0.93,
            },
            {
                "id": "promise",
                "kind": "limit",
                "title": "What was promised",
                "check": "alltoall_pairs",
                "metric": "pair_bandwidth",
                "where": {"node": "n1", "peer": "n2"},
                "at_least": 1e9,
                "unit": "bytes/s",
            },
        ],
    }
)
REGISTER = Register.of(
    [MetricDefinition("pair_bandwidth", "bytes/s", "higher", "bandwidth", limit="link")], []
)


@dataclass(frozen=True)
class Machine:
    """Shares of the good level: of single pairs and of nodes' interfaces, by number."""

    nodes: int
    pairs: Mapping[tuple[int, int], float] = field(default_factory=dict)
    interfaces: Mapping[int, float] = field(default_factory=dict)

    def levels(self) -> dict[tuple[str, str], float]:
        """The true bandwidth of every pair."""
        return {
            (f"n{a + 1}", f"n{b + 1}"): LEVEL
            * min(self.pairs.get((a, b), 1.0), *(self.interfaces.get(one, 1.0) for one in (a, b)))
            for a, b in combinations(range(self.nodes), 2)
        }


@dataclass(frozen=True)
class Told:
    """The last judgement of a machine, and the share of the scan that was measured again."""

    last: Judgement
    again: float

    @property
    def titles(self) -> set[str]:
        """What is named in the end."""
        return {finding.title for finding in self.last.named}


def told(machine: Machine, seed: int) -> Told:
    """One machine, scanned and judged until nothing is asked for any more."""
    rng = np.random.default_rng(seed)
    levels = machine.levels()
    place_of = {frozenset(pair): place for place, pair in enumerate(levels)}
    level = np.array([*levels.values()])
    case = PlannedCase(
        id=CASE,
        check="alltoall_pairs",
        environment="mpich",
        params={"ranks": machine.nodes},
        ranks=machine.nodes,
        ranks_per_node=1,
        nodes=machine.nodes,
        memory_bytes_per_node=0,
        estimate_s=1.0,
        skipped=None,
    )

    def measured(places: np.ndarray, first: int, blocks: int) -> list[tuple[int, Values]]:
        shape = len(places), blocks
        logs = CV * rng.standard_normal(shape) + 0.01 * rng.standard_normal(blocks)
        stray = rng.random(shape) < STRAY
        logs += np.where(stray, np.log(1 - rng.uniform(0.1, 0.3, shape)), 0)
        at, values = np.arange(first, first + blocks), level[places, None] * np.exp(logs)
        return [
            (place, Values(case, "pair_bandwidth", {"node": a, "peer": b}, at, values[row]))
            for row, place in enumerate(places.tolist())
            for a, b in (names[place],)
        ]

    names = [*levels]
    found = dict(measured(np.arange(len(names)), 1, BLOCKS))
    last, tested = BLOCKS, 0
    for count in range(ROUNDS + 1):
        judgement = judge(CRITERIA, _evidence(case, [*found.values()]), date(2026, 11, 22), count)
        if not judgement.rerun:
            break
        pairs = judgement.rerun[CASE]
        places = np.array([place_of[frozenset(pair.split(":"))] for pair in pairs], dtype=np.int64)
        places = places if pairs else np.arange(len(names))
        tested += len(places)
        for place, more in measured(places, last + 1, AGAIN):
            before = found[place]
            found[place] = Values(
                case,
                before.metric,
                before.at,
                np.concatenate([before.blocks, more.blocks]),
                np.concatenate([before.values, more.values]),
            )
        last += AGAIN
    return Told(judgement, tested / len(names))


def _evidence(case: PlannedCase, values: list[Values]) -> Evidence:
    launches = {
        (CASE, block): LaunchRef("simulated", CASE, block, "ok", (), {})
        for block in range(1, BLOCKS + 1)
    }
    nodes = tuple(f"n{number + 1}" for number in range(case.nodes))
    return Evidence(values, launches, [case], REGISTER, Nominal(), nodes, BLOCKS + 1)


def of_size(nodes: int, n: int) -> Iterator[Row]:
    """All rows of machines of so many nodes."""
    size = f"{nodes:,} nodes, {nodes * (nodes - 1) // 2:,} pairs"
    healthy = [told(Machine(nodes), seed) for seed in range(n)]
    passed = sum(one.last.verdict == "PASS" for one in healthy)
    yield share(f"{size}, all good: PASS", passed, n, least=0.8)
    yield share("… somebody is named", sum(bool(one.titles) for one in healthy), n, most=0.02)
    if n > 1:
        again = [one.again for one in healthy]
        yield mean("… measured again, as a share of the scan", again, most=0.2)
    rng = np.random.default_rng(nodes)
    drawn = rng.choice(nodes, (5, 2), replace=False).tolist()
    bad = {(min(pair), max(pair)): 0.8 for pair in drawn}
    faults = {
        "five pairs at 80 %": (
            Machine(nodes, pairs=bad),
            {f"slow link n{a + 1}–n{b + 1}" for a, b in bad},
        ),
        "an interface at 85 %": (Machine(nodes, interfaces={7: 0.85}), {"slow link of n8"}),
    }
    for what, (machine, named) in faults.items():
        ends = [told(machine, 100 + seed) for seed in range(n)]
        passed = sum(one.last.verdict == "PASS" for one in ends)
        yield share(f"{size}, {what}: PASS", passed, n, most=0.05)
        right = sum(one.last.verdict == "FAIL" and one.titles == named for one in ends)
        yield share("… FAIL, with just that named", right, n, least=0.9)
        if n > 1:
            again = [one.again for one in ends]
            yield mean("… measured again, as a share of the scan", again, most=0.2)


def rows(effort: Effort) -> Iterator[Row]:
    """All rows; see the module's docstring."""
    yield from of_size(100, HUNDRED.at(effort))
    if THOUSAND.at(effort):
        yield from of_size(1000, THOUSAND.at(effort))


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    nodes = int(arguments[0]) if arguments else 100
    return printed(of_size(nodes, 2))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
