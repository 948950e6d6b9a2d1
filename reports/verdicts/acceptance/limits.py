# SPDX-License-Identifier: Apache-2.0
"""Answers, limits, ratios and efficiencies judged: each value by bounds of its own."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median

import numpy as np
from msgspec.structs import replace

from records import criteria
from records.run.plan import PlannedCase
from reports.answers import limit_text
from reports.judgement import Item, JudgedCriterion, LaunchKey, verdict_of
from reports.notation.units import as_stated, count_text, significant
from reports.statistics import bounds
from reports.statistics.levels import row_medians
from reports.verdicts.acceptance.context import NOT_COUNTED, Context, ShownItems, judged, shown
from reports.verdicts.acceptance.values import Rows, Values

#: A rate over the nominal one beyond which the nominal one is wrong: a turbo clock gives less.
MOST_OF_NOMINAL = 2.0


def _shown_rows(
    rows: Rows,
    limits: bounds.Limits,
    context: Context,
    make: Callable[[int], Item],
    *,
    most: float = np.inf,
) -> ShownItems:
    """Items of rows; above `most` no value is good."""
    least, matrix = context.criteria.least_launches, rows.matrix
    counts = np.isfinite(matrix).sum(axis=1)
    ends = np.full((2, len(matrix)), np.nan)
    for n in np.unique(counts[counts >= least]).tolist():
        alike = counts == n
        ends[:, alike] = bounds.row_bounds(matrix[alike], context.level(n), least)
    medians = row_medians(matrix)
    plain = bounds.decided(ends, limits)[0] & (medians <= most) & bool(rows.values(0).place)
    return shown(make, plain, medians, limits)


def judge_limit(criterion: criteria.LimitCriterion, context: Context) -> JudgedCriterion:
    """Every selected value against a limit in its own unit."""
    limits = criterion.at_least, criterion.at_most

    def item(rows: Rows, row: int) -> Item:
        values = rows.values(row)
        return context.value_item(values, values.values.tolist(), limits, unit=criterion.unit)

    parts = (
        _shown_rows(rows, limits, context, partial(item, rows))
        for rows in context.evidence.rows(criterion)
    )
    statement = f"{context.metric_title(criterion.metric)} {limit_text(*limits, criterion.unit)}"
    absolute = is_absolute(criterion, context)
    return context.judged(criterion, statement, parts, absolute=absolute)


def is_absolute(criterion: criteria.UnitCriterion, context: Context) -> bool:
    """True unless every machine keeps to the limit."""
    known = context.evidence.register.metrics.get(criterion.metric)
    bad = criterion.at_most if known and known.better == "lower" else criterion.at_least
    return bad is not None and bad > 0


def judge_ratio(
    criterion: criteria.RatioCriterion | criteria.EfficiencyCriterion, context: Context
) -> JudgedCriterion:
    """Every selected value over that of a reference in the same block: a value of the environment,
    or the peak of its ranks, that is their number × a rank's mean DGEMM rate over the nodes.

    A node's own rate does not depend on the message-passing library: it is that of the same
    environment, or of the only one that measured it.
    """
    evidence, title, reference = context.evidence, context.metric_title, criterion.reference
    assert reference is not None
    limits: bounds.Limits = (criterion.at_least, None)
    if isinstance(criterion, criteria.RatioCriterion):
        limits = (criterion.at_least, criterion.at_most)
        other = f"{title(reference.metric)} of {reference.check} {limit_text(*limits, '1')}"
        statement = f"{title(criterion.metric)} over {other}"
    else:
        statement = _efficiency(criterion, context, "measured DGEMM peak")
    parts = []
    for rows in evidence.rows(criterion):
        case = rows.values(0).case
        below = evidence.select(reference, case.environment)
        if isinstance(criterion, criteria.EfficiencyCriterion):
            below = below or evidence.select(reference)
            count = len({node.case.id for node in below})
        else:
            count = len(below)
        if count != 1:
            why = f": {context.lacking(reference)}" if not count else ""
            note = (
                f"the reference {reference.metric} of {reference.check} selects {count} values in"
                f" {case.environment}; it must select one{why}"
            )
            return judged(criterion, statement, (), note)
        denominators = below[0].by_block()
        if isinstance(criterion, criteria.EfficiencyCriterion):
            denominators = {block: case.ranks * r for block, r in _rank_rates(below).items()}
        parts.append(_ratios(rows, denominators, limits, context, others=below))
    return context.judged(criterion, statement, parts)


def judge_efficiency(criterion: criteria.EfficiencyCriterion, context: Context) -> JudgedCriterion:
    """A rate over a measured peak, or over the nominal one that the site states: the latter is an
    absolute limit."""
    if criterion.peak == "measured":
        return judge_ratio(criterion, context)
    evidence, limits = context.evidence, (criterion.at_least, None)
    statement = _efficiency(criterion, context, "nominal peak")
    parts = []
    for rows in evidence.rows(criterion):
        peak, stated = evidence.nominal_rate(rows.values(0))
        if peak is None:
            note = f"the site declares no {stated} in its site.yaml"
            return judged(criterion, statement, (), note, absolute=True, lacks_rate=True)
        peaks = dict.fromkeys(rows.blocks.tolist(), peak)
        parts.append(_ratios(rows, peaks, limits, context, stated=stated))
    return context.judged(criterion, statement, parts, absolute=True)


def _ratios(
    rows: Rows,
    denominators: Mapping[int, float],
    limits: bounds.Limits,
    context: Context,
    *,
    others: Sequence[Values] = (),
    stated: str = "",
) -> ShownItems:
    """Values judged by their ratios, one a block; `others` gave the denominators, or the key of
    site.yaml that is `stated` did."""
    below = np.array([denominators.get(block, 0.0) for block in rows.blocks.tolist()])
    matrix = rows.matrix / np.where(below > 0, below, np.nan)

    def item(row: int) -> Item:
        values = rows.values(row)
        ratios = matrix[row][np.isfinite(matrix[row])].tolist()
        unit = context.evidence.register.metrics[values.metric].unit
        measured = median(values.values.tolist() or [0.0])
        more = {"others": others, "measured": measured, "measured_unit": unit}
        judged_item = context.value_item(values, ratios, limits, **more)
        if not ratios:
            note = "no block has a value to compare with"
            return replace(judged_item, verdict="INCONCLUSIVE", note=note)
        if stated and judged_item.centre > MOST_OF_NOMINAL:
            wrong = f"the site declares a wrong {stated}"
            note = f"{significant(judged_item.centre)} times the nominal rate: {wrong}"
            return replace(judged_item, verdict="INCONCLUSIVE", note=note, decidable=False)
        return judged_item

    most = MOST_OF_NOMINAL if stated else np.inf
    return _shown_rows(dataclasses.replace(rows, matrix=matrix), limits, context, item, most=most)


def _efficiency(criterion: criteria.EfficiencyCriterion, context: Context, peak: str) -> str:
    title = context.metric_title(criterion.metric)
    return f"{title} of {criterion.check} over {peak} at least {as_stated(criterion.at_least)}"


def _rank_rates(nodes: Sequence[Values]) -> dict[int, float]:
    """The arithmetic mean over nodes of the rate of one rank, by block: times the ranks it is what
    all of them do at once."""
    case = nodes[0].case
    ranks_a_node = -(-case.ranks // max(case.nodes, 1))
    rates: dict[int, list[float]] = {}
    for node in nodes:
        for block, value in node.by_block().items():
            rates.setdefault(block, []).append(value / ranks_a_node)
    return {block: sum(row) / len(row) for block, row in rates.items()}


def judge_answers(context: Context) -> JudgedCriterion:
    """Every launch gave the right answer: one item for each check and environment of the run.

    Counts have no interval. FAIL: a wrong answer, or more launches without an answer than the
    criteria allow. INCONCLUSIVE: launches lost to the machine, not run yet, or unproven.
    """
    evidence = context.evidence
    cases: dict[tuple[str, str], list[PlannedCase]] = {}
    for case in evidence.planned:
        cases.setdefault((case.check, case.environment), []).append(case)
    group_of = {case.id: group for group, members in cases.items() for case in members}
    by_status: dict[tuple[str, str], dict[str, list[LaunchKey]]] = {}
    for key, launch in evidence.launches.items():
        group = group_of.get(key[0])
        if group is not None and launch.status != "skipped":
            by_status.setdefault(group, {}).setdefault(launch.status, []).append(key)
    items = [_answers(cases[at], by_status[at], context) for at in cases if at in by_status]
    allowed = context.criteria.failed_launches_at_most
    without = f"at most {count_text(allowed, 'launch')} of a check without an answer"
    return JudgedCriterion(
        id="answers",
        kind="answers",
        title="Every launch ran to its end with the right answer",
        statement=f"no wrong answer, {without if allowed else 'and no launch without an answer'}",
        items=tuple(items),
        verdict=verdict_of(items),
        effective=verdict_of(items),
        note="" if items else "no launch has been recorded",
    )


def _answers(
    cases: Sequence[PlannedCase], by_status: Mapping[str, Sequence[LaunchKey]], context: Context
) -> Item:
    """The launches of one check in one environment."""
    missing = sum(
        (case.id, block) not in context.evidence.launches
        for case in cases
        if case.skipped is None and not case.params.get("reply_before_wait")
        for block in range(1, context.evidence.fresh)
    )
    counts = Counter({status: len(keys) for status, keys in by_status.items()})
    doubtful = [key for key in by_status.get("ok", ()) if context.lacks_proof(key)]
    is_open = counts["lost"] or missing or doubtful
    verdict: bounds.Verdict = "INCONCLUSIVE" if is_open else "PASS"
    if counts["failed"] > context.criteria.failed_launches_at_most or counts["wrong"]:
        verdict = "FAIL"
    notes = [f"{count} {status}" for status, count in counts.items() if status != "ok"]
    notes += [f"{missing} not run"] if missing else []
    notes += [f"{len(doubtful)} {NOT_COUNTED}"] if doubtful else []
    bad = [key for status, keys in by_status.items() if status != "ok" for key in keys] + doubtful
    total = counts.total()
    return context.item(
        cases[0],
        "answers",
        cases[0].check,
        bounds.Bounds(total, counts["ok"] / total, None, None, 1.0, "count"),
        verdict=verdict,
        note=", ".join(notes) or f"all {total} ok",
        launches=tuple(bad or by_status["ok"]),
    )
