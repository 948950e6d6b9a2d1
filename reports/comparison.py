# SPDX-License-Identifier: Apache-2.0
"""Environments against each other, paired by block, with a verdict for each cell.

A point is one metric value position (parameters and message size); a group is the points of one
curve (one process grid and N; one construct over its sizes); an overall cell is all points of a
check (of one placement). The advantage is the ratio in the good direction: 1.05 = 5 % better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any, Literal

import msgspec
import msgspec.structs
import numpy as np
from numpy.typing import NDArray

from campaigns.metrics import CHECK_METRICS, REGISTER
from reports.labels import CheckLabels, check_title, params_key
from reports.load import INVALID_ON_PURPOSE, AtKey, PlanCase, Run, Series
from reports.signed_rank import (
    LEAST_N,
    PairedEffect,
    detectable_ratio,
    holm,
    least_n,
    paired_effects,
)
from reports.units import bytes_text, percent, signed_percent

ALPHA = 0.05
LEAST_DIFFERENCE = 1.03
EQUIVALENT = (0.97, 1.03)

Word = Literal["faster", "slower", "equivalent", "not resolved", "no verdict"]
_PointKey = tuple[bytes, AtKey]
_Point = tuple[NDArray[np.int64], NDArray[np.float64]]


class Comparison(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One cell: `environment` against `reference`. `effect` is None below three common blocks.

    `points` of `points_planned` went in; `family` is the number of cells Holm adjusted over.
    """

    check: str
    scope: str
    label: str
    metric: str
    environment: str
    reference: str
    n: int
    points: int
    points_planned: int
    case_ids: tuple[str, str]
    at: AtKey = ()
    effect: PairedEffect | None = None
    p_holm: float | None = None
    family: int = 0

    @property
    def word(self) -> Word:
        """ "faster": p <= 0.05 after Holm and more than 3 %; "equivalent": 90 % interval inside
        0.97–1.03; else "not resolved". No verdict below n = 3."""
        effect = self.effect
        if effect is None or self.p_holm is None:
            return "no verdict"
        if self.p_holm <= ALPHA and effect.ratio > LEAST_DIFFERENCE:
            return "faster"
        if self.p_holm <= ALPHA and 1 / effect.ratio > LEAST_DIFFERENCE:
            return "slower"
        interval = effect.interval90
        if interval and interval.low >= EQUIVALENT[0] and interval.high <= EQUIVALENT[1]:
            return "equivalent"
        return "not resolved"

    @property
    def verdict(self) -> str:
        """The word with what it rests on; never "equal"."""
        if self.effect is None:
            return f"no verdict: {self.n} common blocks, at least {LEAST_N} are needed"
        if self.word == "equivalent":
            return f"equivalent (n = {self.n}, 90 % interval inside 0.97–1.03)"
        if self.word != "not resolved":
            return f"{self.word} (n = {self.n}, p = {self.p_holm:.2g} after Holm)"
        return f"not resolved at n = {self.n}, {self._detectable()}"

    def _detectable(self) -> str:
        assert self.effect is not None
        blocks = max(self.n, self.needed_n)
        ratio = detectable_ratio(self.effect.log_stddev, blocks, ALPHA / self.family)
        where = f" at n = {blocks}" if blocks > self.n else ""
        return f"smallest detectable difference {percent(ratio - 1)}{where}"

    @property
    def needed_n(self) -> int:
        """The least n at which the exact test could reach 0.05 after Holm over the family."""
        return least_n(ALPHA / max(1, self.family))

    @property
    def difference(self) -> str:
        """ "+4.2 %": the advantage over the reference."""
        return "–" if self.effect is None else signed_percent(self.effect.ratio)


@dataclass(frozen=True)
class Comparisons:
    """`overall`: every pair of environments; `groups`, `points`: against `reference` only.

    `unranked` names (check, environment) with wrong records.
    """

    reference: str
    overall: list[Comparison]
    groups: list[Comparison]
    points: list[Comparison]
    unranked: frozenset[tuple[str, str]]


