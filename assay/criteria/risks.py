# SPDX-License-Identifier: Apache-2.0
"""Risks of an acceptance as planned: both parties' chances, by simulated launches.

The judging itself is asked: machines are drawn, run as the plan says, judged by the criteria, and
run again as long as the judgement asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any

import msgspec
import numpy as np

from checks.common.registry import Checks, checks_with
from records.criteria import (
    Criteria,
    Criterion,
    EfficiencyCriterion,
    LinksCriterion,
    MixCriterion,
    NodesCriterion,
    RatioCriterion,
    Selection,
    UnitCriterion,
)
from records.forms import Form, Part, key
from records.run.plan import Plan, PlannedCase
from records.site.limits import Nominal
from reports.judgement import Judgement
from reports.statistics.descriptive import Vector
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.values import CriterionEvidence, LaunchRef, Values

#: Coefficient of variation of a launch.
CV = 0.01
#: Machines of each kind, and the greatest machine that is simulated.
MACHINES, MOST_NODES = 20, 16
#: What a limit in a metric's own unit, or of a peak, is exceeded by on a good machine.
MARGIN = 1.1


class Risk(Part):
    """Counts of how machines of one kind came out, judged by the criteria."""

    machine: Annotated[str, key("The kind of machine.")]
    good: Annotated[bool, key("True if it should pass.")]
    cv: Annotated[float, key("The coefficient of variation of its launches.")]
    passed: Annotated[int, key("Number of machines that passed.")]
    failed: Annotated[int, key("Number of machines that failed.")]
    reruns: Annotated[float, key("Re-runs, on average.")]
    of: Annotated[int, key("Number of machines that were simulated.")]
    undecided: Annotated[
        list[str],
        key("Causes that left the others open: each criterion, how often, and what it lacks."),
    ]


class PlanRisksForm(Form, kw_only=True):
    """`assay plan --criteria`: the plan, and what judging it by the criteria risks."""

    plan: Annotated[dict[str, Any], key("The plan, as `assay plan --json` prints it.")]
    risks: Annotated[list[Risk], key("A kind of machine each.")]


def risks(
    plan: Plan, criteria: Criteria, rates: Nominal, machines: int = MACHINES, cv: float = CV
) -> list[Risk]:
    """The risks of an acceptance: a good machine, one with a slow node, one with a slow link."""
    plan, found = at_most_nodes(plan), []
    criteria = criteria.with_mixes_of(plan.mix_blocks)
    for what, defects in _machines(criteria):
        simulated = SimulatedMachines(plan, criteria, rates, cv, defects)
        rounds = [simulated.judged_rounds(seed) for seed in range(machines)]
        ends = [every[-1] for every in rounds]
        verdicts = [judgement.verdict for judgement in ends]
        passed, failed = verdicts.count("PASS"), verdicts.count("FAIL")
        reruns = sum(len(every) - 1 for every in rounds) / machines
        undecided = list(_undecided(ends))
        found.append(Risk(what, not defects, cv, passed, failed, reruns, machines, undecided))
    return found


def _undecided(ends: Sequence[Judgement]) -> Iterator[str]:
    """Causes of open judgements: criteria with what they lack, and that none is absolute."""
    lacks: Counter[tuple[str, str]] = Counter()
    for end in ends:
        if end.verdict in ("PASS", "FAIL"):
            continue
        left = [result for result in end.criteria if result.effective not in ("PASS", "FAIL")]
        for result in left:
            item = result.most_telling()
            note = result.note or (item.note if item else "")
            lacks[f"criterion {result.id}", note or _NO_RERUN_LEFT] += 1
        if not end.absolute:
            lacks.update((f"criterion {one.id}", one.note) for one in end.left_out)
        if not end.absolute and not left:
            lacks["no criterion", _NONE_ABSOLUTE] += 1
    for (name, why), count in lacks.most_common():
        yield f"{name} in {count} of {len(ends)}: {why}"


_NO_RERUN_LEFT = "it fails unless a re-run clears it, and no re-run is left"
_NONE_ABSOLUTE = (
    "has an absolute limit that something keeps to, so nothing passes; add one (kind: limit), or"
    " nominal rates to site.yaml"
)


def rendered(plan: Plan, criteria: Criteria, found: Sequence[Risk]) -> str:
    """The risks as a table for people."""
    nodes = max((case.nodes for case in plan.cases), default=0)
    lines = [
        f"risks of judging this by {criteria.name}, {found[0].of} simulated machines a line"
        + (f" of {MOST_NODES} of the {nodes} nodes" if nodes > MOST_NODES else ""),
        f"{'machine':44}  {'CV':>5}  {'PASS':>5}  {'FAIL':>5}  {'open':>5}  re-runs  risk",
    ]
    for risk in found:
        share = [f"{100 * count / risk.of:.0f} %" for count in (risk.passed, risk.failed)]
        left = f"{100 * (risk.of - risk.passed - risk.failed) / risk.of:.0f} %"
        bad = risk.of - risk.passed if risk.good else risk.passed
        error = 196 * np.sqrt(max(bad * (risk.of - bad) / risk.of, 1.0)) / risk.of
        party = "producer's" if risk.good else "consumer's"
        lines.append(
            f"{risk.machine:44}  {100 * risk.cv:3g} %  {share[0]:>5}  {share[1]:>5}  {left:>5}"
            f"  {risk.reruns:7.1f}  {party} {100 * bad / risk.of:.0f} ± {error:.0f} %"
        )
        new = [line for text in risk.undecided if (line := f"  open: {text}") not in lines]
        lines += new or (["  open: as above"] if risk.undecided else [])
    lines.append(
        f"(launches of normal scatter; limits in a metric's own unit kept by {MARGIN - 1:.0%})"
    )
    return "\n".join(lines) + "\n"


def at_most_nodes(plan: Plan) -> Plan:
    """The plan on MOST_NODES nodes at most; nodes and links are then judged as in a greater one."""
    cases = [
        msgspec.structs.replace(
            case,
            nodes=min(case.nodes, MOST_NODES),
            ranks=case.ranks if case.nodes <= MOST_NODES else MOST_NODES * case.ranks_per_node,
        )
        for case in plan.cases
    ]
    return msgspec.structs.replace(plan, cases=cases)


def _machines(criteria: Criteria) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Machines by what is wrong: for each criterion's id the share of its first node or pair.

    A node or a link is short by twice of what the strictest criterion on it allows.
    """
    yield "good", {}
    nodes = [c for c in criteria.criteria if isinstance(c, NodesCriterion)]
    if nodes:
        short = 2 * min(c.within for c in nodes)
        yield f"one node {100 * short:.0f} % slow", {c.metric: 1 - short for c in nodes}
    links = [c for c in criteria.criteria if isinstance(c, LinksCriterion) and c.at_least]
    if links:
        share = 1 - 2 * (1 - max(c.at_least or 0.0 for c in links))
        share = max(share, 0.1)
        yield f"one pair of nodes at {100 * share:.0f} %", {c.metric: share for c in links}


