# SPDX-License-Identifier: Apache-2.0
"""Each kind of criterion judged: a criterion and the evidence in, a judged criterion out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

import numpy as np

from records.criteria import (
    Criteria,
    Criterion,
    EfficiencyCriterion,
    LimitCriterion,
    RatioCriterion,
    Selection,
)
from records.run.plan import PlannedCase
from reports.notation.labels import CheckLabels, check_labels
from reports.verdicts.acceptance.bounds import Bounds, decide, median_bounds
from reports.verdicts.acceptance.kept_rows import telling_rows
from reports.verdicts.acceptance.model import Item, JudgedCriterion, LaunchKey, judged, limit_text
from reports.verdicts.acceptance.values import Evidence, Values

#: A rate over the nominal one beyond which the nominal one is wrong: a turbo clock gives less.
MOST_OF_NOMINAL = 2.0

#: (at_least, at_most)
Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class Context:
    """Context shared by all criterion judges."""

    criteria: Criteria
    evidence: Evidence

    @cached_property
    def labels(self) -> dict[str, CheckLabels]:
        """Short names of the cases of each check."""
        return check_labels(self.evidence.planned)

    @cached_property
    def _launches(self) -> dict[str, list[LaunchKey]]:
        """The launches of each case."""
        found: dict[str, list[LaunchKey]] = {}
        for key in self.evidence.launches:
            found.setdefault(key[0], []).append(key)
        return found

    def metric_title(self, name: str) -> str:
        """Readable name of a metric."""
        return self.evidence.register.metric_title(name)

    def lower_is_better(self, name: str) -> bool:
        """Whether less of a metric that the run has values of is better."""
        return self.evidence.register.metrics[name].better == "lower"

    def bounds(self, values: Sequence[float]) -> Bounds:
        """Bounds of the median as the criteria ask for them; of nothing, none."""
        return median_bounds(
            values or [0.0], self.criteria.confidence, self.criteria.least_launches
        )

    def point(self, values: Values, without: Sequence[str] = ()) -> str:
        """A value's case and point in words; "" where nothing tells them from others."""
        parts = self.labels[values.case.check].parts(values.case, without)
        parts += [f"{name} {value}" for name, value in values.at.items() if name not in without]
        return ", ".join(parts)

    def item(
        self,
        values: Values,
        numbers: Sequence[float],
        limits: Limits,
        *,
        unit: str = "1",
        bounds: Bounds | None = None,
        others: Sequence[Values] = (),
    ) -> Item:
        """A value judged by `numbers` in `unit`, one a launch, that `others` may enter too."""
        bounds = bounds or self.bounds(numbers)
        verdict, note = decide(bounds, *limits, self.criteria.least_launches)
        launches = [(v.case.id, int(block)) for v in (values, *others) for block in v.blocks]
        return Item(
            subject=self.point(values) or values.case.check,
            environment=values.case.environment,
            bounds=bounds,
            unit=unit,
            at_least=limits[0],
            at_most=limits[1],
            verdict=verdict,
            note=note,
            launches=tuple(dict.fromkeys(launches)),
            place=values.place,
            metric=values.metric,
            shares=tuple(numbers),
        )

    def share_item(
        self,
        values: Values,
        shares: Sequence[float],
        measured: Sequence[float],
        limits: Limits,
        others: Sequence[Values],
    ) -> Item:
        """A value judged by its shares of something, with the median of what was measured."""
        item = replace(
            self.item(values, shares, limits, others=others),
            measured=median(measured or [0.0]),
            measured_unit=self.evidence.register.metrics[values.metric].unit,
        )
        if shares:
            return item
        return replace(item, verdict="INCONCLUSIVE", note="no block has a value to compare with")

    def missing(
        self, criterion: Criterion, case: PlannedCase, subject: str, place: tuple[str, ...] = ()
    ) -> Item:
        """An item for what was planned to have a value and has none."""
        return Item(
            subject=subject,
            environment=case.environment,
            bounds=Bounds(0, 0.0, None, None, self.criteria.confidence, "none"),
            unit="1",
            at_least=None,
            at_most=None,
            verdict="INCONCLUSIVE",
            note=f"planned, but no launch has its {self.metric_title(criterion.metric)}",
            launches=tuple(self._launches.get(case.id, ())),
            place=place,
            metric=criterion.metric,
            state="missing",
            about="missing",
        )

    def absent(self, criterion: Criterion) -> list[Item]:
        """Items for planned cases of a criterion that have no value of its metric at all.

        A case that reports other metrics is left out when none with the same parameters has a
        value of this one: it does not measure it.
        """
        chosen = self.evidence.cases_of(criterion)
        have = {case.id for case in chosen}
        params = [case.params for case in chosen]
        others = {values.case.id for values in self.evidence.values} - have
        found = []
        for case in self.evidence.planned if chosen else ():
            asked = case.check == criterion.check and case.skipped is None
            asked = asked and criterion.environment in (None, case.environment)
            named = {k: v for k, v in criterion.where.items() if k in case.params}
            if not asked or case.id in have or any(case.params[k] != v for k, v in named.items()):
                continue
            if case.params.get("reply_before_wait"):
                continue  # wrong on purpose: it is never judged
            if case.id not in others or case.params in params:
                parts = self.labels[case.check].parts(case)
                found.append(self.missing(criterion, case, ", ".join(parts) or case.check))
        return found

    def judged(
        self,
        criterion: Criterion,
        statement: str,
        items: Sequence[Item],
        needs: str = "",
        further: int = 0,
    ) -> JudgedCriterion:
        """The criterion with its items, or why there is none; `needs` is what it would take.

        `further` counts good items that are not among them.
        """
        if items:
            return judged(criterion, statement, items, further=further)
        return judged(criterion, statement, (), self.lacking(criterion) + needs)

    def lacking(self, chosen: Selection) -> str:
        """Why a selection has no value: no case, none that can run, no ok launch."""
        cases = [case for case in self.evidence.planned if case.check == chosen.check]
        if not cases:
            return f"the campaign has no case of check {chosen.check}"
        skipped = [case.skipped for case in cases if case.skipped is not None]
        if len(skipped) == len(cases):
            return f"every case of check {chosen.check} is skipped: {skipped[0]}"
        counts = Counter(
            self.evidence.launches[key].status
            for case in cases
            if case.skipped is None
            for key in self._launches.get(case.id, ())
        )
        told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        return (
            f"no ok launch of {chosen.check} has {chosen.metric} as selected ({len(cases)} cases"
            f" planned, {len(skipped)} of them skipped; launches: {told or 'none'})"
        )


