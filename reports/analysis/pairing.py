# SPDX-License-Identifier: Apache-2.0
"""Pairs the values of two environments by point and block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from records.metric import Better
from reports.load.loading import AtKey, Run, Series, stacked
from reports.statistics.signed_rank import LEAST_N

#: The first case with the same parameters, and the point.
PointKey = tuple[int, AtKey]
#: Blocks, and a value for each.
Point = tuple[NDArray[np.int64], NDArray[np.float64]]
#: By (check, metric), then environment, then point.
Table = dict[tuple[str, str], dict[str, dict[PointKey, Series]]]


def points_by_environment(run: Run) -> Table:
    """Series of the deciding metrics, ordered for pairing."""
    cases, keys = run.plan.cases, run.first_alike
    table: Table = {}
    for series in sorted(run.series, key=lambda item: item.case):
        case = cases[series.case]
        if run.plan.register.decides(case.check, series.metric):
            by_environment = table.setdefault((case.check, series.metric), {})
            found = by_environment.setdefault(case.environment, {})
            found[keys[series.case], series.at] = series
    return table


def paired_points(
    table: Mapping[str, dict[PointKey, Series]], environment: str, reference: str, better: Better
) -> tuple[dict[PointKey, Point], int]:
    """ln of the advantage for each point and common block; points with a value <= 0 are left out,
    and how many they are."""
    first, second = table.get(environment, {}), table.get(reference, {})
    sign = 1.0 if better == "higher" else -1.0
    alike: dict[tuple[bytes, bytes], list[PointKey]] = {}
    for key, series in first.items():
        if (other := second.get(key)) is not None:
            blocks = series.blocks.tobytes(), other.blocks.tobytes()
            alike.setdefault(blocks, []).append(key)
    found: dict[PointKey, Point] = {}
    shared = 0
    for _, keys in sorted(alike.items(), key=lambda item: item[0][0] == item[0][1]):
        blocks_a, blocks_b = (of[keys[0]].blocks for of in (first, second))
        common, at_a, at_b = np.intersect1d(blocks_a, blocks_b, return_indices=True)
        if not len(common):
            continue
        shared += len(keys)
        a = stacked([first[key] for key in keys])[:, at_a]
        b = stacked([second[key] for key in keys])[:, at_b]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = sign * (np.log(a) - np.log(b))
        ok: NDArray[np.bool_] = np.asarray((a > 0).all(axis=1) & (b > 0).all(axis=1))
        found |= {key: (common, logs[row]) for row, key in enumerate(keys) if ok[row]}
    return found, shared - len(found)


def combine(points: Sequence[Point]) -> tuple[Point, int]:
    """Mean of d over points (at least one) for each block, and how many went in.

    A block that lacks a point has the mean of the others there, each as a deviation from its own
    mean, so that it loses that value alone; one that lacks more than half has none. Points below
    n = 3 are left out unless all are.
    """
    if len(points) == 1:
        return points[0], 1
    usable = [point for point in points if len(point[0]) >= LEAST_N] or list(points)
    first = usable[0][0]
    if all(point[0] is first or np.array_equal(point[0], first) for point in usable[1:]):
        return (first, np.mean([point[1] for point in usable], axis=0)), len(usable)
    every = np.unique(np.concatenate([blocks for blocks, _ in usable]))
    levels = [float(values.mean()) for _, values in usable]
    total, count = np.zeros(len(every)), np.zeros(len(every))
    for (blocks, values), level in zip(usable, levels, strict=True):
        at = np.searchsorted(every, blocks)
        total[at] += values - level
        count[at] += 1
    enough = 2 * count >= len(usable)
    rows = float(np.mean(levels)) + total[enough] / count[enough]
    return (every[enough], rows), len(usable)