@dataclass(frozen=True)
class SimulatedMachines:
    """Evidence of machines that are good but for `defects`, by metric: the first peer's share.
    `drift`: the coefficient of variation of what all values of a block have in common."""

    plan: Plan
    criteria: Criteria
    rates: Nominal
    cv: float
    defects: Mapping[str, float]
    drift: float = 0.0

    def judged_to_the_end(self, seed: int) -> Judgement:
        """Judge a machine and its re-runs until nothing is asked for."""
        return self.judged_rounds(seed)[-1]

    def judged_rounds(self, seed: int) -> list[Judgement]:
        """The judgement of a machine's run, and one after each re-run that is asked for."""
        rng, planned = np.random.default_rng(seed), self.plan.blocks
        last = planned + self.criteria.reruns_at_most * self.criteria.rerun_blocks
        common = self.drift * rng.standard_normal(last + 1) if self.drift else np.zeros(last + 1)
        first = range(1, planned + 1)
        values = [self._drawn(series, first, rng, common) for series in self._all]
        mixes, judgements = self._mixes(first, rng), list[Judgement]()
        for count in range(self.criteria.reruns_at_most + 1):
            found = judge(self.criteria, self._evidence(values, mixes), date(2000, 1, 1), count)
            judgements.append(found)
            if not found.rerun:
                break
            start = planned + 1 + count * self.criteria.rerun_blocks
            again = range(start, start + self.criteria.rerun_blocks)
            mixes |= self._mixes(again, rng)
            for place, series in enumerate(self._all):
                if series.case.id in found.rerun:
                    before, more = values[place], self._drawn(series, again, rng, common)
                    values[place] = replace(
                        before,
                        blocks=np.concatenate([before.blocks, more.blocks]),
                        values=np.concatenate([before.values, more.values]),
                    )
        return judgements

    def of(self, criterion: Criterion) -> list[Values]:
        """The values that a criterion judges, as a good machine gives them; one block each."""
        return self._evidence(self._all).selected(criterion)

    @cached_property
    def _checks(self) -> Checks:
        return checks_with(self.plan.brought)

    @cached_property
    def _selections(self) -> list[Selection]:
        """Selections of the criteria, their references too."""
        criteria = self.criteria.criteria
        references = (getattr(one, "reference", None) for one in criteria)
        return [*criteria, *(one for one in references if one is not None)]

    @cached_property
    def _all(self) -> list[Values]:
        """Every value that the criteria ask for, as a good machine gives it; one block each."""
        metrics = dict.fromkeys((one.check, one.metric) for one in self._selections)
        return [
            series
            for case in self.plan.cases
            if case.skipped is None
            for check, metric in metrics
            if check == case.check
            for series in self._series(case, metric)
        ]

    def _series(self, case: PlannedCase, metric: str) -> Iterator[Values]:
        points = {*self._checks[case.check].points}
        names = [f"n{number + 1}" for number in range(case.nodes)]
        places: list[dict[str, Any]] = [{}]
        if {"node", "peer"} <= points:
            places = [{"node": one, "peer": two} for one, two in combinations(names, 2)]
        elif "node" in points:
            places = [{"node": name} for name in names]
        asked = (one.where for one in self._selections if one.metric == metric)
        further = [{k: v for k, v in where.items() if k in points} for where in asked]
        for extra in {str(point): point for point in further or [{}]}.values():
            for place in places:
                blank = Values(case, metric, {**place, **extra}, np.ones(1, np.int64), np.ones(1))
                share = self.defects.get(metric, 1.0) if place == places[0] else 1.0
                share = share if self._more_is_better(metric) else 1 / share
                yield replace(blank, values=np.array([self._good_level(blank) * share]))

    def _more_is_better(self, metric: str) -> bool:
        return self.plan.register.metrics[metric].better == "higher"

    def _good_level(self, values: Values) -> float:
        """Value of a good machine: its promise, or the strictest limit kept by MARGIN."""
        levels = []
        for c in self.criteria.criteria:
            if (c.check, c.metric) != (values.case.check, values.metric):
                continue
            if isinstance(c, EfficiencyCriterion) and c.peak == "nominal":
                rate, _ = self._evidence([]).nominal_rate(values)
                levels += [c.at_least * MARGIN * rate] if rate else []
            elif isinstance(c, UnitCriterion | RatioCriterion | EfficiencyCriterion):
                most = None if isinstance(c, EfficiencyCriterion) else c.at_most
                level = c.at_least * MARGIN if c.at_least else (most or MARGIN) / MARGIN
                levels.append(level * self._reference_level(c, values))
        best = max if self._more_is_better(values.metric) else min
        return best(levels, default=1.0)

    def _reference_level(self, criterion: Criterion, values: Values) -> float:
        """Value of a good machine for the reference of a ratio, or the measured peak; 1 where
        there is none."""
        reference = getattr(criterion, "reference", None)
        case = next((c for c in self.plan.cases if reference and c.check == reference.check), None)
        if reference is None or case is None:
            return 1.0
        place = {"node": "n1"} if "node" in self._checks[case.check].points else {}
        base = self._good_level(replace(values, case=case, metric=reference.metric, at=place))
        if isinstance(criterion, EfficiencyCriterion):
            base *= values.case.ranks / max(1, -(-case.ranks // max(case.nodes, 1)))
        return base

    def _drawn(
        self, series: Values, blocks: range, rng: np.random.Generator, common: Vector
    ) -> Values:
        scatter = np.exp(self.cv * rng.standard_normal(len(blocks)) + common[blocks])
        return replace(series, blocks=np.array(blocks), values=series.values[0] * scatter)

    def _mixes(self, blocks: range, rng: np.random.Generator) -> dict[int, float]:
        """The throughputs of whole mixes of a good machine, by the first block."""
        of = [c for c in self.criteria.criteria if isinstance(c, MixCriterion) and not c.check]
        level = max([MARGIN * (c.at_least or 0.0) for c in of], default=1.0)
        size = self.plan.mix_blocks or len(blocks) + 1
        firsts = blocks[: len(blocks) // size * size : size]
        return {one: level * float(np.exp(self.cv * rng.standard_normal())) for one in firsts}

    def _evidence(
        self, values: list[Values], throughputs: Mapping[int, float] | None = None
    ) -> CriterionEvidence:
        cases = [case for case in self.plan.cases if case.skipped is None]
        launches = {
            (case.id, block): LaunchRef("simulated", case.id, block, "ok", (), {})
            for case in cases
            for block in range(1, self.plan.blocks + 1)
        }
        nodes = max((case.nodes for case in cases), default=0)
        names = tuple(f"n{number + 1}" for number in range(nodes))
        fresh = self.plan.blocks + 1
        return CriterionEvidence(
            *(values, launches, cases, self.plan.register, self.rates, names, fresh),
            mix_blocks=self.plan.mix_blocks,
            throughputs=throughputs or {},
        )
