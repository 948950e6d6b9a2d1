# SPDX-License-Identifier: Apache-2.0
"""Risks of a contract, before anything runs: for each criterion the chance that a machine at the
limit passes (the buyer's), and that one at the promise does not (the vendor's).

Values against a limit are drawn as launches of log-normal scatter and judged by the bounds and the
re-runs of the criteria; shares of right answers and mean times by their exact distributions. Nodes,
links and spreads are compared within the machine itself: no risk of theirs is declared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, log
from typing import Any

import msgspec
import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from checks.common.registry import checks_with
from plugins.contract.forms import ContractRisk
from plugins.contract.judging import by_mix, share_bounds
from plugins.contract.loading import LoadedStage
from plugins.contract.model import Contract, Risks
from plugins.contract.stability.judge import period_risks
from records import criteria as kinds
from records.errors import AssayError
from records.run.plan import Plan, PlannedCase
from records.site.limits import Nominal, bound, is_beyond
from reports.answers import limit_text
from reports.notation.units import about, count_text, percent
from reports.statistics.bounds import level_of_look, row_bounds
from reports.statistics.descriptive import lag_1, widening
from reports.verdicts.acceptance.values import NOMINAL_KEYS, CriterionEvidence, LaunchRef, Values

#: Contracts drawn for a declared risk, and for each design that is looked at in search of one.
TRIALS, TRIALS_OF_SEARCH = 20_000, 2_000
#: What a limit in a metric's own unit, or of a peak, is exceeded by where no promise is given.
MARGIN = 1.1
#: The nodes of a greater plan whose values are counted: they are judged as those of all.
MOST_NODES = 16
#: Values of one criterion that are drawn one by one; of more, the risks follow from these.
MOST_VALUES = 16
#: Repeats and jobs that are looked at in search of what decides.
REPEATS = (*range(3, 13), 15, 18, 20, 25, 30, 40, 50, 60, 80, 100)
MOST_JOBS = 5_000


@dataclass(frozen=True)
class Chances:
    """Chances of a machine's outcome: it passes, it fails, else it stays open."""

    passed: float
    failed: float

    def of_all(self, count: float) -> Chances:
        """Chances of so many values, each of which must pass."""
        return Chances(self.passed**count, 1 - (1 - self.failed) ** count)


