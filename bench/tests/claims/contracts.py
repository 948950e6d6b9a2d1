# SPDX-License-Identifier: Apache-2.0
"""Contracts on simulated machines of known truth: both parties' risks against those declared.

Launches are drawn one machine after the other and judged by the judge itself, with its re-runs;
what was declared comes from plugins/contract/risks.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from math import log
from typing import Any

import numpy as np

from assay.plan.cases import Narrowing
from assay.plan.planner import make_plan
from assay.schema.loading import load_campaign
from assay.tests.campaign_texts import SITE
from bench.rows import Bench, Row, share
from bench.tests.claims.acceptance import criteria_of, criterion
from plugins.contract.reliability import (
    Demonstration,
    availability_pass_chance,
    mean_time_bounds,
    pass_chance,
)
from plugins.contract.risks import Chances, chances, evidence_of, planned_values, selections_of
from plugins.contract.stability.booking import Booked, Outage, Spell
from plugins.contract.stability.judge import Figures
from plugins.contract.stability.ledger import Classed, WatchTerms
from records.criteria import Criteria
from records.run.plan import Plan
from records.site.limits import Nominal
from reports.judgement import Judgement
from reports.statistics.descriptive import Vector
from reports.verdicts.acceptance.judge import judge

#: Of HPL's rate, flop/s.
LIMIT = 1e9
#: The greatest distance of what was found from what was declared.
POINT = 0.01
#: Repeats, re-runs, spread of a launch, and how much better than the limit the promise is.
DESIGNS = ((3, 0, 0.02, 0.02), (5, 3, 0.02, 0.02), (8, 5, 0.03, 0.05))
#: A period of stability, without a promise.
PERIOD_S, NODES = 30 * 86400.0, frozenset({"n1", "n2", "n3", "n4"})
PERIOD: dict[str, Any] = {"at": 0.0, "site": "simulated", "every_s": 60.0, "length_s": PERIOD_S}


@dataclass(frozen=True)
class SimulatedMachines:
    """Evidence of machines whose values are at a `level`, but of the first peer, a share of it.
    `drift`: the coefficient of variation of what all values of a block have in common."""

    plan: Plan
    criteria: Criteria
    cv: float
    level: float = 1.0
    first: float = 1.0
    drift: float = 0.0

    def judged_to_the_end(self, seed: int) -> Judgement:
        """Judge a machine, and run it again as long as the judgement asks for it."""
        rng, planned, more = np.random.default_rng(seed), self.plan.blocks, self.criteria
        last = planned + more.reruns_at_most * more.rerun_blocks
        common = self.drift * rng.standard_normal(last + 1) if self.drift else np.zeros(last + 1)
        every = [*planned_values(self.plan, selections_of(more.criteria))]
        levels = self.level * np.array([self.first, *[1.0] * (len(every) - 1)])

        def drawn(place: int, blocks: range) -> Vector:
            scatter = np.exp(self.cv * rng.standard_normal(len(blocks)) + common[blocks])
            return np.asarray(levels[place] * scatter)

        first = range(1, planned + 1)
        values = [
            replace(blank, blocks=np.array(first), values=drawn(place, first))
            for place, blank in enumerate(every)
        ]
        for count in range(more.reruns_at_most + 1):
            found = judge(more, evidence_of(self.plan, Nominal(), values), date(2000, 1, 1), count)
            if not found.rerun:
                break
            start = planned + 1 + count * more.rerun_blocks
            again = range(start, start + more.rerun_blocks)
            for place, before in enumerate(values):
                if before.case.id in found.rerun:
                    blocks = np.concatenate([before.blocks, again])
                    together = np.concatenate([before.values, drawn(place, again)])
                    values[place] = replace(before, blocks=blocks, values=together)
        return found


def machine_chances(machines: SimulatedMachines, count: int, first: int = 0) -> Chances:
    """Chances of the last criterion of so many simulated machines, from a seed on."""
    seeds = range(first, first + count)
    words = [machines.judged_to_the_end(seed).criteria[-1].effective for seed in seeds]
    return Chances(words.count("PASS") / count, words.count("FAIL") / count)


def machines_of(asked: dict[str, Any], blocks: int, reruns: int, cv: float) -> SimulatedMachines:
    """Machines judged by one criterion on launches of its check on all nodes."""
    criteria = criteria_of(asked, confidence_of="all", rerun_blocks=3, reruns_at_most=reruns)
    only = Narrowing(environments=("mpich",), checks=(asked["check"],), blocks=blocks)
    return SimulatedMachines(make_plan(load_campaign("acceptance"), SITE, only), criteria, cv)


def rows(contracts: int) -> Iterator[Row]:
    """All lines, of so many contracts each."""
    limit = criterion("limit", "hpl", "rate", at_least=LIMIT, unit="flop/s")
    for repeats, reruns, cv, promise in DESIGNS:
        design = machines_of(limit, repeats, reruns, cv)
        again = f" and {reruns} re-runs of 3, judged after each" if reruns else ""
        words = f"{repeats} launches{again}, CV {cv:.0%}"
        promised = f"at the promise, {promise:.0%} better", promise
        for at, margin in (("at the limit", 0.0), promised):
            declared = chances(design.criteria, repeats, log(1 + margin), cv)
            found = machine_chances(replace(design, level=LIMIT * (1 + margin)), contracts)
            what = f"{words}: a machine {at} passes"
            yield from _against(declared, found, contracts, what, at_limit=not margin)
    yield from _peers(contracts)
    for better in (1.0, 6.0):
        yield from _periods(contracts, better)


def _against(
    declared: Chances, found: Chances, of: int, what: str, *, at_limit: bool
) -> Iterator[Row]:
    """Chances that were found against those declared."""
    yield _near(what, round(found.passed * of), of, declared.passed)
    yield _near("… and fails", round(found.failed * of), of, declared.failed)
    if at_limit:
        most = "… no more pass than the confidence allows"
        yield share(most, round(found.passed * of), of, most=0.05)


def _near(what: str, hits: int, of: int, declared: float) -> Row:
    declared = round(declared, 3)
    told = f"{what} (declared {100 * declared:.1f} %)"
    return share(told, hits, of, most=min(1.0, declared + POINT), least=max(0.0, declared - POINT))


def peers(kind: str) -> tuple[SimulatedMachines, SimulatedMachines]:
    """Machines that keep a criterion on four nodes, their links or a spread, and such as have
    something just at its limit."""
    check, metric, limit = {
        "nodes": ("node", "stream_triad", {"within": 0.05}),
        "links": ("alltoall_pairs", "pair_bandwidth", {"at_least": 0.93}),
        "spread": ("su3_rmd", "program_time", {"cv_at_most": 0.05}),
    }[kind]
    good = machines_of(criterion(kind, check, metric, **limit), 8, 3, 0.02)
    if kind == "spread":
        return good, replace(good, cv=0.05)
    return good, replace(good, first=0.95 if kind == "nodes" else 0.93)


def _peers(contracts: int) -> Iterator[Row]:
    """Four nodes, their links, and a spread: machines without drift, and as many that drift by 5 %
    from block to block."""
    for kind in ("nodes", "links", "spread"):
        good, bad = peers(kind)
        for what, machine in (("one at the limit", bad), ("all alike, CV 2 %", good)):
            declared = machine_chances(machine, contracts)
            drifting = replace(machine, drift=0.0 if kind == "spread" else 0.05)
            found = machine_chances(drifting, contracts, first=contracts)
            head = f"{kind}, 8 launches and 3 re-runs of 3: {what}: passes"
            yield from _against(declared, found, contracts, head, at_limit=machine is bad)


def _periods(contracts: int, better: float) -> Iterator[Row]:
    """Thirty days of a machine so many times better than its promise, judged every six days until a
    verdict is final. Outages are a Poisson process and take all four nodes for an hour in the
    mean."""
    rng, hours, length = np.random.default_rng(14), PERIOD_S / 3600, 5.4
    test, missed = Demonstration.of(length, 1.0), 0
    while mean_time_bounds(length, missed)[1] >= 1:
        missed += 1
    down = availability_pass_chance(0.99, hours, 1.0, better)
    for name, watch, count, passed, failed in (
        (
            "MTBI",
            WatchTerms(**PERIOD, mtbi_s=PERIOD_S / length),
            length,
            1 - test.vendors_risk(better),
            1 - pass_chance(length, missed - 1, better),
        ),
        ("availability", WatchTerms(**PERIOD, availability=0.99), 0.01 * hours, down, 1 - down),
    ):
        found = list[list[str]]()
        for outages in rng.poisson(count / better, contracts):
            begins = rng.uniform(0, PERIOD_S, outages)
            found.append(_looks(watch, begins, begins + rng.exponential(3600, outages)))
        first = [next((word for word in words if word != "INCONCLUSIVE"), "") for words in found]
        what = f"{name} over 30 days: a machine {better:g} × as good as the promise passes"
        yield _near(what, first.count("PASS"), contracts, passed)
        yield _near("… and fails, at its end or before", first.count("FAIL"), contracts, failed)
        changed = sum(word not in ("", words[-1]) for word, words in zip(first, found, strict=True))
        yield share("… its first verdict is not that of the end", changed, contracts, most=0.0)


def _looks(watch: WatchTerms, begins: Any, ends: Any) -> list[str]:
    """The verdict of a period's promise after each six days."""
    vendor = Classed(at=0, outage="", word="vendor", by="bench", reason="drawn")
    outages = [
        Outage("", "node down", "", [Spell("node down", "", NODES, begin, end, 1)], begin, [vendor])
        for begin, end in zip(begins, ends, strict=True)
    ]
    found = list[str]()
    for now in np.linspace(PERIOD_S / 5, PERIOD_S, 5):
        seen = [one for one in outages if one.begin <= now]
        booked = Booked(watch, [0.0, now], [], seen, dict.fromkeys(NODES, 0.0), [], [], [])
        found.append(Figures(booked).criteria[0].verdict)
    return found


CONTRACTS = Bench(
    "Contracts: the risks of buyer and vendor against those declared",
    (300, 10_000, 10_000),
    (rows,),
)