def compare_environments(run: Run, labels: Mapping[str, CheckLabels]) -> Comparisons:
    """Compare each environment with the first one of the plan (and, overall, with each other)."""
    names = list(dict.fromkeys(run.plan.environments))
    keys = [params_key(case) for case in run.plan.cases]
    table = _points_by_environment(run, keys)
    planned = _Planned(run.plan.cases, keys, labels)
    overall: list[tuple[Comparison, _Point]] = []
    groups: list[tuple[Comparison, _Point]] = []
    points: list[tuple[Comparison, _Point]] = []
    for reference, environment in combinations(names, 2):
        for check, metric in table:
            pairs = _paired_points(table[check, metric], environment, reference, metric)
            cells = _Cells(planned, check, metric, environment, reference, pairs)
            overall += cells.overall()
            if reference == names[0]:
                groups += cells.groups()
                points += cells.points()
    return Comparisons(
        reference=names[0] if names else "",
        overall=_by_scope(_judged(overall)),
        groups=_by_scope(_judged(groups)),
        points=_by_scope(_judged(points)),
        unranked=_wrong_environments(run),
    )


def _by_scope(cells: list[Comparison]) -> list[Comparison]:
    """Scope by scope, cell by cell, environments of one cell together."""
    order: dict[tuple[str, str], int] = {}
    scopes: dict[str, int] = {}
    for cell in cells:
        scopes.setdefault(cell.scope, len(scopes))
        order.setdefault((cell.scope, cell.label), len(order))
    return sorted(cells, key=lambda cell: (scopes[cell.scope], order[cell.scope, cell.label]))


def _wrong_environments(run: Run) -> frozenset[tuple[str, str]]:
    cases = run.plan.cases
    return frozenset(
        (cases[case].check, cases[case].environment)
        for case, status, flags in run.tally
        if status == "wrong" and INVALID_ON_PURPOSE not in flags
    )


_Table = dict[tuple[str, str], dict[str, dict[_PointKey, Series]]]


def deciding_metric(check: str) -> str:
    """The metric that decides between environments, the others follow from it; "" for all."""
    known = CHECK_METRICS.get(check)
    return known.deciding if known else ""


def _points_by_environment(run: Run, keys: Sequence[bytes]) -> _Table:
    cases = run.plan.cases
    table: _Table = {}
    for series in sorted(run.series, key=lambda item: item.case):
        case = cases[series.case]
        if deciding_metric(case.check) in ("", series.metric):
            by_environment = table.setdefault((case.check, series.metric), {})
            found = by_environment.setdefault(case.environment, {})
            found[keys[series.case], series.at] = series
    return table


def _paired_points(
    table: Mapping[str, dict[_PointKey, Series]], environment: str, reference: str, metric: str
) -> dict[_PointKey, _Point]:
    """ln of the advantage for each point and common block; points with a value <= 0 left out."""
    first, second = table.get(environment, {}), table.get(reference, {})
    sign = 1.0 if REGISTER[metric].better == "higher" else -1.0
    alike: dict[bytes, list[_PointKey]] = {}
    result: dict[_PointKey, _Point] = {}
    for key, a in first.items():
        b = second.get(key)
        if b is None:
            continue
        blocks = a.blocks.tobytes()
        if blocks == b.blocks.tobytes():
            alike.setdefault(blocks, []).append(key)
            continue
        common, at_a, at_b = np.intersect1d(a.blocks, b.blocks, return_indices=True)
        if len(common):
            _add(result, [key], common, a.values[None, at_a], b.values[None, at_b], sign)
    for keys in alike.values():
        a_values = np.stack([first[key].values for key in keys])
        b_values = np.stack([second[key].values for key in keys])
        _add(result, keys, first[keys[0]].blocks, a_values, b_values, sign)
    return result


