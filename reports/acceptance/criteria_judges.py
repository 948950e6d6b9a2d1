# SPDX-License-Identifier: Apache-2.0
"""Each kind of criterion judged: a criterion and the evidence in, a judged criterion out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from records.criteria import (
    Criteria,
    EfficiencyCriterion,
    LimitCriterion,
    RatioCriterion,
    Selection,
    SpreadCriterion,
)
from reports.acceptance.bounds import Bounds, decide, median_bounds, spread_bounds
from reports.acceptance.model import Item, JudgedCriterion, LaunchKey, empty, limit_text
from reports.acceptance.values import Evidence, Values, environments_of
from reports.notation.labels import CheckLabels, check_labels


@dataclass(frozen=True)
class Context:
    """Context shared by all criterion judges."""

    criteria: Criteria
    evidence: Evidence

    @cached_property
    def labels(self) -> dict[str, CheckLabels]:
        """Short names of the cases of each check."""
        return check_labels(self.evidence.planned)

    def subject(self, values: Values, without: Sequence[str] = ()) -> str:
        """A value's place in words: its case's varying parameters and its point."""
        return self.point(values, without) or values.case.check

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
        """The same, "" where nothing tells it from others."""
        parts = self.labels[values.case.check].parts(values.case, without)
        parts += [f"{name} {value}" for name, value in values.at.items() if name not in without]
        return ", ".join(parts)


def keys_of(*parts: Values) -> tuple[LaunchKey, ...]:
    """The launches behind these values."""
    return tuple(dict.fromkeys((v.case.id, int(b)) for v in parts for b in v.blocks))


def judge_limit(criterion: LimitCriterion, context: Context) -> JudgedCriterion:
    """Every selected value against a limit in its own unit."""
    limit = limit_text(criterion.at_least, criterion.at_most, criterion.unit)
    statement = f"{context.metric_title(criterion.metric)} {limit}"
    items = [_limit_item(criterion, values, context) for values in _selected(criterion, context)]
    return judged(criterion, statement, items, context)


def _limit_item(criterion: LimitCriterion, values: Values, context: Context) -> Item:
    bounds = context.bounds(values.values.tolist())
    verdict, note = decide(
        bounds, criterion.at_least, criterion.at_most, context.criteria.least_launches
    )
    return Item(
        subject=context.subject(values),
        environment=values.case.environment,
        bounds=bounds,
        unit=criterion.unit,
        at_least=criterion.at_least,
        at_most=criterion.at_most,
        verdict=verdict,
        note=note,
        launches=keys_of(values),
        place=_place(values),
        metric=values.metric,
        shares=tuple(values.values.tolist()),
    )


def _place(values: Values) -> tuple[str, ...]:
    return tuple(str(values.at[name]) for name in ("node", "peer") if name in values.at)


def judge_spread(criterion: SpreadCriterion, context: Context) -> JudgedCriterion:
    """The coefficient of variation of every selected value's launches."""
    statement = (
        f"{context.metric_title(criterion.metric)}: coefficient of variation over the launches"
        f" at most {criterion.cv_at_most:g}"
    )
    items = []
    for values in _selected(criterion, context):
        least_n = context.criteria.least_launches
        bounds = spread_bounds(values.values.tolist(), context.criteria.confidence, least_n)
        verdict, note = decide(bounds, None, criterion.cv_at_most, context.criteria.least_launches)
        items.append(
            Item(
                subject=context.subject(values),
                environment=values.case.environment,
                bounds=bounds,
                unit="1",
                at_least=None,
                at_most=criterion.cv_at_most,
                verdict=verdict,
                note=note,
                launches=keys_of(values),
                place=_place(values),
                metric=values.metric,
            )
        )
    return judged(criterion, statement, items, context)


def judge_ratio(criterion: RatioCriterion, context: Context) -> JudgedCriterion:
    """Every selected value over the reference's value in the same block and environment."""
    limit = limit_text(criterion.at_least, criterion.at_most, "1")
    reference = criterion.reference
    statement = (
        f"{context.metric_title(criterion.metric)} over {context.metric_title(reference.metric)} of"
        f" {reference.check} {limit}"
    )
    items = []
    for values in _selected(criterion, context):
        found = context.evidence.select(reference, values.case.environment)
        if len(found) != 1:
            return empty(criterion, statement, _not_one(reference, values, len(found)))
        denominators = found[0].by_block()
        ratios = {
            block: value / denominators[block]
            for block, value in values.by_block().items()
            if denominators.get(block, 0.0) > 0
        }
        items.append(
            ratio_item(
                context,
                values,
                ratios,
                at_least=criterion.at_least,
                at_most=criterion.at_most,
                launches=keys_of(values, found[0]),
            )
        )
    return judged(criterion, statement, items, context)


