# SPDX-License-Identifier: Apache-2.0
"""Changes that stay: change points over the last nights, steps in the first nights of a reference,
and slow drifts since then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from records.history.model import Stage
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.change_points import lasting_changes, median_shifts, rank_p
from reports.verdicts.nightly.reference import Mask
from reports.verdicts.nightly.rules import Rules

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Shift:
    """A series' level before and after (medians, unit of the values); `since` is a night's
    position, the first of the new level."""

    series: int
    stage: Stage
    since: int
    before: float
    after: float
    n_before: int


def lasting(
    values: Matrix, chosen: Mask, floors: Matrix, proven: NDArray[np.bool_], rules: Rules
) -> list[Shift]:
    """Stage B over the last chosen nights; shapes (series, nights), floors and proven (series,).

    Series that were measured tonight only: the last column must be chosen.
    """
    found: list[Shift] = []
    for series, nights in _windows(chosen, rules.window):
        rows = np.take_along_axis(values[series], nights, axis=1)
        for row, place in enumerate(lasting_changes(rows, floors[series], proven[series], rules)):
            if place is not None:
                before, after = np.split(rows[row], [place])
                found.append(_shift(series[row], "lasting", nights[row, place], before, after))
    return found


def _windows(chosen: Mask, most: int) -> Iterator[tuple[Places, Places]]:
    """Series with equally many chosen nights, and the positions of their last nights."""
    tonight = np.flatnonzero(chosen[:, -1]) if chosen.shape[1] else np.empty(0, dtype=np.intp)
    order = np.argsort(chosen[tonight], axis=1, kind="stable")[:, -most:]
    counts = np.minimum(chosen[tonight].sum(axis=1), most)
    for count in np.unique(counts):
        rows = np.flatnonzero(counts == count)
        yield tonight[rows], order[rows, order.shape[1] - count :]


def drifts(values: Matrix, chosen: Mask, floors: Matrix, rules: Rules) -> list[Shift]:
    """Changes too slow for a window: the last nights against the first of the reference.

    The reference's first nights (30) against the last 10, once they are apart by as many as the
    window: median shift above the floor, Mann–Whitney p small. It finds what wanders by less than
    the floor in any window.
    """
    enough = chosen.sum(axis=1) >= rules.drift_anchor + rules.window
    enough &= chosen[:, -1] if chosen.shape[1] else False
    series = np.flatnonzero(enough)
    order = np.argsort(~chosen[series], axis=1, kind="stable")
    first = order[:, : rules.drift_anchor]
    last = np.argsort(chosen[series], axis=1, kind="stable")[:, -rules.drift_recent :]
    before, after = (np.take_along_axis(values[series], places, axis=1) for places in (first, last))
    joined = np.concatenate([before, after], axis=1)
    shifts = median_shifts(joined, np.full(len(joined), rules.drift_anchor))
    found: list[Shift] = []
    for row in np.flatnonzero(np.abs(shifts) > floors[series]).tolist():
        if rank_p(before[row], after[row]) <= rules.p_drift:
            found.append(_shift(series[row], "drift", last[row, 0], before[row], after[row]))
    return found


def early_steps(values: Matrix, chosen: Mask, floors: Matrix, rules: Rules) -> list[Shift]:
    """Steps within the first nights of a reference, which have too few nights before for a window.

    All nights so far, while they are 20 to 60: of the splits after 3 to 9 nights the one with the
    least Mann–Whitney p, Bonferroni over the splits; median shift above the floor. With three
    nights before, p is small enough only once there are some forty after.
    """
    found: list[Shift] = []
    counts = chosen.sum(axis=1)
    tonight = chosen[:, -1] if chosen.shape[1] else np.zeros(len(chosen), dtype=np.bool_)
    splits = range(rules.judged_from, rules.first_nights)
    old_enough = (counts >= rules.early_from) & (counts <= rules.most_nights) & tonight
    for series in np.flatnonzero(old_enough).tolist():
        nights = np.flatnonzero(chosen[series])
        row = values[series, nights]
        rows = np.broadcast_to(row, (len(splits), len(row)))
        shifts = np.abs(median_shifts(rows, np.array(splits)))
        steps = [
            (rank_p(row[:split], row[split:]) * len(splits), split)
            for split, shift in zip(splits, shifts, strict=True)
            if shift > floors[series]
        ]
        p, split = min(steps, default=(1.0, 0))
        if p <= rules.p_ranks:
            found.append(_shift(series, "early", nights[split], row[:split], row[split:]))
    return found


def first_steps(values: Matrix, chosen: Mask, limits: Matrix, rules: Rules) -> list[Shift]:
    """Steps within the nights that came before any could be judged, which no rank test tells.

    From 10 nights after these on, until `early_steps` begins: what the first night, or each of the
    first two, lies away from the level of the others, by more than one night may (`limits`, shape
    (series,)), as none of those does.
    """
    found: list[Shift] = []
    counts = chosen.sum(axis=1)
    tonight = chosen[:, -1] if chosen.shape[1] else np.zeros(len(chosen), dtype=np.bool_)
    young = (counts > rules.robust_from) & (counts < rules.early_from) & tonight
    for series in np.flatnonzero(young & np.isfinite(limits)).tolist():
        nights = np.flatnonzero(chosen[series])
        row, limit = values[series, nights], limits[series]
        for split in range(1, rules.judged_from):
            away = row / np.median(row[split:]) - 1
            first = away[:split]
            if (np.abs(away[split:]) <= limit).all() and (
                (first < -limit).all() or (first > limit).all()
            ):
                found.append(_shift(series, "early", nights[split], row[:split], row[split:]))
                break
    return found


def _shift(series: int, stage: Stage, since: int, before: Matrix, after: Matrix) -> Shift:
    """The shift between the values before and after."""
    levels = float(np.median(before)), float(np.median(after))
    return Shift(int(series), stage, int(since), *levels, len(before))