def judge_limit(criterion: LimitCriterion, context: Context) -> JudgedCriterion:
    """Every selected value against a limit in its own unit."""
    limits = criterion.at_least, criterion.at_most
    limit = limit_text(*limits, criterion.unit)
    chosen, further = _telling(criterion, context, limits)
    items = [
        context.item(values, values.values.tolist(), limits, unit=criterion.unit)
        for values in chosen
    ]
    items += context.absent(criterion)
    statement = f"{context.metric_title(criterion.metric)} {limit}"
    known = context.evidence.register.metrics.get(criterion.metric)
    bad = criterion.at_most if known and known.better == "lower" else criterion.at_least
    result = context.judged(criterion, statement, items, further=further)
    return replace(result, absolute=bad is not None and bad > 0)  # else any machine keeps to it


def _telling(
    criterion: LimitCriterion | EfficiencyCriterion, context: Context, limits: Limits
) -> tuple[list[Values], int]:
    """The values that get an item, and how many more there are: of very many pairs of a scan those
    that plainly pass are counted. Limits of an efficiency are shares of the nominal rate."""
    evidence, criteria = context.evidence, context.criteria
    chosen: list[Values] = []
    further = 0
    for environment in evidence.environments_of(criterion):
        chosen += evidence.inside(criterion, environment)
        for scan in evidence.scans_of(criterion, environment):
            values = scan.columns.values.astype(np.float64)
            if isinstance(criterion, EfficiencyCriterion):
                values /= evidence.nominal_rate(scan.row(0)) or 1.0
            rows = telling_rows(
                values,
                *limits,
                confidence=criteria.confidence,
                least_n=criteria.least_launches,
            ).tolist()
            chosen += [scan.row(row) for row in rows]
            further += len(values) - len(rows)
    return chosen, further


