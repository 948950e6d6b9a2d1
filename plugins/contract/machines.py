# SPDX-License-Identifier: Apache-2.0
"""Simulated machines, judged by criteria with the judging itself.

Machines are drawn, run as the plan says, judged, and run again as long as the judgement asks for
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from checks.common.registry import Checks, checks_with
from records.criteria import (
    Criteria,
    Criterion,
    EfficiencyCriterion,
    MixCriterion,
    RatioCriterion,
    Selection,
    UnitCriterion,
)
from records.run.plan import Plan, PlannedCase
from records.site.limits import Nominal
from reports.judgement import Judgement
from reports.statistics.descriptive import Vector
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.values import CriterionEvidence, LaunchRef, Values

#: The greatest machine that is simulated.
MOST_NODES = 16
#: What a limit in a metric's own unit, or of a peak, is exceeded by on a good machine.
MARGIN = 1.1


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
