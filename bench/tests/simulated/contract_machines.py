# SPDX-License-Identifier: Apache-2.0
"""Simulated machines, judged by criteria with the judging itself.

Machines are drawn, run as the plan says, judged, and run again as long as the judgement asks for
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

import numpy as np

from plugins.contract.risks import (
    MARGIN,
    Chances,
    evidence_of,
    planned_values,
    selections_of,
)
from records.criteria import Criteria, UnitCriterion
from records.run.plan import Plan
from records.site.limits import Nominal
from reports.judgement import Judgement
from reports.statistics.descriptive import Vector
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.values import Values


@dataclass(frozen=True)
class SimulatedMachines:
    """Evidence of machines that are good but for `defects`, by metric: the first peer's share.
    `drift`: the coefficient of variation of what all values of a block have in common."""

    plan: Plan
    criteria: Criteria
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
        judgements = list[Judgement]()
        for count in range(self.criteria.reruns_at_most + 1):
            evidence = evidence_of(self.plan, Nominal(), values)
            found = judge(self.criteria, evidence, date(2000, 1, 1), count)
            judgements.append(found)
            if not found.rerun:
                break
            start = planned + 1 + count * self.criteria.rerun_blocks
            again = range(start, start + self.criteria.rerun_blocks)
            for place, series in enumerate(self._all):
                if series.case.id in found.rerun:
                    before, more = values[place], self._drawn(series, again, rng, common)
                    values[place] = replace(
                        before,
                        blocks=np.concatenate([before.blocks, more.blocks]),
                        values=np.concatenate([before.values, more.values]),
                    )
        return judgements

    @cached_property
    def _all(self) -> list[Values]:
        """Every value that the criteria ask for, as a good machine gives it but for its defects;
        one block each."""
        found, first = list[Values](), dict[str, Values]()
        for blank in planned_values(self.plan, selections_of(self.criteria.criteria)):
            key = f"{blank.case.id} {blank.metric}"
            place = [blank.at.get(name) for name in ("node", "peer")]
            known = first.setdefault(key, blank)
            is_first = place == [known.at.get(name) for name in ("node", "peer")]
            share = self.defects.get(blank.metric, 1.0) if is_first else 1.0
            share = share if self._more_is_better(blank.metric) else 1 / share
            found.append(replace(blank, values=np.array([self._good_level(blank) * share])))
        return found

    def _more_is_better(self, metric: str) -> bool:
        return self.plan.register.metrics[metric].better == "higher"

    def _good_level(self, values: Values) -> float:
        """Value of a good machine: the strictest limit kept by MARGIN."""
        levels = [
            c.at_least * MARGIN if c.at_least else (c.at_most or MARGIN) / MARGIN
            for c in self.criteria.criteria
            if isinstance(c, UnitCriterion)
            if (c.check, c.metric) == (values.case.check, values.metric)
        ]
        best = max if self._more_is_better(values.metric) else min
        return best(levels, default=1.0)

    def _drawn(
        self, series: Values, blocks: range, rng: np.random.Generator, common: Vector
    ) -> Values:
        scatter = np.exp(self.cv * rng.standard_normal(len(blocks)) + common[blocks])
        return replace(series, blocks=np.array(blocks), values=series.values[0] * scatter)


def machine_chances(machines: SimulatedMachines, count: int, first: int = 0) -> Chances:
    """Chances of the last criterion of so many simulated machines, from a seed on."""
    seeds = range(first, first + count)
    words = [machines.judged_to_the_end(seed).criteria[-1].effective for seed in seeds]
    return Chances(words.count("PASS") / count, words.count("FAIL") / count)