def _add(  # noqa: PLR0917
    result: dict[_PointKey, _Point],
    keys: Sequence[_PointKey],
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


def _combine(points: Sequence[_Point]) -> tuple[_Point, int] | None:
    """Mean of d over points for each block that all of them have; points below n = 3 left out."""
    if len(points) == 1:
        return points[0], 1
    usable = [point for point in points if len(point[0]) >= LEAST_N] or list(points)
    if not usable:
        return None
    first = usable[0][0]
    if all(point[0] is first or np.array_equal(point[0], first) for point in usable[1:]):
        return (first, np.mean([point[1] for point in usable], axis=0)), len(usable)
    common: NDArray[np.int64] = reduce(np.intersect1d, [blocks for blocks, _ in usable])
    rows = [values[np.isin(blocks, common)] for blocks, values in usable]
    return (common, np.mean(rows, axis=0)), len(usable)


class _Planned:
    """Names of scopes and groups, and the cases behind them."""

    def __init__(
        self,
        cases: Iterable[PlanCase],
        keys: Iterable[bytes],
        labels: Mapping[str, CheckLabels],
    ) -> None:
        self._labels = labels
        self._names: dict[tuple[str, bytes, AtKey], tuple[str, str]] = {}
        self._case = {
            (case.check, key, case.environment): case for case, key in zip(cases, keys, strict=True)
        }

    def case(self, check: str, key: bytes, environment: str) -> PlanCase:
        """The case with these parameters in this environment."""
        return self._case[check, key, environment]

    def names(self, check: str, point: _PointKey, environment: str) -> tuple[str, str]:
        """Scope and group of a point; made once for each curve."""
        params, at = point
        curve = check, params, tuple(item for item in at if item[0] != "message_bytes")
        found = self._names.get(curve)
        if found is None:
            case = self.case(check, params, environment)
            found = self._names[curve] = self.scope(case), self.group(case, at)
        return found

    def scope(self, case: PlanCase) -> str:
        """Placements are never mixed: between nodes and within a node are two scopes."""
        placement = case.params.get("placement")
        title = check_title(case.check)
        return f"{title}, {str(placement).replace('-', ' ')}" if placement else title

    def group(self, case: PlanCase, at: AtKey) -> str:
        """The curve a point belongs to."""
        parts = self._labels[case.check].parts(case, without=("placement",))
        parts += [str(value) for name, value in at if name != "message_bytes"]
        return ", ".join(parts) or "all parameters fixed"


class _Cells:
    """The cells of one pair of environments for one check's deciding metric."""

    def __init__(  # noqa: PLR0917
        self,
        planned: _Planned,
        check: str,
        metric: str,
        environment: str,
        reference: str,
        pairs: Mapping[_PointKey, _Point],
    ) -> None:
        self._planned = planned
        self._metric = metric
        self._environment = environment
        self._reference = reference
        self._pairs = pairs
        self._check = check
        self._scopes: dict[str, list[_PointKey]] = {}
        self._groups: dict[tuple[str, str], list[_PointKey]] = {}
        for key in pairs:
            name = planned.names(check, key, environment)
            self._scopes.setdefault(name[0], []).append(key)
            self._groups.setdefault(name, []).append(key)

    def overall(self) -> Iterator[tuple[Comparison, _Point]]:
        """One cell for each scope, over all its points."""
        for scope, keys in self._scopes.items():
            yield from self._cell(scope, "all points", keys)

    def groups(self) -> Iterator[tuple[Comparison, _Point]]:
        """One cell for each group of points."""
        for (scope, label), keys in self._groups.items():
            yield from self._cell(scope, label, keys)

    def points(self) -> Iterator[tuple[Comparison, _Point]]:
        """One cell for each point of groups that have several."""
        for (scope, label), keys in self._groups.items():
            if len(keys) < 2:
                continue
            for key in keys:
                size = next((v for name, v in key[1] if name == "message_bytes"), None)
                text = f"{label}, {bytes_text(size)}" if isinstance(size, int) else label
                yield from self._cell(scope, text, [key], key[1])

    def _cell(
        self, scope: str, label: str, keys: Sequence[_PointKey], at: AtKey = ()
    ) -> Iterator[tuple[Comparison, _Point]]:
        combined = _combine([self._pairs[key] for key in keys])
        if combined is None:
            return
        point, used = combined
        cases = [
            self._planned.case(self._check, keys[0][0], name).id
            for name in (self._environment, self._reference)
        ]
        yield (
            Comparison(
                check=self._check,
                scope=scope,
                label=label,
                metric=self._metric,
                environment=self._environment,
                reference=self._reference,
                n=len(point[0]),
                points=used,
                points_planned=len(keys),
                case_ids=(cases[0], cases[1]),
                at=at,
            ),
            point,
        )


def _judged(cells: Sequence[tuple[Comparison, _Point]]) -> list[Comparison]:
    """Add effects, computed together for each n, and Holm over all cells with an effect."""
    by_n: dict[int, list[int]] = {}
    for position, (cell, _) in enumerate(cells):
        if cell.n >= LEAST_N:
            by_n.setdefault(cell.n, []).append(position)
    effects: dict[int, PairedEffect] = {}
    for positions in by_n.values():
        rows = np.stack([cells[position][1][1] for position in positions])
        effects.update(zip(positions, paired_effects(rows), strict=True))
    adjusted = dict(zip(effects, holm([effect.p for effect in effects.values()]), strict=True))
    return [
        msgspec.structs.replace(
            cell, effect=effects[place], p_holm=adjusted[place], family=len(effects)
        )
        if place in effects
        else cell
        for place, (cell, _) in enumerate(cells)
    ]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Best environment of a scope and how it stands to the runner-up."""

    scope: str
    metric: str
    best: str
    runner_up: str
    comparison: Comparison
    advantage: str
    interval: str
    others: str
    unranked: tuple[str, ...]


def rankings(comparisons: Comparisons) -> list[Ranking]:
    """For each scope the best environment by its estimate; environments with wrong records out."""
    scopes: dict[tuple[str, str], list[Comparison]] = {}
    for cell in comparisons.overall:
        scopes.setdefault((cell.scope, cell.metric), []).append(cell)
    return [
        ranking
        for (scope, metric), cells in scopes.items()
        if (ranking := _rank(scope, metric, cells, comparisons)) is not None
    ]


def _rank(
    scope: str, metric: str, cells: Sequence[Comparison], comparisons: Comparisons
) -> Ranking | None:
    unranked = {name for check, name in comparisons.unranked if check == cells[0].check}
    usable = [
        cell for cell in cells if cell.effect and not {cell.environment, cell.reference} & unranked
    ]
    if not usable:
        return None
    score: dict[str, float] = {}
    for cell in usable:
        assert cell.effect is not None
        score[cell.environment] = score.get(cell.environment, 0.0) + np.log(cell.effect.ratio)
        score[cell.reference] = score.get(cell.reference, 0.0) - np.log(cell.effect.ratio)
    best, second = sorted(score, key=lambda name: -score[name])[:2]
    pair = next((c for c in usable if {c.environment, c.reference} == {best, second}), None)
    if pair is None or pair.effect is None:
        return None
    others = [
        f"{name} {_against(cell, best)}"
        for name in score
        for cell in usable
        if name not in (best, second) and {cell.environment, cell.reference} == {best, name}
    ]
    ratio, low, high = _oriented(pair, best)
    level = percent(pair.effect.interval.level, 2)
    return Ranking(
        scope,
        metric,
        best,
        second,
        pair,
        signed_percent(ratio),
        f"{level} interval {signed_percent(low)} to {signed_percent(high)}",
        ", ".join(others),
        tuple(sorted(unranked)),
    )


def _oriented(cell: Comparison, environment: str) -> tuple[float, float, float]:
    """Ratio and interval as the advantage of `environment` over the other one."""
    assert cell.effect is not None
    effect = cell.effect
    if cell.environment == environment:
        return effect.ratio, effect.interval.low, effect.interval.high
    return 1 / effect.ratio, 1 / effect.interval.high, 1 / effect.interval.low


def _against(cell: Comparison, best: str) -> str:
    return signed_percent(1 / _oriented(cell, best)[0])


def as_json(cell: Comparison) -> dict[str, Any]:
    """The cell for verdicts.json."""
    effect = cell.effect
    result: dict[str, Any] = {
        "scope": cell.scope,
        "label": cell.label,
        "metric": cell.metric,
        "at": dict(cell.at),
        "environment": cell.environment,
        "reference": cell.reference,
        "cases": list(cell.case_ids),
        "n": cell.n,
        "points": cell.points,
        "verdict": cell.word,
        "text": cell.verdict,
    }
    if effect is not None:
        result |= {
            "advantage": effect.ratio,
            "interval": [effect.interval.low, effect.interval.high],
            "level": effect.interval.level,
            "p": effect.p,
            "p_holm": cell.p_holm,
            "cells_in_family": cell.family,
        }
    return result
