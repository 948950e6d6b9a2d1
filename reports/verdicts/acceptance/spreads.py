# SPDX-License-Identifier: Apache-2.0
"""Scatter of launches: pooled over all that should scatter alike, and of each that scatters more.

A limit for each of many items can hardly be met by few launches: 64 items at n = 5 and a limit of
2 % need a true CV of 0.43 %. So the pooled variance is held against the limit, and an item is named
when its own is beyond it by a test over all items. Re-runs confirm what is beyond.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace
from scipy import special  # type: ignore[import-untyped]

from records.criteria import SpreadCriterion
from reports.judgement import Item, JudgedCriterion
from reports.notation.units import as_stated, significant
from reports.statistics import levels
from reports.statistics.bounds import (
    Bounds,
    Flags,
    decide,
    spread_bounds,
    spread_factors,
)
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.context import Context, ShownItems, settled, shown
from reports.verdicts.acceptance.values import Rows, Values, rows_of

#: Peers of one launch from which on what all have in common in a block is taken off.
LEAST_PEERS = 4
#: Chance that anybody of a case is suspected by mistake, as a share of that of a bound.
NOISY_CHANCE = 0.2
#: Fresh launches that a suspect is judged by.
LEAST_FRESH = 3


def judge_spread(criterion: SpreadCriterion, context: Context) -> JudgedCriterion:
    """The coefficient of variation of launches: of all items together, and of each."""
    parts = []
    for rows in _groups(criterion, context):
        if len(rows.matrix) == 1:
            parts.append(ShownItems([_alone(rows.values(0), criterion, context)]))
        else:
            parts.append(_together(rows, criterion, context))
    statement = (
        f"{context.metric_title(criterion.metric)}: coefficient of variation over the launches"
        f" at most {as_stated(criterion.cv_at_most)}"
    )
    return context.judged(criterion, statement, parts)


def _groups(criterion: SpreadCriterion, context: Context) -> Iterator[Rows]:
    """Rows judged together: nodes or pairs of a case, all cases without nodes."""
    apart: list[Values] = []
    for rows in context.evidence.rows(criterion):
        if rows.values(0).place:
            yield rows
        else:
            apart += map(rows.values, range(len(rows.matrix)))
    if apart:
        yield rows_of(apart)


def _alone(values: Values, criterion: SpreadCriterion, context: Context) -> Item:
    """A value that has no peers: the interval of its own deviation."""
    numbers, least_n = values.values.tolist(), context.criteria.least_launches
    confidence = context.level(len(numbers))
    bounds = spread_bounds(numbers, confidence, least_n)
    item = context.value_item(values, numbers, (None, criterion.cv_at_most), bounds=bounds)
    again = values.values[values.blocks >= context.evidence.fresh].tolist()
    return _confirmed(item, spread_bounds(again, confidence) if again else None)


def _together(rows: Rows, criterion: SpreadCriterion, context: Context) -> ShownItems:
    """An item for all together, in which noisy ones do not count, and one for each. Blocks of the
    run say which are noisy, re-runs confirm it."""
    limit, criteria, count = criterion.cv_at_most, context.criteria, len(rows.matrix)
    placed = bool(rows.values(0).place)
    shared = placed and count >= LEAST_PEERS
    logs = np.log(np.where(rows.matrix > 0, rows.matrix, np.nan))  # 0 has no relative spread
    logs = levels.peers_of(logs).logs if shared else logs
    fresh = rows.blocks >= context.evidence.fresh
    every, before, again = (
        levels.deviations_of(part, shared=shared)
        for part in (logs, logs[:, ~fresh], logs[:, fresh])
    )
    noisy = _beyond(*before, limit, NOISY_CHANCE * (1 - criteria.confidence))
    counts = np.isfinite(logs).sum(axis=1)

    def item(row: int) -> Item:
        bounds = _bounds(int(counts[row]), every[0][row], every[1][row], context)
        known = logs[row][np.isfinite(logs[row])]
        shares, limits = np.exp(known).tolist(), (None, limit if noisy[row] else None)
        single = context.value_item(rows.values(row), shares, limits, bounds=bounds)
        if not noisy[row]:
            return single
        away = np.abs(logs[row, fresh] - np.nanmedian(logs[row]))
        single = replace(single, verdict="FAIL", about="unsteady")
        return settled(single, away[np.isfinite(away)].tolist())

    counted = ~noisy if 2 * noisy.sum() < count else np.ones(count, dtype=bool)
    bounds = _bounds(int(counts[counted].min()), *_pooled(every, counted), context)
    whole = replace(
        context.value_item(rows.values(0), (), (None, limit), bounds=bounds),
        subject=f"{int(counted.sum())} of {count} together",
        environment="all" if len(rows.environments) > 1 else min(rows.environments),
        place=(),
        launches=rows.launches,
    )
    deviation, freedom = _pooled(again, counted)
    since = _bounds(LEAST_FRESH, deviation, freedom, context) if freedom else None
    plain = ~noisy & (counts >= criteria.least_launches) & placed
    part = shown(item, plain, -every[0])
    return part._replace(items=[_confirmed(whole, since), *part.items])


def _beyond(deviations: Matrix, freedom: Matrix, limit: float, chance: float) -> Flags:
    """Whose variance is beyond the limit (χ²) and beyond that of the others (F), by Holm."""
    known = freedom > 0
    p = np.ones(len(freedom))
    if known.any():
        own, k = deviations[known] ** 2, freedom[known]
        usual = float(np.median(deviations[known] / levels.typical_deviation(k))) ** 2
        others = np.maximum(1.0, levels.EFFICIENCY * (k.sum() - k))
        p[known] = np.maximum(
            special.gammaincc(k / 2, k * own / limit**2 / 2),
            special.fdtrc(k, others, own / max(usual, 1e-300)),
        )
    order = np.argsort(p, kind="stable")
    holm = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)) <= chance
    noisy = np.zeros(len(p), dtype=bool)
    noisy[order[holm]] = True
    return noisy


def _pooled(found: tuple[Matrix, Matrix], counted: Flags) -> tuple[float, float]:
    """The pooled deviation, and its degrees of freedom.

    Of many items it is the median of their deviations: who has a stray launch is asked apart.
    """
    deviations, freedom = (part[counted] for part in found)
    known, total = freedom > 0, float(freedom.sum())
    if known.sum() >= LEAST_PEERS:
        typical = levels.typical_deviation(freedom[known])
        return float(np.median(deviations[known] / typical)), levels.EFFICIENCY * total
    return float(np.sqrt((freedom * deviations**2).sum() / total)) if total else 0.0, total


def _bounds(n: int, deviation: float, freedom: float, context: Context) -> Bounds:
    """One-sided bounds of a deviation of so many degrees of freedom."""
    confidence = context.level(n)
    if freedom <= 0:
        return Bounds(n, deviation, None, None, confidence, "none")
    low, high = spread_factors(freedom, confidence)
    return Bounds(n, deviation, deviation * low, deviation * high, confidence, "chi-squared")


def _confirmed(item: Item, fresh: Bounds | None) -> Item:
    """An item; of one beyond its limit re-runs alone confirm it, or clear it by their bound."""
    if item.verdict != "FAIL":
        return item
    if fresh is None:
        note = "beyond the limit: it fails when re-runs confirm it"
        return replace(item, verdict="SUSPECT", note=note)
    again, limit = f"{significant(100 * fresh.centre, 2)} % in re-runs", item.at_most or 0.0
    if fresh.centre > limit:
        return replace(item, note=f"confirmed: {again}")
    verdict, _ = decide(fresh, None, limit, LEAST_FRESH)
    word = "cleared" if verdict == "PASS" else "not confirmed"
    return replace(item, verdict=verdict, note=f"{word}: {again}")
