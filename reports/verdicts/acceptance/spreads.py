# SPDX-License-Identifier: Apache-2.0
"""How much launches scatter: pooled over all that should scatter alike, and who scatters more.

A limit for each of many items can hardly be met by few launches: 64 items at n = 5 and a limit of
2 % need a true CV of 0.43 %. So the pooled variance is held against the limit, and an item is named
when its own is beyond it by a test over all items. Re-runs confirm what is beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from records.criteria import SpreadCriterion
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.bounds import Bounds, decide, spread_bounds, spread_factors
from reports.verdicts.acceptance.criteria_judges import Context
from reports.verdicts.acceptance.kept_rows import LOWEST_KEPT, MOST_KEPT
from reports.verdicts.acceptance.levels import (
    EFFICIENCY,
    Flags,
    deviations_of,
    peers_of,
    typical_deviation,
)
from reports.verdicts.acceptance.model import Item, JudgedCriterion, LaunchKey
from reports.verdicts.acceptance.suspects import settled
from reports.verdicts.acceptance.values import ScanValues, Values

#: Peers of one launch from which on what all have in common in a block is taken off.
LEAST_PEERS = 4
#: Chance that anybody of a case is suspected by mistake, as a share of that of a bound.
NOISY_CHANCE = 0.2
#: Fresh launches that a suspect is judged by.
LEAST_FRESH = 3


def judge_spread(criterion: SpreadCriterion, context: Context) -> JudgedCriterion:
    """The coefficient of variation of launches: of all items together, and of each."""
    statement = (
        f"{context.metric_title(criterion.metric)}: coefficient of variation over the launches"
        f" at most {criterion.cv_at_most:g}"
    )
    items: list[Item] = []
    further = 0
    for alike in _groups(criterion, context):
        if alike.count == 1:
            items += _alone(alike.row(0), criterion, context)
            continue
        found, left_out = _together(alike, criterion, context)
        items += found
        further += left_out
    items += context.absent(criterion)
    return context.judged(criterion, statement, items, further=further)


@dataclass(frozen=True)
class _Alike:
    """Items that should scatter alike: `logs` have an item a row and a block a column."""

    blocks: NDArray[np.int64]
    logs: Matrix
    row: Callable[[int], Values]
    launches: tuple[LaunchKey, ...]
    environments: frozenset[str]

    @property
    def count(self) -> int:
        """How many items."""
        return len(self.logs)


def _groups(criterion: SpreadCriterion, context: Context) -> Iterator[_Alike]:
    """What is judged together: nodes or pairs of a case, all cases without nodes."""
    evidence = context.evidence
    groups: dict[object, list[Values]] = {}
    scans: list[ScanValues] = []
    for environment in evidence.environments_of(criterion):
        for values in evidence.inside(criterion, environment):
            alike = (values.case.id, len(values.place)) if values.place else None
            groups.setdefault(alike, []).append(values)
        scans += evidence.scans_of(criterion, environment)
    yield from (_of_values(members) for members in groups.values())
    yield from (_of_scan(scan) for scan in scans)


def _of_values(members: Sequence[Values]) -> _Alike:
    blocks = np.unique(np.concatenate([values.blocks for values in members]))
    logs = np.full((len(members), len(blocks)), np.nan)
    for row, values in enumerate(members):
        above = np.where(values.values > 0, values.values, np.nan)  # others have no relative spread
        logs[row, np.searchsorted(blocks, values.blocks)] = np.log(above)
    launches = dict.fromkeys((v.case.id, block) for v in members for block in v.blocks.tolist())
    environments = frozenset(values.case.environment for values in members)
    return _Alike(blocks, logs, members.__getitem__, tuple(launches), environments)


def _of_scan(scan: ScanValues) -> _Alike:
    columns = scan.columns
    logs = np.log(columns.values.astype(np.float64))
    launches = tuple((scan.case.id, block) for block in columns.blocks)
    blocks = np.array(columns.blocks, dtype=np.int64)
    return _Alike(blocks, logs, scan.row, launches, frozenset([scan.case.environment]))


def _alone(values: Values, criterion: SpreadCriterion, context: Context) -> list[Item]:
    """A value that has no peers: the interval of its own deviation."""
    confidence, least_n = context.criteria.confidence, context.criteria.least_launches
    numbers = values.values.tolist()
    item = context.item(
        values,
        numbers,
        (None, criterion.cv_at_most),
        bounds=spread_bounds(numbers, confidence, least_n),
    )
    again = values.values[values.blocks >= context.evidence.fresh]
    fresh = spread_bounds(again.tolist(), confidence) if len(again) else None
    return [_held_again(item, fresh) if item.verdict == "FAIL" else item]


def _together(
    alike: _Alike, criterion: SpreadCriterion, context: Context
) -> tuple[list[Item], int]:
    """An item for all together, whose noisy ones do not count in it, and one for each, of very
    many for the noisy and the widest; how many steady ones have none.

    Who is noisy is asked of the blocks of the run, whether he still is of re-runs.
    """
    limit, criteria = criterion.cv_at_most, context.criteria
    shared = bool(alike.row(0).place) and alike.count >= LEAST_PEERS
    logs = peers_of(alike.logs).logs if shared else alike.logs
    fresh = alike.blocks >= context.evidence.fresh
    counts = np.isfinite(logs).sum(axis=1)
    found = deviations_of(logs, shared=shared)
    noisy = _beyond(
        *deviations_of(logs[:, ~fresh], shared=shared),
        limit,
        NOISY_CHANCE * (1 - criteria.confidence),
    )
    told = (counts >= criteria.least_launches) & (found[1] > 0)
    rows = _rows(noisy, told, found[0])
    items = []
    for row in rows:
        bounds = _bounds(int(counts[row]), found[0][row], found[1][row], context)
        item = context.item(alike.row(row), (), (None, limit), bounds=bounds)
        if told[row]:
            item = replace(item, verdict="PASS", note="")
        if noisy[row]:
            away = np.abs(logs[row, fresh] - np.nanmedian(logs[row]))
            item = replace(item, verdict="FAIL", about="unsteady")
            item = settled(item, away[np.isfinite(away)].tolist())
        items.append(item)
    counted = ~noisy if 2 * noisy.sum() < len(noisy) else np.ones(len(noisy), dtype=bool)
    again = deviations_of(logs[:, fresh], shared=shared)
    whole = _whole(alike, int(counts[counted].min()), _pooled(found, counted), limit, context)
    whole = replace(whole, subject=f"{int(counted.sum())} of {alike.count} together")
    if whole.verdict == "FAIL":
        deviation, freedom = _pooled(again, counted)
        since = _bounds(LEAST_FRESH, deviation, freedom, context) if freedom else None
        whole = _held_again(whole, since)
    steady = told & ~noisy
    return [whole, *items], int(steady.sum() - steady[rows].sum())


def _rows(noisy: Flags, told: Flags, deviations: Matrix) -> list[int]:
    """The rows that get an item: all, or of very many the noisy ones, and the widest of the others,
    those with a verdict and those without apart."""
    if len(noisy) <= MOST_KEPT:
        return list(range(len(noisy)))
    order = np.argsort(-deviations, kind="stable")
    groups = [order[(known & ~noisy)[order]][:LOWEST_KEPT] for known in (told, ~told)]
    return sorted({*np.flatnonzero(noisy).tolist(), *np.concatenate(groups).tolist()})


def _whole(
    alike: _Alike, n: int, pooled: tuple[float, float], limit: float, context: Context
) -> Item:
    """The item for all together."""
    whole = context.item(alike.row(0), (), (None, limit), bounds=_bounds(n, *pooled, context))
    (environment, *others) = alike.environments
    return replace(
        whole, environment="all" if others else environment, place=(), launches=alike.launches
    )


def _beyond(deviations: Matrix, freedom: Matrix, limit: float, chance: float) -> Flags:
    """Whose variance is beyond the limit (χ²) and beyond that of the others (F), by Holm."""
    known = freedom > 0
    p = np.ones(len(freedom))
    if known.any():
        own, k = deviations[known] ** 2, freedom[known]
        usual = float(np.median(deviations[known] / typical_deviation(k))) ** 2
        others = np.maximum(1.0, EFFICIENCY * (k.sum() - k))
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
        typical = typical_deviation(freedom[known])
        return float(np.median(deviations[known] / typical)), EFFICIENCY * total
    return float(np.sqrt((freedom * deviations**2).sum() / total)) if total else 0.0, total


def _bounds(n: int, deviation: float, freedom: float, context: Context) -> Bounds:
    """One-sided bounds of a deviation of so many degrees of freedom."""
    confidence = context.criteria.confidence
    if freedom <= 0:
        return Bounds(n, deviation, None, None, confidence, "none")
    low, high = spread_factors(freedom, confidence)
    return Bounds(n, deviation, deviation * low, deviation * high, confidence, "chi-squared")


def _held_again(item: Item, fresh: Bounds | None) -> Item:
    """An item beyond its limit, with what re-runs alone say: their bound may clear it."""
    limit = item.at_most or 0.0
    if fresh is None:
        note = "beyond the limit: it fails when re-runs confirm it"
        return replace(item, verdict="SUSPECT", note=note)
    told = f"{100 * fresh.centre:.2g} % in re-runs"
    if fresh.centre > limit:
        return replace(item, note=f"confirmed: {told}")
    verdict, _ = decide(fresh, None, limit, LEAST_FRESH)
    word = "cleared" if verdict == "PASS" else "not confirmed"
    return replace(item, verdict=verdict, note=f"{word}: {told}")