def _not_one(reference: Selection, values: Values, count: int) -> str:
    return (
        f"the reference {reference.metric} of {reference.check} selects {count} values in"
        f" {values.case.environment}; it must select one"
    )


def ratio_item(
    context: Context,
    values: Values,
    ratios: dict[int, float],
    *,
    at_least: float | None,
    launches: tuple[LaunchKey, ...],
    at_most: float | None = None,
) -> Item:
    """A value judged by ratios, one a block."""
    numbers = list(ratios.values())
    bounds = context.bounds(numbers)
    verdict, note = decide(bounds, at_least, at_most, context.criteria.least_launches)
    if not numbers:
        verdict, note = "INCONCLUSIVE", "no block has both values"
    return Item(
        subject=context.subject(values),
        environment=values.case.environment,
        bounds=bounds,
        unit="1",
        at_least=at_least,
        at_most=at_most,
        verdict=verdict,
        note=note,
        launches=launches,
        place=_place(values),
        metric=values.metric,
        measured=context.bounds(values.values.tolist()).centre,
        measured_unit=context.evidence.register.metrics[values.metric].unit,
        shares=tuple(numbers),
    )


def judge_efficiency(criterion: EfficiencyCriterion, context: Context) -> JudgedCriterion:
    """A rate over the peak of its ranks."""
    peak = "measured DGEMM" if criterion.peak == "measured" else "nominal"
    statement = (
        f"{context.metric_title(criterion.metric)} of {criterion.check} over {peak} peak at least"
        f" {criterion.at_least:g}"
    )
    if criterion.peak == "nominal":
        return _nominal(criterion, statement, context)
    reference = criterion.reference
    assert reference is not None
    items = []
    for values in _selected(criterion, context):
        nodes = _reference_nodes(reference, values.case.environment, context)
        cases = {item.case.id for item in nodes}
        if len(cases) != 1:
            return empty(criterion, statement, _not_one(reference, values, len(cases)))
        rank_rates = _mean_rank_rates(nodes)
        ratios = {
            block: value / (values.case.ranks * rank_rates[block])
            for block, value in values.by_block().items()
            if rank_rates.get(block, 0.0) > 0
        }
        keys = keys_of(values, *nodes)
        items.append(
            ratio_item(context, values, ratios, at_least=criterion.at_least, launches=keys)
        )
    return judged(criterion, statement, items, context)


def _reference_nodes(reference: Selection, environment: str, context: Context) -> list[Values]:
    """The reference in the same environment, or in the only one that has it.

    A node's own rate does not depend on the message-passing library.
    """
    return context.evidence.select(reference, environment) or context.evidence.select(reference)


def _mean_rank_rates(nodes: Sequence[Values]) -> dict[int, float]:
    """The mean over nodes of the rate of one rank, by block."""
    case = nodes[0].case
    ranks_a_node = -(-case.ranks // max(case.nodes, 1))
    sums: dict[int, list[float]] = {}
    for node in nodes:
        for block, value in node.by_block().items():
            sums.setdefault(block, []).append(value / ranks_a_node)
    return {block: sum(rates) / len(rates) for block, rates in sums.items()}


def _nominal(criterion: EfficiencyCriterion, statement: str, context: Context) -> JudgedCriterion:
    peak = context.evidence.core_peak_flop_per_s
    if peak is None:
        note = "the site declares no core_peak_flop_per_s in its site.yaml"
        return empty(criterion, statement, note)
    items = [
        ratio_item(
            context,
            values,
            {b: value / (values.case.ranks * peak) for b, value in values.by_block().items()},
            at_least=criterion.at_least,
            launches=keys_of(values),
        )
        for values in _selected(criterion, context)
    ]
    return judged(criterion, statement, items, context)


def _selected(
    criterion: LimitCriterion | RatioCriterion | SpreadCriterion | EfficiencyCriterion,
    context: Context,
) -> Iterator[Values]:
    for environment in environments_of(criterion, context.evidence):
        yield from context.evidence.select(criterion, environment)


def judged(
    criterion: LimitCriterion | RatioCriterion | SpreadCriterion | EfficiencyCriterion,
    statement: str,
    items: Sequence[Item],
    context: Context,
) -> JudgedCriterion:
    """The criterion with its items; INCONCLUSIVE when nothing was selected."""
    if not items:
        return empty(criterion, statement, nothing_found(criterion, context))
    return JudgedCriterion(criterion.id, criterion.kind, criterion.title, statement, tuple(items))


def nothing_found(chosen: Selection, context: Context) -> str:
    """Why a selection is empty."""
    cases = [case for case in context.evidence.planned if case.check == chosen.check]
    if not cases:
        return f"the campaign has no case of check {chosen.check}"
    skipped = sum(case.skipped is not None for case in cases)
    return (
        f"no ok launch of {chosen.check} has {chosen.metric} as selected ({len(cases)} cases"
        f" planned, {skipped} of them skipped)"
    )
