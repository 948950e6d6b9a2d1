# SPDX-License-Identifier: Apache-2.0
"""The leader of each scope, and how it stands to the runner-up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.choice.cells import Comparison
from reports.choice.compare import Comparisons
from reports.notation.units import level_text, signed_percent


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
    wins = Counter(_better(cell) for cell in usable)
    best, second = sorted(score, key=lambda name: (-wins[name], -score[name]))[:2]
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
    level = level_text(pair.effect.interval.level)
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


def _better(cell: Comparison) -> str:
    """The environment with the better estimate."""
    assert cell.effect is not None
    return cell.environment if cell.effect.ratio > 1 else cell.reference


def _oriented(cell: Comparison, environment: str) -> tuple[float, float, float]:
    """Ratio and interval as the advantage of `environment` over the other one."""
    assert cell.effect is not None
    effect = cell.effect
    if cell.environment == environment:
        return effect.ratio, effect.interval.low, effect.interval.high
    return 1 / effect.ratio, 1 / effect.interval.high, 1 / effect.interval.low


def _against(cell: Comparison, best: str) -> str:
    return signed_percent(1 / _oriented(cell, best)[0])
