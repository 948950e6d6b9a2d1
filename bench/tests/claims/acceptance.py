# SPDX-License-Identifier: Apache-2.0
"""Verdicts of acceptance on simulated machines with known truth, by the criteria `standard`.

Each machine is run, judged, run again as long as the judgement asks for it, and judged anew;
bench/tests/simulated/machines.py knows nothing of the code that judges.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ClusterShell.NodeSet import NodeSet

from assay.schema.criteria import load_criteria
from bench.rows import Bench, Row, mean, share_of
from bench.tests.simulated.machines import CHECKS, Machine, Noise, measured_pairs, write_run
from records.criteria import Criteria
from records.site.pair_scans import Indices
from reports.judgement import Judgement
from reports.load.loading import PairColumns, load_run
from reports.tests.scanned_machine import evidence_of
from reports.verdicts.acceptance.judge import judge as judge_acceptance
from reports.verdicts.acceptance.values import gather

DAY = date(2026, 11, 21)
NOISES = ("normal", "skewed", "heavy", "stray")
NODES_AND_PAIRS = ("node", "alltoall_pairs")


def criterion(kind: str, check: str, metric: str, **more: Any) -> dict[str, Any]:
    """A criterion, named for its kind."""
    return {"id": kind, "kind": kind, "title": kind, "check": check, "metric": metric, **more}


def criteria_of(*criteria: dict[str, Any], **more: Any) -> Criteria:
    """Criteria by themselves."""
    given = {"schema": 1, "name": "bench", "title": "Bench", "criteria": [*criteria], **more}
    return Criteria.model_validate(given)


#: The criteria on nodes and links by themselves, with a limit that all machines keep to.
RELATIVE = criteria_of(
    criterion("nodes", "node", "stream_triad"),
    criterion("links", "alltoall_pairs", "pair_bandwidth", at_least=0.93),
    criterion("limit", "node", "stream_triad", at_least=1e9, unit="bytes/s"),
)


@dataclass(frozen=True)
class Course:
    """Course of a machine: its first judgement, its last, and the re-runs between."""

    first: Judgement
    last: Judgement
    reruns: int

    @property
    def titles(self) -> set[str]:
        """Titles of what is named in the end."""
        return {finding.title for finding in self.last.named}

    def fails_by(self, titles: set[str]) -> bool:
        """True if it fails with just these named."""
        return self.last.verdict == "FAIL" and self.titles == titles


def passes(course: Course) -> bool:
    """True if the machine passes in the end."""
    return course.last.verdict == "PASS"


def course_of(
    machine: Machine,
    noise: Noise,
    seed: int,
    *,
    criteria: Criteria,
    blocks: int = 5,
    checks: Sequence[str] = CHECKS,
    **more: Any,
) -> Course:
    """Run and judge one machine until nothing is asked for any more."""
    rng = np.random.default_rng(seed)
    with TemporaryDirectory(prefix="assay-bench-") as name:
        place = Path(name) / "20261120T000000Z-0001"
        run = load_run(write_run(place, machine, noise, rng, blocks=blocks, checks=checks, **more))
        found = first = judge_acceptance(criteria, gather(run, []), DAY, 0)
        again: list[Any] = []
        while found.rerun:
            wanted = [case.check for case in run.plan.cases if case.id in found.rerun]
            place = Path(name) / f"20261121T00000{len(again)}Z-0002"
            more |= {"blocks": criteria.rerun_blocks, "checks": wanted}
            again.append(load_run(write_run(place, machine, noise, rng, **more)))
            found = judge_acceptance(criteria, gather(run, again), DAY, len(again))
        return Course(first, found, len(again))


def courses(
    n: int, machine: Machine, noise: Noise, criteria: Criteria, **more: Any
) -> list[Course]:
    """So many machines alike."""
    return [course_of(machine, noise, 1000 + k, criteria=criteria, **more) for k in range(n)]


def _passable(n: int) -> Iterator[Row]:
    """Healthy machines pass, and nobody is named."""
    standard = load_criteria("standard")[0]
    every: list[Course] = []
    for nodes, times, kinds in ((16, n, NOISES), (64, max(5, n // 8), NOISES[:1])):
        for cv in (0.005, 0.01):
            for kind in kinds:
                told = courses(times, Machine(nodes), Noise(cv, kind), standard)
                once = 100 * sum(t.first.verdict == "PASS" for t in told) / times
                reruns = sum(t.reruns for t in told) / times
                what = f"{nodes} healthy nodes, CV {100 * cv:g} % {kind}: PASS"
                text = f"{what} ({once:.0f} % at once, {reruns:.1f} re-runs)"
                yield share_of(text, told, passes, least=0.8)
                every += told
    yield share_of("all of these: somebody is named", every, lambda t: t.titles, most=0.02)
    again = [t for t in every if t.reruns > 1]
    what = "… of those run again more than once: decided"
    yield share_of(what, again, lambda t: t.last.verdict != "INCONCLUSIVE")


def _slow_node(n: int) -> Iterator[Row]:
    """A node 10 % slow does not pass, and is named."""
    standard = load_criteria("standard")[0]
    machine = Machine(slow_nodes={3: 0.9})
    for cv in (0.01, 0.02):
        told = [t for kind in NOISES for t in courses(n // 2, machine, Noise(cv, kind), standard)]
        what = f"a node of 16 10 % slow, CV {100 * cv:g} %, {len(NOISES)} noises"
        yield share_of(f"{what}: PASS", told, passes, most=0.05)

        def alone(course: Course) -> bool:
            slow = {x for x in course.titles if not x.startswith("unsteady")}
            return slow == {"slow node n4"}

        yield share_of(f"{what}: named, and nobody else", told, alone, least=0.9)


def _fours(*shares: float) -> list[tuple[range, float]]:
    """Four switches of four nodes, with the shares of their uplinks."""
    return [(range(4 * k, 4 * k + 4), share) for k, share in enumerate(shares)]


def titles_of(machine: Machine, cuts: Sequence[str] = ()) -> set[str]:
    """Titles that must be named of a machine; `cuts` are the sides of its slow cuts."""
    names = machine.names
    found = {f"slow cut between {sides}" for sides in cuts}
    found |= {f"slow link of {names[node]}" for node in machine.interfaces}
    found |= {f"slow link {names[one]}–{names[other]}" for one, other in machine.pairs}
    slow = [names[node] for node in machine.slow_nodes]
    if len(slow) > machine.nodes / 2:
        return found | {f"slow group of nodes {NodeSet.fromlist(slow)}"}
    return found | {f"slow node {name}" for name in slow}


#: What hits much of a machine: the truth, and the sides of the cuts that must be named.
HALF: dict[str, tuple[Machine, list[str]]] = {
    "trunk at 50 %, switches of 8": (Machine(groups=[(range(8), 0.5)]), ["n[1-8] and n[9-16]"]),
    "trunk at 85 %, of 5 and 11": (Machine(groups=[(range(5), 0.85)]), ["n[1-5] and n[6-16]"]),
    "all uplinks of four switches at half": (
        Machine(groups=_fours(0.5, 0.5, 0.5, 0.5)),
        ["n[1-4] and n[5-8] and n[9-12] and n[13-16]"],
    ),
    "two pods of two switches: 80 % between switches, 40 % between pods": (
        Machine(groups=[*_fours(0.8, 0.8, 0.8, 0.8), (range(8), 0.4)]),
        ["n[1-4] and n[5-8]", "n[9-12] and n[13-16]", "n[1-8] and n[9-16]"],
    ),
    "12 of 16 interfaces at half": (Machine(interfaces=dict.fromkeys(range(12), 0.5)), []),
    "9 of 16 nodes −20 %": (Machine(slow_nodes=dict.fromkeys(range(9), 0.8)), []),
    "7 of 16 nodes −20 %": (Machine(slow_nodes=dict.fromkeys(range(7), 0.8)), []),
}
#: Faults that come alone or together: the truth, the noise.
NAMED: dict[str, tuple[Machine, Noise]] = {
    "an interface at 90 %, CV 3 %": (Machine(interfaces={4: 0.9}), Noise(0.03)),
    "interfaces at 85 and 50 %, CV 2 %": (Machine(interfaces={4: 0.85, 9: 0.5}), Noise(0.02)),
    "one link at half, CV 2 %": (Machine(pairs={(2, 7): 0.5}), Noise(0.02)),
    "a node −20 % whose interface is at half, CV 1 %": (
        Machine(slow_nodes={3: 0.8}, interfaces={3: 0.5}),
        Noise(0.01),
    ),
    "a trunk at half, an interface at 30 %, a link at 20 %, a node −20 %": (
        Machine(
            slow_nodes={0: 0.8}, interfaces={12: 0.3}, pairs={(1, 3): 0.2}, groups=[(range(8), 0.5)]
        ),
        Noise(0.01),
    ),
}


def _faults(n: int) -> Iterator[Row]:
    """Faults fail and are named, and nothing else."""
    noises = (Noise(0.01), Noise(0.01, "heavy"), Noise(0.02, "stray", 0.03))
    faults = [
        (what, machine, cuts, [(noise, 5) for noise in noises], 0.95)
        for what, (machine, cuts) in HALF.items()
    ]
    for what, (machine, noise) in NAMED.items():
        # A node whose interface is worse than its trunk is on neither side of the cut.
        cuts = ["n[1-8] and n[9-12,14-16]"] if machine.groups else []
        ways = [(noise, blocks) for blocks in (3, 5, 8)]
        faults.append((f"{what}, 3, 5, 8 blocks", machine, cuts, ways, 0.9))
    more: dict[str, Any] = {"criteria": RELATIVE, "checks": NODES_AND_PAIRS}
    for what, machine, cuts, ways, least in faults:
        told = [t for way, k in ways for t in courses(n // 4, machine, way, blocks=k, **more)]
        right = partial(Course.fails_by, titles=titles_of(machine, cuts))
        yield share_of(f"{what}: FAIL with just that named", told, right, least=least)


#: Of scans of all pairs: launches scatter by 1 %, one in 1,000 loses 10 to 30 % by itself.
BLOCKS, AGAIN, ROUNDS = 5, 3, 6
NOISE = Noise(0.01, "stray", strays=1e-3)
SCAN_CRITERIA = criteria_of(
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
        judgement = judge_acceptance(SCAN_CRITERIA, evidence_of(parts), DAY, count)
        if not judgement.rerun:
            break
        (pairs,) = judgement.rerun.values()
        ends = np.array([[int(name[1:]) - 1 for name in pair.split(":")] for pair in pairs])
        some, others = np.sort(ends, axis=1).T if pairs else (low, high)
        tested += len(some)
        start = BLOCKS + 1 + count * AGAIN
        parts.append(measured(machine, some, others, range(start, start + AGAIN), rng))
    return judgement, tested / len(low)


def _scans(nodes: int, n: int) -> Iterator[Row]:
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


def _sizes(hundred: int, thousand: int) -> Iterator[Row]:
    """Machines of 100 nodes, and of 1,000."""
    for nodes, n in ((100, hundred), (1000, thousand)):
        yield from _scans(nodes, n) if n else ()


ACCEPTANCE = Bench("Acceptance", (4, 16, 100), (_passable, _slow_node, _faults))
PAIR_SCANS = Bench("Acceptance: scans of all pairs", ((2, 0), (8, 1), (40, 5)), (_sizes,))
