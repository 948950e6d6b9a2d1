# SPDX-License-Identifier: Apache-2.0
"""Verdicts of acceptance on simulated machines with known truth, by the criteria `standard`.

python -m bench verdicts acceptance. Each machine is run, judged, run again as long as the judgement
asks for it, and judged anew; bench/simulated_machines.py knows nothing of the code that judges.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from assay.criteria.loading import load_criteria
from assay.criteria.risks import risks
from bench.rows import Effort, Row, Runs, printed, share
from bench.simulated_machines import CHECKS, Machine, Noise, write_run
from records.criteria import Criteria
from records.errors import AssayError
from reports.acceptance.judge import judge
from reports.acceptance.model import Judgement
from reports.acceptance.values import gather, stated_rates
from reports.load.loading import load_run

TOPIC = "Acceptance"
MACHINES = Runs(4, 16, 100)
DAY = date(2026, 11, 21)
#: The criteria on nodes and links by themselves, with a limit that all machines keep to.
RELATIVE = {
    "schema": 1,
    "name": "relative",
    "title": "Relative limits, and an absolute one that is kept",
    "criteria": [
        {"id": "stream", "kind": "nodes", "title": "S", "check": "node", "metric": "stream_triad"},
        {
            "id": "bandwidth",
            "kind": "links",
            "title": "B",
            "check": "alltoall_pairs",
            "metric": "pair_bandwidth",
            "at_least": 0.93,
        },
        {
            "id": "promise",
            "kind": "limit",
            "title": "P",
            "check": "node",
            "metric": "stream_triad",
            "at_least": 1e9,
            "unit": "bytes/s",
        },
    ],
}
NOISES = ("normal", "skewed", "heavy", "stray")


@dataclass(frozen=True)
class Tale:
    """What became of a machine: its first judgement, its last, and the re-runs between."""

    first: Judgement
    last: Judgement
    reruns: int

    @property
    def titles(self) -> set[str]:
        """What is named in the end."""
        return {finding.title for finding in self.last.named}


def tale(
    machine: Machine,
    noise: Noise,
    seed: int,
    *,
    criteria: Criteria,
    blocks: int = 5,
    checks: Sequence[str] = CHECKS,
    **more: Any,
) -> Tale:
    """One machine run and judged until nothing is asked for any more."""
    rng = np.random.default_rng(seed)
    top = Path(tempfile.mkdtemp(prefix="assay-bench-"))
    try:
        run = load_run(
            write_run(
                top / "20261120T000000Z-0001",
                machine,
                noise,
                rng,
                blocks=blocks,
                checks=checks,
                **more,
            )
        )
        found = first = judge(criteria, gather(run, []), DAY, 0)
        again: list[Any] = []
        while found.rerun:
            wanted = [case.check for case in run.plan.cases if case.id in found.rerun]
            place = top / f"20261121T00000{len(again)}Z-0002"
            once = write_run(
                place, machine, noise, rng, blocks=criteria.rerun_blocks, checks=wanted, **more
            )
            again.append(load_run(once))
            found = judge(criteria, gather(run, again), DAY, len(again))
        return Tale(first, found, len(again))
    finally:
        shutil.rmtree(top)


def tales(n: int, machine: Machine, noise: Noise, criteria: Criteria, **more: Any) -> list[Tale]:
    """So many machines alike."""
    return [tale(machine, noise, 1000 + seed, criteria=criteria, **more) for seed in range(n)]


def rows(effort: Effort) -> Iterator[Row]:
    """All lines, of so many machines each."""
    n = MACHINES.at(effort)
    standard = load_criteria("standard")[0]
    relative = Criteria.model_validate(RELATIVE)
    yield from _passable(n, standard)
    yield from _consumer(n, standard)
    yield from _half(n, relative)
    yield from _named(n, relative)
    yield from _great(max(2, n // 20), standard)
    yield from _gaps(max(5, n // 10), relative)
    yield from _refused(n)
    yield from _risks(n, standard)


def _passable(n: int, standard: Criteria) -> Iterator[Row]:
    """Healthy machines pass, and nobody is named."""
    every: list[Tale] = []
    for nodes, times, kinds in ((16, n, NOISES), (64, max(5, n // 8), NOISES[:1])):
        for cv in (0.005, 0.01):
            for kind in kinds:
                told = tales(times, Machine(nodes), Noise(cv, kind), standard)
                passed = sum(t.last.verdict == "PASS" for t in told)
                once = 100 * sum(t.first.verdict == "PASS" for t in told) / times
                reruns = sum(t.reruns for t in told) / times
                what = f"{nodes} healthy nodes, CV {100 * cv:g} % {kind}: PASS"
                text = f"{what} ({once:.0f} % at once, {reruns:.1f} re-runs)"
                yield share(text, passed, times, least=0.8)
                every += told
    yield share("all of these: somebody is named", _any_named(every), len(every), most=0.02)
    again = [t for t in every if t.reruns > 1]
    decided = sum(t.last.verdict != "INCONCLUSIVE" for t in again)
    yield share("… of those run again more than once: decided", decided, len(again))


def _any_named(told: Sequence[Tale]) -> int:
    return sum(bool(t.titles) for t in told)


def _consumer(n: int, standard: Criteria) -> Iterator[Row]:
    """A node 10 % slow does not pass, and is named."""
    for cv in (0.01, 0.02):
        told = [
            found
            for kind in NOISES
            for found in tales(n // 2, Machine(slow_nodes={3: 0.9}), Noise(cv, kind), standard)
        ]
        what = f"a node of 16 10 % slow, CV {100 * cv:g} %, {len(NOISES)} noises"
        passed = sum(t.last.verdict == "PASS" for t in told)
        yield share(f"{what}: PASS", passed, len(told), most=0.05)
        slow = [{x for x in t.titles if not x.startswith("unsteady")} for t in told]
        named = sum(titles == {"slow node n4"} for titles in slow)
        yield share(f"{what}: named, and nobody else", named, len(told), least=0.9)


#: What hits much of a machine: the truth, and what must be named.
HALF: dict[str, tuple[Machine, set[str]]] = {
    "trunk at half between two switches of 8": (
        Machine(switches=[(range(8), 0.5)]),
        {"slow cut between n[1-8] and n[9-16]"},
    ),
    "trunk at 85 %, switches of 5 and 11": (
        Machine(switches=[(range(5), 0.85)]),
        {"slow cut between n[1-5] and n[6-16]"},
    ),
    "one uplink of four switches at half": (
        Machine(switches=[(range(4 * i, 4 * i + 4), 0.5 if i == 2 else 1.0) for i in range(4)]),
        {"slow cut between n[1-8,13-16] and n[9-12]"},
    ),
    "all uplinks of four switches at half": (
        Machine(switches=[(range(4 * i, 4 * i + 4), 0.5) for i in range(4)]),
        {"slow cut between n[1-4] and n[5-8] and n[9-12] and n[13-16]"},
    ),
    "two pods of two switches: 80 % between switches, 40 % between pods": (
        Machine(
            switches=[
                *((range(4 * i, 4 * i + 4), 0.8) for i in range(4)),
                (range(8), 0.4),
            ]
        ),
        {
            "slow cut between n[1-4] and n[5-8]",
            "slow cut between n[9-12] and n[13-16]",
            "slow cut between n[1-8] and n[9-16]",
        },
    ),
    "12 of 16 interfaces at half": (
        Machine(interfaces=dict.fromkeys(range(12), 0.5)),
        {f"slow link of n{i}" for i in range(1, 13)},
    ),
    "14 of 16 interfaces at 80 %": (
        Machine(interfaces=dict.fromkeys(range(14), 0.8)),
        {f"slow link of n{i}" for i in range(1, 15)},
    ),
    "9 of 16 nodes −20 %": (
        Machine(slow_nodes=dict.fromkeys(range(9), 0.8)),
        {"slow group of nodes n[1-9]"},
    ),
    "13 of 16 nodes −10 %": (
        Machine(slow_nodes=dict.fromkeys(range(13), 0.9)),
        {"slow group of nodes n[1-13]"},
    ),
    "7 of 16 nodes −20 %": (
        Machine(slow_nodes=dict.fromkeys(range(7), 0.8)),
        {f"slow node n{i}" for i in range(1, 8)},
    ),
}


def _half(n: int, relative: Criteria) -> Iterator[Row]:
    """What hits much of a machine fails, and is named."""
    noises = (Noise(0.01), Noise(0.01, "heavy"), Noise(0.02, "stray", 0.03))
    for what, (machine, names) in HALF.items():
        told = [
            found
            for noise in noises
            for found in tales(n // 4, machine, noise, relative, checks=("node", "alltoall_pairs"))
        ]
        right = sum(t.last.verdict == "FAIL" and t.titles == names for t in told)
        yield share(f"{what}: FAIL with just that named", right, len(told), least=0.95)


#: Single faults: the truth, the noise, and what must be named.
NAMED: dict[str, tuple[Machine, Noise, set[str]]] = {
    "an interface at 90 %, CV 3 %": (
        Machine(interfaces={4: 0.9}),
        Noise(0.03),
        {"slow link of n5"},
    ),
    "an interface at 90 %, CV 3 % heavy": (
        Machine(interfaces={4: 0.9}),
        Noise(0.03, "heavy"),
        {"slow link of n5"},
    ),
    "interfaces at 85 and 50 %, CV 2 %": (
        Machine(interfaces={4: 0.85, 9: 0.5}),
        Noise(0.02),
        {"slow link of n5", "slow link of n10"},
    ),
    "one link at half, CV 2 %": (
        Machine(pairs={(2, 7): 0.5}),
        Noise(0.02),
        {"slow link n3–n8"},
    ),
    "a node −20 % whose interface is at half, CV 1 %": (
        Machine(slow_nodes={3: 0.8}, interfaces={3: 0.5}),
        Noise(0.01),
        {"slow node n4", "slow link of n4"},
    ),
    "a node −20 % with one link at half, CV 1 %": (
        Machine(slow_nodes={3: 0.8}, pairs={(3, 9): 0.5}),
        Noise(0.01),
        {"slow node n4", "slow link n4–n10"},
    ),
    "a trunk at half, an interface at 30 %, a link at 20 %, a node −20 %": (
        Machine(
            slow_nodes={0: 0.8},
            interfaces={12: 0.3},
            pairs={(1, 3): 0.2},
            switches=[(range(8), 0.5)],
        ),
        Noise(0.01),
        {
            "slow node n1",
            "slow link of n13",
            "slow link n2–n4",
            "slow cut between n[1-8] and n[9-12,14-16]",
        },
    ),
}


def _named(n: int, relative: Criteria) -> Iterator[Row]:
    """Single faults are named, and nothing else."""
    checks = ("node", "alltoall_pairs")
    for what, (machine, noise, names) in NAMED.items():
        told = [
            found
            for blocks in (3, 5, 8)
            for found in tales(n // 4, machine, noise, relative, blocks=blocks, checks=checks)
        ]
        named = sum(t.last.verdict == "FAIL" and t.titles == names for t in told)
        text = f"{what}, 3, 5, 8 blocks: FAIL with just that named"
        yield share(text, named, len(told), least=0.9)


def _great(n: int, standard: Criteria) -> Iterator[Row]:
    """A thousand nodes, each judged; their pairs are left out."""
    criteria = standard.model_copy(
        update={"criteria": [c for c in standard.criteria if c.check in ("node", "hpl", "su3_rmd")]}
    )
    checks = ("node", "hpl", "su3_rmd")
    for noise in (Noise(0.01), Noise(0.01, "stray")):
        told = tales(n, Machine(1000), noise, criteria, checks=checks)
        what = f"1,000 healthy nodes, CV 1 % {noise.kind}"
        yield share(f"{what}: PASS", sum(t.last.verdict == "PASS" for t in told), n, least=0.8)
        yield share(f"{what}: somebody is named", _any_named(told), n, most=0.02)
        told = tales(n, Machine(1000, slow_nodes={77: 0.9}), noise, criteria, checks=checks)
        what = f"one of 1,000 nodes 10 % slow, CV 1 % {noise.kind}"
        yield share(f"{what}: PASS", sum(t.last.verdict == "PASS" for t in told), n, most=0.05)
        named = sum(t.titles == {"slow node n78"} for t in told)
        yield share(f"{what}: named, and nobody else", named, n, least=0.9)


def _gaps(n: int, relative: Criteria) -> Iterator[Row]:
    """What was planned and not measured, and documents without an absolute limit, never pass."""
    holes: dict[str, Callable[[int], set[tuple[str, str]]]] = {
        "a node without a value": lambda i: {("stream_triad", f"n{1 + i % 16}")},
        "a pair without a value": lambda i: {("pair_bandwidth", f"n1–n{2 + i % 15}")},
        "a node without any pair": lambda i: {
            ("pair_bandwidth", f"n{min(a, i + 1)}–n{max(a, i + 1)}") for a in range(1, 17)
        },
    }
    for what, make in holes.items():
        told = [
            tale(Machine(), Noise(), 7 + i, criteria=relative, holes=make(i % 16)) for i in range(n)
        ]
        bad = sum(t.last.verdict == "PASS" or not t.titles for t in told)
        yield share(f"{what}: PASS, or not named", bad, n, most=0.0)
    promise = [c for c in relative.criteria if c.kind != "limit"]
    without = relative.model_copy(update={"criteria": promise})
    told = tales(n, Machine(), Noise(), without)
    passed = sum(t.last.verdict == "PASS" for t in told)
    yield share("no absolute limit: PASS", passed, n, most=0.0)
    proposed = sum(len(t.last.proposals) >= 2 for t in told)
    yield share("… rates of the site are proposed as such", proposed, n, least=1.0)


def _refused(n: int) -> Iterator[Row]:
    """Runs in which one value is zero or less, which no measurement gives."""
    refused = 0
    rng = np.random.default_rng(10)
    for seed in range(n):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            run = write_run(Path(folder) / "run", Machine(), Noise(), np.random.default_rng(seed))
            path = run / "records.jsonl"
            lines = path.read_text().splitlines()
            place = int(rng.integers(len(lines)))
            record = json.loads(lines[place])
            record["metrics"][int(rng.integers(len(record["metrics"])))]["value"] = -float(seed % 3)
            lines[place] = json.dumps(record)
            path.write_text("\n".join(lines) + "\n")
            try:
                load_run(run)
            except AssayError:
                refused += 1
    yield share("a value of a run is zero or less: refused", refused, n, least=1.0)


def _risks(n: int, standard: Criteria) -> Iterator[Row]:
    """What `assay plan --criteria` says of the risks of this acceptance."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        rng = np.random.default_rng(1)
        run = load_run(write_run(Path(folder) / "run", Machine(), Noise(), rng))
        for risk in risks(run.plan, standard, stated_rates(run.provenance.site), n):
            least, most = (0.8, None) if risk.good else (None, 0.05)
            what = f"`assay plan --criteria`, {risk.machine}, CV {100 * risk.cv:g} %: PASS"
            yield share(what, risk.passed, risk.of, least=least, most=most)


if __name__ == "__main__":
    raise SystemExit(printed(rows("quick")))
