# SPDX-License-Identifier: Apache-2.0
"""Pairs the values of two environments by point and block; names scopes and curves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from records.axes import beside_curve
from records.metric import Better, Register
from records.run.plan import PlannedCase
from reports.load.loading import AtKey, Run, Series, stacked
from reports.notation.labels import CheckLabels
from reports.statistics.signed_rank import LEAST_N

#: The first case with the same parameters, and the point.
PointKey = tuple[int, AtKey]
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
    alike: dict[bytes, list[PointKey]] = {}
    result: dict[PointKey, Point] = {}
    shared = 0
    for key, a in first.items():
        b = second.get(key)
        if b is None:
            continue
        shared += 1
        blocks = a.blocks.tobytes()
        if a.blocks is b.blocks or blocks == b.blocks.tobytes():
            alike.setdefault(blocks, []).append(key)
            continue
        common, at_a, at_b = np.intersect1d(a.blocks, b.blocks, return_indices=True)
        if len(common):
            _add(result, [key], common, a.values[None, at_a], b.values[None, at_b], sign)
        else:
            shared -= 1
    for keys in alike.values():
        a_values = stacked([first[key] for key in keys])
        b_values = stacked([second[key] for key in keys])
        _add(result, keys, first[keys[0]].blocks, a_values, b_values, sign)
    return result, shared - len(result)


def _add(  # noqa: PLR0917
    result: dict[PointKey, Point],
    keys: Sequence[PointKey],
    blocks: NDArray[np.int64],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    sign: float,
) -> None:
    positive: NDArray[np.bool_] = np.asarray((a > 0).all(axis=1) & (b > 0).all(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = sign * (np.log(a) - np.log(b))
    for key, row, usable in zip(keys, logs, positive, strict=True):
        if usable:
            result[key] = blocks, row


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


class Planned:
    """Names of scopes and curves, and the cases behind them."""

    def __init__(
        self,
        cases: Iterable[PlannedCase],
        keys: Iterable[int],
        labels: Mapping[str, CheckLabels],
        register: Register,
    ) -> None:
        self._labels = labels
        self._register = register
        self._names: dict[PointKey, tuple[str, str, str]] = {}
        self._cases = list(cases)
        self._place = {
            (key, case.environment): place
            for place, (case, key) in enumerate(zip(self._cases, keys, strict=True))
        }

    def case(self, key: int, environment: str) -> PlannedCase:
        """The case with these parameters in this environment."""
        return self._cases[self._place[key, environment]]

    def places(self, keys: Iterable[int], environment: str) -> Iterator[int]:
        """The positions in the plan of the cases with these parameters."""
        return map(self._place.__getitem__, zip(keys, repeat(environment)))

    def names(self, point: PointKey, environment: str) -> tuple[str, str, str]:
        """Scope and curve of a point, and the curve's name at a point; made once for each curve.

        Placements are never mixed: between nodes and within a node are two scopes.
        """
        found = self._names.get(point)
        if found is not None:
            return found
        params, at = point
        curve = params, beside_curve(at)
        found = self._names.get(curve)
        if found is None:
            case = self.case(params, environment)
            placement = str(case.params.get("placement") or "").replace("-", " ")
            scope = ", ".join(filter(None, [self._register.check_title(case.check), placement]))
            labels, without = self._labels[case.check], ("placement",)
            beside = [str(value) for _, value in curve[1]]
            curve_name, short = (
                ", ".join([*beside, *parts]) or labels.name(case, without)
                for parts in (labels.told(case, without), labels.parts(case, without))
            )
            found = self._names[curve] = scope, curve_name, short
        self._names[point] = found
        return found