def chances(
    criteria: kinds.Criteria,
    repeats: int,
    log_margin: float,
    cv: float,
    *,
    values: int = 1,
    trials: int = TRIALS,
) -> Chances:
    """Chances of `values` values whose median is better than their limit by exp(`log_margin`),
    each launch of the coefficient of variation `cv`, judged after `repeats` launches and after each
    re-run until they pass or one fails. Seeded."""
    rng = np.random.default_rng([repeats, values, round(1e6 * cv)])
    drawn = min(values, MOST_VALUES)
    trials = max(trials // drawn, 1_000)
    more, looks = criteria.rerun_blocks, criteria.reruns_at_most + 1
    scatter = rng.standard_normal((trials, drawn, repeats + (looks - 1) * more))
    launches = np.exp(log_margin + np.sqrt(np.log1p(cv * cv)) * scatter)
    open_, passed, failed = np.arange(trials), 0, 0
    for look in range(looks):
        n = repeats + look * more
        level = level_of_look(criteria, repeats, n)
        rows = launches[open_, :, :n].reshape(-1, n)
        lags = lag_1(np.log(rows)).reshape(-1, drawn).mean(axis=1)
        wider, centre = np.repeat(widening(lags, n), drawn), np.median(rows, axis=1)
        low, high = (
            centre + wider * (end - centre)
            for end in row_bounds(rows, level, criteria.least_launches)
        )
        passes = (low >= 1).reshape(-1, drawn).all(axis=1)
        fails = (high < 1).reshape(-1, drawn).any(axis=1)
        passed, failed = passed + int(passes.sum()), failed + int(fails.sum())
        open_ = open_[~(passes | fails)]
    return Chances(passed / trials, failed / trials).of_all(values / drawn)


def share_chances(limit: float, n: int, share: float, confidence: float) -> Chances:
    """Chances of a share of right answers by its bounds, n launches with this chance each."""
    counts = np.arange(n + 1)
    weights = stats.binom.pmf(counts, n, share)
    found = [share_bounds(int(count), n, confidence) for count in counts]
    passes = np.array([(one.low or 0.0) >= limit for one in found])
    fails = np.array([(one.high or 0.0) < limit for one in found])
    return Chances(float(weights[passes].sum()), float(weights[fails].sum()))


def contract_risks(
    contract: Contract,
    stages: Sequence[tuple[LoadedStage, Plan]],
    rates: Nominal,
    nodes: int,
    seen: dict[tuple[str, str], tuple[float, str]],
) -> list[ContractRisk]:
    """The declared risks of the criteria. `seen`: the spread of a stage's criterion in an
    earlier run, and its words; others are assumed. Raises AssayError for a promise that no machine
    of this site can keep."""
    found = list[ContractRisk]()
    for given, plan in stages:
        loaded = replace(given, criteria=given.criteria.with_mixes_of(plan.mix_blocks))
        cases = [
            msgspec.structs.replace(
                case,
                nodes=min(case.nodes, MOST_NODES),
                ranks=case.ranks if case.nodes <= MOST_NODES else MOST_NODES * case.ranks_per_node,
            )
            for case in plan.cases
        ]
        smaller = msgspec.structs.replace(plan, cases=cases)
        for criterion in loaded.criteria.criteria:
            spread = seen.get((loaded.stage.name, criterion.id), (loaded.stage.spread, "assumed"))
            judged = _Judged(contract.risks, loaded, smaller, rates, *spread)
            if risk := judged.risk(criterion):
                found.append(risk)
    for stage in contract.stages:
        if stage.stability is not None:
            found += period_risks(contract.risks, stage.name, stage.stability, nodes)
    return found


def selections_of(criteria: Sequence[kinds.Criterion]) -> list[kinds.Selection]:
    """Selections that criteria judge, and the references that they judge them against."""
    references = (getattr(one, "reference", None) for one in criteria)
    return [*criteria, *(one for one in references if one is not None)]


def planned_values(plan: Plan, selections: Sequence[kinds.Selection]) -> Iterator[Values]:
    """Every value of a plan that these ask for, one block of 1 each."""
    metrics = dict.fromkeys((one.check, one.metric) for one in selections)
    for case in plan.cases:
        for check, metric in metrics if case.skipped is None else ():
            if check == case.check:
                asked = [one.where for one in selections if one.metric == metric]
                for at in _points(plan, case, asked):
                    yield Values(case, metric, at, np.ones(1, np.int64), np.ones(1))


def _points(
    plan: Plan, case: PlannedCase, asked: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The points of a case at which something is asked for: each node, or pair of nodes."""
    points = {*checks_with(plan.brought)[case.check].points}
    names = [f"n{number + 1}" for number in range(case.nodes)]
    places: list[dict[str, Any]] = [{}]
    if {"node", "peer"} <= points:
        places = [{"node": one, "peer": two} for one, two in combinations(names, 2)]
    elif "node" in points:
        places = [{"node": name} for name in names]
    further = [{k: v for k, v in where.items() if k in points} for where in asked] or [{}]
    for extra in {str(point): point for point in further}.values():
        yield from ({**place, **extra} for place in places)


def evidence_of(
    plan: Plan,
    rates: Nominal,
    values: Sequence[Values],
    throughputs: Mapping[int, float] | None = None,
) -> CriterionEvidence:
    """Evidence of a run of the plan that gave these values."""
    cases = [case for case in plan.cases if case.skipped is None]
    launches = {
        (case.id, block): LaunchRef("simulated", case.id, block, "ok", (), {})
        for case in cases
        for block in range(1, plan.blocks + 1)
    }
    names = tuple(f"n{n + 1}" for n in range(max((case.nodes for case in cases), default=0)))
    return CriterionEvidence(
        *([*values], launches, cases, plan.register, rates, names, plan.blocks + 1),
        mix_blocks=plan.mix_blocks,
        throughputs=throughputs or {},
    )


@dataclass(frozen=True)
class _Judged:
    """A stage's criteria on a plan, and the spread of a launch."""

    allowed: Risks
    loaded: LoadedStage
    plan: Plan
    rates: Nominal
    cv: float
    spread_from: str
    word: str = "launch"

    def risk(self, criterion: kinds.Criterion) -> ContractRisk | None:
        """The risks of a criterion, None of one without a limit of its own; one that judges nothing
        that is planned is named so."""
        if isinstance(criterion, kinds.SuccessCriterion):
            return self._success(criterion)
        planned = [*planned_values(self.plan, selections_of([criterion]))]
        values = evidence_of(self.plan, self.rates, planned).selected(criterion)
        if isinstance(criterion, kinds.UnitCriterion):
            self._refuse_beyond_peak(criterion, values)
        if isinstance(criterion, kinds.MixCriterion) and (values or not criterion.check):
            return self._by_mix()._limit(criterion, len({one.case.id for one in values}) or 1)
        if not values:
            ends = Chances(0.0, 0.0), Chances(0.0, 0.0)
            risk = self._made(criterion, limit="–", promise="–", chances=ends)
            risk.remedy = "it judges nothing that the stage runs here; see environment and where"
            return risk
        if isinstance(
            criterion, kinds.UnitCriterion | kinds.RatioCriterion | kinds.EfficiencyCriterion
        ):
            return self._limit(criterion, len(values))
        return None

    def _by_mix(self) -> _Judged:
        """Copy of this where a mix has one value."""
        size = self.plan.mix_blocks
        loaded = replace(self.loaded, criteria=by_mix(self.loaded.criteria, size))
        plan = msgspec.structs.replace(self.plan, blocks=self.plan.blocks // size)
        return replace(self, loaded=loaded, plan=plan, word="mix")

    def _limit(
        self,
        criterion: kinds.UnitCriterion | kinds.RatioCriterion | kinds.EfficiencyCriterion,
        count: int,
    ) -> ContractRisk:
        least, most = criterion.at_least, getattr(criterion, "at_most", None)
        limit = least if least is not None else (most or 1.0)
        promise, unit = criterion.promise, getattr(criterion, "unit", "1")
        margin = log(MARGIN) if not promise else abs(log(promise / limit))
        given = promise or limit * exp(margin if least is not None else -margin)
        criteria, n = self.loaded.criteria, self.plan.blocks
        better = chances(criteria, n, margin, self.cv, values=count)
        risk = self._made(
            criterion,
            limit=limit_text(least, most, unit),
            promise=limit_text(given, None, unit).removeprefix("at least ")
            + ("" if promise else ", assumed"),
            chances=(chances(criteria, n, 0.0, self.cv), better),
        )
        if not risk.decided:
            risk.remedy = self._repeats(margin, count)
        return risk

    def _repeats(self, margin: float, count: int) -> str:
        """Number of repeats that keep both risks."""
        criteria = self.loaded.criteria

        def decides(n: int) -> bool:
            few = {"trials": TRIALS_OF_SEARCH}
            vendor = 1 - chances(criteria, n, margin, self.cv, values=count, **few).passed
            return self.allowed.allow(chances(criteria, n, 0.0, self.cv, **few).passed, vendor)

        enough = next((n for n in REPEATS if n > self.plan.blocks and decides(n)), None)
        if enough is None:
            return (
                f"no number of repeats up to {REPEATS[-1]} decides: the promise is"
                f" {percent(margin)} from the limit, and a launch scatters by {percent(self.cv)}"
            )
        what = "repeats" if self.word == "launch" else "mixes"
        return f"{enough} {what} decide, {self.plan.blocks} do not"

    def _success(self, criterion: kinds.SuccessCriterion) -> ContractRisk:
        cases = [case for case in self.plan.cases if case.skipped is None]
        counts = Counter(
            case.environment
            for case in cases
            if case.check == criterion.check and criterion.environment in (None, case.environment)
        )
        n = min(counts.values(), default=0) * self.plan.blocks or 1
        limit = criterion.at_least
        share = criterion.promise or 1 - (1 - limit) / 5
        level = self.loaded.criteria.confidence
        risk = self._made(
            criterion,
            limit=limit_text(limit, None, "1"),
            promise=percent(share, 2) + ("" if criterion.promise else ", assumed"),
            chances=tuple(share_chances(limit, n, at, level) for at in (limit, share)),
            repeats=count_text(n, "launch"),
            spread=False,
        )
        if not risk.decided:
            risk.remedy = _jobs(limit, share, level, self.allowed, n)
        return risk

    def _made(
        self,
        criterion: kinds.Criterion,
        *,
        chances: tuple[Chances, ...],
        repeats: str = "",
        spread: bool = True,
        **words: Any,
    ) -> ContractRisk:
        """The risk of which a machine at the limit and one at the promise come out so."""
        buyer, vendor = chances[0].passed, 1 - chances[1].passed
        criteria = self.loaded.criteria
        again = f" + {criteria.rerun_blocks} up to {count_text(criteria.reruns_at_most, 'time')}"
        fixed = count_text(self.plan.blocks, self.word)
        return ContractRisk(
            stage=self.loaded.stage.name,
            criterion=criterion.id,
            title=criterion.title,
            repeats=repeats or f"{fixed}{again if criteria.reruns_at_most else ''}",
            spread=self.cv if spread else None,
            spread_from=self.spread_from if spread else "",
            buyer=buyer,
            vendor=vendor,
            refused=chances[1].failed,
            decided=self.allowed.allow(buyer, vendor),
            remedy="",
            **words,
        )

    def _refuse_beyond_peak(self, criterion: kinds.UnitCriterion, values: Sequence[Values]) -> None:
        """Raise AssayError where limit or promise are better than what bounds the metric here."""
        for one in values:
            metric = self.plan.register.metrics[criterion.metric]
            least = criterion.at_least if metric.better == "higher" else criterion.at_most
            case = one.case
            ranks = case.ranks_per_node * len(one.place) or case.ranks
            layout = ranks, case.ranks_per_node, self.rates
            most = bound(metric, one.at, *layout, cpus_per_task=case.cpus_per_task)
            beyond = [
                x for x in (least, criterion.promise) if x and most and is_beyond(metric, x, most)
            ]
            if most and beyond:
                key = NOMINAL_KEYS[metric.limit.removesuffix("s")]
                raise AssayError(
                    f"stage {self.loaded.stage.name}, criterion {criterion.id}: asks for"
                    f" {about(beyond[0], criterion.unit)}, beyond the {about(most, criterion.unit)}"
                    f" that site {self.plan.site} can give at best ({key}); correct the criterion,"
                    " or site.yaml"
                )


def _jobs(limit: float, share: float, level: float, allowed: Risks, n: int) -> str:
    """Number of launches that keep both risks, and number that it takes for any PASS."""
    least = next((k for k in range(1, MOST_JOBS) if limit**k <= 1 - level + 1e-12), MOST_JOBS)
    step = max(1, least // 10)
    for count in range(least, MOST_JOBS, step):
        ends = [share_chances(limit, count, at, level) for at in (limit, share)]
        if allowed.allow(ends[0].passed, 1 - ends[1].passed):
            enough = f"{count} launches decide"
            break
    else:
        enough = f"no number of launches up to {MOST_JOBS} decides"
    never = f", and below {least} nothing passes even without a failure" if n < least else ""
    return f"{enough}, {n} do not{never}"