def judge_ratio(criterion: RatioCriterion, context: Context) -> JudgedCriterion:
    """Every selected value over the reference's value in the same block and environment."""
    limits = criterion.at_least, criterion.at_most
    reference = criterion.reference
    statement = (
        f"{context.metric_title(criterion.metric)} over {context.metric_title(reference.metric)} of"
        f" {reference.check} {limit_text(*limits, '1')}"
    )
    items = []
    for values in context.evidence.selected(criterion):
        found = context.evidence.select(reference, values.case.environment)
        if len(found) != 1:
            note = _not_one(reference, values, len(found), context)
            return judged(criterion, statement, (), note)
        items.append(_ratio_item(context, values, found[0].by_block(), limits, found))
    items += context.absent(criterion)
    return context.judged(criterion, statement, items)


def judge_efficiency(criterion: EfficiencyCriterion, context: Context) -> JudgedCriterion:
    """A rate over a peak: nominal, or the mean over nodes of a rank's DGEMM rate × ranks.

    A node's own rate does not depend on the message-passing library: it is that of the same
    environment, or of the only one that measured it.
    """
    evidence, reference = context.evidence, criterion.reference
    if criterion.peak == "nominal":
        return _judge_nominal(criterion, context)
    statement = (
        f"{context.metric_title(criterion.metric)} of {criterion.check} over measured DGEMM peak at"
        f" least {criterion.at_least:g}"
    )
    assert reference is not None
    items = []
    for values in evidence.selected(criterion):
        nodes = evidence.select(reference, values.case.environment) or evidence.select(reference)
        cases = {node.case.id for node in nodes}
        if len(cases) != 1:
            note = _not_one(reference, values, len(cases), context)
            return judged(criterion, statement, (), note)
        rates = _mean_rank_rates(nodes).items()
        peaks = {block: values.case.ranks * rate for block, rate in rates}
        items.append(_ratio_item(context, values, peaks, (criterion.at_least, None), nodes))
    items += context.absent(criterion)
    return context.judged(criterion, statement, items)


def _judge_nominal(criterion: EfficiencyCriterion, context: Context) -> JudgedCriterion:
    """A rate over the nominal one that the site states: an absolute limit."""
    chosen, further = _telling(criterion, context, (criterion.at_least, None))
    statement = (
        f"{context.metric_title(criterion.metric)} of {criterion.check} over nominal peak at least"
        f" {criterion.at_least:g}"
    )
    items = []
    for values in chosen:
        peak = context.evidence.nominal_rate(values)
        if peak is None:
            note = f"the site declares no {context.evidence.nominal_key(values)} in its site.yaml"
            result = judged(criterion, statement, (), note)
            return replace(result, absolute=True, lacks_rate=True)
        peaks = dict.fromkeys(values.by_block(), peak)
        item = _ratio_item(context, values, peaks, (criterion.at_least, None), ())
        if item.bounds.centre > MOST_OF_NOMINAL:
            wrong = f"the site declares a wrong {context.evidence.nominal_key(values)}"
            note = f"{item.bounds.centre:.3g} times the nominal rate: {wrong}"
            item = replace(item, verdict="INCONCLUSIVE", note=note, decidable=False)
        items.append(item)
    items += context.absent(criterion)
    return replace(context.judged(criterion, statement, items, further=further), absolute=True)


def _mean_rank_rates(nodes: Sequence[Values]) -> dict[int, float]:
    """The arithmetic mean over nodes of the rate of one rank, by block: times the ranks it is what
    all of them do at once."""
    case = nodes[0].case
    ranks_a_node = -(-case.ranks // max(case.nodes, 1))
    rates: dict[int, list[float]] = {}
    for node in nodes:
        for block, value in node.by_block().items():
            rates.setdefault(block, []).append(value / ranks_a_node)
    return {block: sum(row) / len(row) for block, row in rates.items()}


def _ratio_item(
    context: Context,
    values: Values,
    denominators: Mapping[int, float],
    limits: Limits,
    others: Sequence[Values],
) -> Item:
    """A value judged by its ratios, one a block; `others` are what the denominators come from."""
    by_block = values.by_block()
    ratios = [
        value / denominators[block]
        for block, value in by_block.items()
        if denominators.get(block, 0.0) > 0
    ]
    return context.share_item(values, ratios, list(by_block.values()), limits, others)


def _not_one(reference: Selection, values: Values, count: int, context: Context) -> str:
    why = f": {context.lacking(reference)}" if not count else ""
    return (
        f"the reference {reference.metric} of {reference.check} selects {count} values in"
        f" {values.case.environment}; it must select one{why}"
    )
