# SPDX-License-Identifier: Apache-2.0
"""Risks of a contract, before anything runs: for each criterion the chance that a machine at the
limit passes (the buyer's), and that one at the promise does not (the vendor's).

Values against a limit are drawn as launches of log-normal scatter and judged by the bounds and the
re-runs of the criteria; nodes, links and spreads by whole simulated machines; shares of right
answers and mean times by their exact distributions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import msgspec
import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from plugins.contract.forms import ContractRisk
from plugins.contract.loading import LoadedStage
from plugins.contract.machines import MARGIN, SimulatedMachines, at_most_nodes
from plugins.contract.model import Contract, Risks, Stability
from plugins.contract.period import period_id
from plugins.contract.reliability import Demonstration, availability_pass_chance
from records.criteria import (
    Criteria,
    Criterion,
    EfficiencyCriterion,
    LinksCriterion,
    MixCriterion,
    NodesCriterion,
    RatioCriterion,
    SpreadCriterion,
    SuccessCriterion,
    UnitCriterion,
)
from records.errors import AssayError
from records.run.plan import Plan
from records.site.limits import Nominal, bound, is_beyond
from reports.answers import limit_text
from reports.notation.units import about, count_text, percent
from reports.statistics.bounds import level_of_look, row_bounds, share_bounds
from reports.statistics.descriptive import clopper_pearson, lag_1, widening
from reports.verdicts.acceptance.values import NOMINAL_KEYS, Values

#: Contracts drawn for a declared risk, and for each design that is looked at in search of one.
TRIALS, TRIALS_OF_SEARCH = 20_000, 2_000
#: Machines drawn for a criterion on nodes, links or a spread; the most where fewer leave a risk
#: uncertain by more than a point.
MACHINES, POINT = (200, 800, 2000), 0.01
#: How much farther from the others than its limit a node or pair is, that is surely found.
FARTHER = 1.5
#: Values of one criterion that are drawn one by one; of more, the risks follow from these.
MOST_VALUES = 16
#: Repeats and jobs that are looked at in search of what decides.
REPEATS = (*range(3, 13), 15, 18, 20, 25, 30, 40, 50, 60, 80, 100)
MOST_JOBS = 5_000
#: Node hours that an outage is assumed to cost.
OUTAGE_NODE_H = 8.0


@dataclass(frozen=True)
class Chances:
    """Chances of a machine's outcome: it passes, it fails, else it stays open."""

    passed: float
    failed: float

    def of_all(self, count: float) -> Chances:
        """Chances of so many values, each of which must pass."""
        return Chances(self.passed**count, 1 - (1 - self.failed) ** count)


def chances(
    criteria: Criteria,
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
    """The declared risks of every criterion. `seen`: the spread of a stage's criterion in an
    earlier run, and its words; others are assumed. Raises AssayError for a promise that no machine
    of this site can keep."""
    found = list[ContractRisk]()
    for given, plan in stages:
        loaded = replace(given, criteria=given.criteria.with_mixes_of(plan.mix_blocks))
        for criterion in loaded.criteria.criteria:
            spread = seen.get((loaded.stage.name, criterion.id), (loaded.stage.spread, "assumed"))
            judged = _Judged(contract.risks, loaded, at_most_nodes(plan), rates, *spread)
            found.append(judged.risk(criterion))
    for stage in contract.stages:
        if stage.stability is not None:
            found += _stability(contract.risks, stage.name, stage.stability, nodes)
    return found


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

    def risk(self, criterion: Criterion) -> ContractRisk:
        """The risks of a criterion; one that judges nothing that is planned is named so."""
        if isinstance(criterion, SuccessCriterion):
            return self._success(criterion)
        alone = self.loaded.criteria.model_copy(update={"criteria": [criterion], "waivers": []})
        machines = SimulatedMachines(self.plan, alone, self.rates, self.cv, {})
        values = machines.of(criterion)
        if isinstance(criterion, UnitCriterion):
            self._refuse_beyond_peak(criterion, values)
        if isinstance(criterion, MixCriterion) and (values or not criterion.check):
            return self._by_mix()._limit(criterion, len({one.case.id for one in values}) or 1)
        if not values:
            ends = Chances(0.0, 0.0), Chances(0.0, 0.0)
            risk = self._made(criterion, limit="–", promise="–", chances=ends)
            risk.remedy = "it judges nothing that the stage runs here; see environment and where"
            return risk
        if isinstance(criterion, UnitCriterion | RatioCriterion | EfficiencyCriterion):
            return self._limit(criterion, len(values))
        return self._machines(criterion, machines)

    def _by_mix(self) -> _Judged:
        """Copy of this where a mix has one value."""
        size = self.plan.mix_blocks
        loaded = replace(self.loaded, criteria=self.loaded.criteria.by_mix(size))
        plan = msgspec.structs.replace(self.plan, blocks=self.plan.blocks // size)
        return replace(self, loaded=loaded, plan=plan, word="mix")

    def _limit(
        self, criterion: UnitCriterion | RatioCriterion | EfficiencyCriterion, count: int
    ) -> ContractRisk:
        least = criterion.at_least
        most = None if isinstance(criterion, EfficiencyCriterion) else criterion.at_most
        limit = least if least is not None else (most or 1.0)
        promise = criterion.promise
        margin = log(MARGIN) if not promise else abs(log(promise / limit))
        unit = criterion.unit if isinstance(criterion, UnitCriterion) else "1"
        given = (
            limit * exp(margin if least is not None else -margin) if promise is None else promise
        )
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
            return _decides(self.allowed, chances(criteria, n, 0.0, self.cv, **few).passed, vendor)

        enough = next((n for n in REPEATS if n > self.plan.blocks and decides(n)), None)
        if enough is None:
            return (
                f"no number of repeats up to {REPEATS[-1]} decides: the promise is"
                f" {percent(margin)} from the limit, and a launch scatters by {percent(self.cv)}"
            )
        what = "repeats" if self.word == "launch" else "mixes"
        return f"{enough} {what} decide, {self.plan.blocks} do not"

    def _machines(self, criterion: Criterion, good: SimulatedMachines) -> ContractRisk:
        """The risks of a criterion on nodes, links or a spread: one just at its limit."""
        bad, limit = good, ""
        if isinstance(criterion, NodesCriterion):
            limit = f"a node short by {percent(criterion.within)}"
            bad = replace(good, defects={criterion.metric: 1 - criterion.within})
        elif isinstance(criterion, LinksCriterion):
            share = criterion.at_least or 1 / (criterion.at_most or 1.0)
            limit = f"a pair, {limit_text(criterion.at_least, criterion.at_most, '1')}"
            bad = replace(good, defects={criterion.metric: share})
        elif isinstance(criterion, SpreadCriterion):
            limit = f"a spread of {percent(criterion.cv_at_most)}"
            bad = replace(good, cv=criterion.cv_at_most)
        far = replace(
            bad,
            cv=good.cv + FARTHER * (bad.cv - good.cv),
            defects={name: max(0.05, 1 - FARTHER * (1 - v)) for name, v in bad.defects.items()},
        )
        ends = [_to_a_point(machine) for machine in (bad, good)]
        risk = self._made(criterion, limit=limit, promise="all alike", chances=(ends[0], ends[1]))
        if not risk.decided:
            passed = percent(machine_chances(far, MACHINES[0]).passed, 0)
            risk.remedy = f"{FARTHER:g} times as far from good it passes in {passed}"
        return risk

    def _success(self, criterion: SuccessCriterion) -> ContractRisk:
        cases = [case for case in self.plan.cases if case.skipped is None]
        counts: dict[str, int] = {}
        for case in cases:
            if case.check == criterion.check and criterion.environment in (None, case.environment):
                counts[case.environment] = counts.get(case.environment, 0) + self.plan.blocks
        n, limit = min(counts.values(), default=0) or 1, criterion.at_least
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
        criterion: Criterion,
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
            decided=_decides(self.allowed, buyer, vendor),
            remedy="",
            **words,
        )

    def _refuse_beyond_peak(self, criterion: UnitCriterion, values: Sequence[Values]) -> None:
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


def _stability(allowed: Risks, stage: str, period: Stability, nodes: int) -> Iterator[ContractRisk]:
    """The risks of a period's promises."""
    for name, hours in (("MTBI", period.mtbi_h), ("job MTTI", period.mtti_h)):
        if hours is not None:
            test = Demonstration.of(period.days * 86400, hours * 3600)
            ends = (test.buyers_risk, test.vendors_risk(period.better)) if test.decides else (0, 1)
            words = f"at least {hours:g} h", f"{period.better * hours:g} h"
            decided = test.decides and ends[1] <= allowed.vendor
            why = "" if decided else test.sentence.rstrip(".")
            yield _of_period(stage, period, name, words=words, ends=ends, why=why)
    if period.availability is not None:
        total, limit = nodes * period.days * 24, period.availability
        passes = [
            availability_pass_chance(limit, total, OUTAGE_NODE_H, k) for k in (1.0, period.better)
        ]
        ends = passes[0], 1 - passes[1]
        words = f"at least {percent(limit, 2)}", percent(1 - (1 - limit) / period.better, 2)
        why = (
            f"outages are assumed to cost {OUTAGE_NODE_H:g} node hours each; a longer period"
            " decides more"
        )
        decided = _decides(allowed, *ends)
        yield _of_period(
            stage, period, "availability", words=words, ends=ends, why="" if decided else why
        )


def _of_period(
    stage: str,
    period: Stability,
    name: str,
    *,
    words: tuple[str, str],
    ends: tuple[float, float],
    why: str,
) -> ContractRisk:
    """The risk of a promise of a period: `words` are its limit and the promise, `ends` both
    parties' risks, `why` says what leaves it open."""
    return ContractRisk(
        stage=stage,
        criterion=period_id(name),
        title=f"{name} of the period",
        limit=words[0],
        promise=words[1],
        repeats=f"{period.days:g} days",
        spread=None,
        spread_from="",
        buyer=ends[0],
        vendor=ends[1],
        refused=0.0,
        decided=not why,
        remedy=why,
    )


def _decides(allowed: Risks, buyer: float, vendor: float) -> bool:
    return buyer <= allowed.buyer + 1e-9 and vendor <= allowed.vendor + 1e-9


def _jobs(limit: float, share: float, level: float, allowed: Risks, n: int) -> str:
    """Number of launches that keep both risks, and number that it takes for any PASS."""
    least = next((k for k in range(1, MOST_JOBS) if limit**k <= 1 - level + 1e-12), MOST_JOBS)
    step = max(1, least // 10)
    for count in range(least, MOST_JOBS, step):
        ends = [share_chances(limit, count, at, level) for at in (limit, share)]
        if _decides(allowed, ends[0].passed, 1 - ends[1].passed):
            enough = f"{count} launches decide"
            break
    else:
        enough = f"no number of launches up to {MOST_JOBS} decides"
    never = f", and below {least} nothing passes even without a failure" if n < least else ""
    return f"{enough}, {n} do not{never}"


def machine_chances(machines: SimulatedMachines, count: int, first: int = 0) -> Chances:
    """Chances of the last criterion of so many simulated machines, from a seed on."""
    seeds = range(first, first + count)
    words = [machines.judged_to_the_end(seed).criteria[-1].effective for seed in seeds]
    return Chances(words.count("PASS") / count, words.count("FAIL") / count)


def _to_a_point(machines: SimulatedMachines) -> Chances:
    """The chances of the last criterion, by as many machines as give the share that passes with a
    95 % interval of ± POINT."""
    before, found = 0, Chances(0.0, 0.0)
    for count in MACHINES:
        more = machine_chances(machines, count - before, before)
        old, new = before / count, 1 - before / count
        found = Chances(
            old * found.passed + new * more.passed, old * found.failed + new * more.failed
        )
        interval = clopper_pearson(round(found.passed * count), count)
        if interval.high - interval.low <= 2 * POINT:
            break
        before = count
    return found
