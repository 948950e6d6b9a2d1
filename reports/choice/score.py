# SPDX-License-Identifier: Apache-2.0
"""The overall score by the campaign's weights: what a workload would cost in each environment.

score(A) = Σ w_c·T_c(A) / Σ w_c, with T_c(A) the cost of check c in A relative to the reference's
median: the geometric mean over the check's points of T_A/T_ref (of R_ref/R_A for rates). A weight
is thus the share of the reference's time that the check stands for; below 1 is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from records.metric import Register
from reports.choice.cells import ALPHA
from reports.choice.pairing import PointKey, Table
from reports.choice.ranking import Pair, Standing, standings
from reports.load.loading import Run, Series
from reports.statistics.descriptive import Matrix
from reports.statistics.rank_tests import Friedman, friedman
from reports.statistics.signed_rank import LEAST_N, least_n


@dataclass(frozen=True, slots=True)
class CheckShare:
    """A weighted check: its weight, and how many points all scored environments have values at."""

    check: str
    weight: float
    points: int
    points_planned: int


@dataclass(frozen=True)
class OverallScore:
    """Scores over n common blocks, best first; `excluded` are (environment, why) without a score.

    `declared` tells whether the campaign declares weights or each check counts the same.
    """

    reference: str
    declared: bool
    shares: list[CheckShare]
    n: int
    standings: list[Standing]
    pairs: list[Pair]
    excluded: list[tuple[str, str]]
    friedman: Friedman | None

    @property
    def needed_n(self) -> int:
        """Blocks from which the exact test over all pairs can separate at all."""
        return least_n(ALPHA / max(1, len(self.pairs)))


def overall_score(
    run: Run,
    table: Table,
    environments: Sequence[str],
    wrong: frozenset[tuple[str, str]],
) -> OverallScore | None:
    """Score and rank the environments; None where fewer than two have what it takes.

    An environment with wrong records in a weighted check, or without values in one, has no score.
    """
    measured = dict.fromkeys((check for check, _ in table), 1.0)
    weights = run.plan.weights or measured
    checks = {check: weights[check] for check in measured if weights.get(check, 0) > 0}
    excluded = _vetoed(table, environments, checks, wrong)
    named = {name for name, _ in excluded}
    scored = [name for name in environments if name not in named]
    if len(scored) < 2 or not checks:
        return None
    costs, shares = [], []
    for check, weight in checks.items():
        cost, points, planned = _relative_cost(run.plan.register, table, check, scored)
        costs.append(weight * cost)
        shares.append(CheckShare(check, weight, points, planned))
    scores = np.sum(costs, axis=0) / sum(checks.values())
    scores = scores[:, np.isfinite(scores).all(axis=0)]
    if scores.shape[1] < LEAST_N:
        return None
    ranked, pairs = standings(scored, scores)
    return OverallScore(
        scored[0],
        bool(run.plan.weights),
        shares,
        scores.shape[1],
        ranked,
        pairs,
        excluded,
        friedman(scores.T),
    )


def _vetoed(
    table: Table,
    environments: Sequence[str],
    checks: Mapping[str, float],
    wrong: frozenset[tuple[str, str]],
) -> list[tuple[str, str]]:
    result = []
    for name in environments:
        bad = [check for check in checks if (check, name) in wrong]
        missing = [check for check in checks if not _series_of(table, check, name)]
        if bad:
            result.append((name, f"wrong answers in {', '.join(bad)}"))
        elif missing:
            result.append((name, f"no valid launch of {', '.join(missing)}"))
    return result


def _series_of(table: Table, check: str, environment: str) -> dict[tuple[str, PointKey], Series]:
    """All points of the check's deciding metrics in one environment."""
    return {
        (metric, key): series
        for (name, metric), found in table.items()
        if name == check
        for key, series in found.get(environment, {}).items()
    }


def _relative_cost(
    register: Register, table: Table, check: str, environments: Sequence[str]
) -> tuple[Matrix, int, int]:
    """Cost by environment and block relative to the first environment's median, shape
    (environments, blocks), NaN where a block has no point that all have; points used, points known.
    """
    found = [_series_of(table, check, name) for name in environments]
    common = [key for key in found[0] if all(key in other for other in found[1:])]
    blocks = max((int(s.blocks[-1]) for other in found for s in other.values()), default=0)
    logs = np.full((len(environments), len(common), blocks), np.nan)
    lower = {name for name, metric in register.metrics.items() if metric.better == "lower"}
    signs = [1.0 if metric in lower else -1.0 for metric, _ in common]
    for row, other in enumerate(found if common else ()):
        series = [other[key] for key in common]
        lengths = [len(item.values) for item in series]
        places = np.repeat(np.arange(len(series)), lengths)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(np.concatenate([item.values for item in series]))
        at = np.concatenate([item.blocks for item in series]) - 1
        logs[row, places, at] = np.repeat(signs, lengths) * values
    usable = np.isfinite(logs).all(axis=0)
    kept = usable.sum(axis=1) >= LEAST_N
    logs, usable = logs[:, kept], usable[kept]
    logs = np.where(usable, logs, np.nan)
    if not kept.any():
        return np.full((len(environments), blocks), np.nan), 0, len(common)
    logs -= np.nanmedian(logs[0], axis=1)[:, np.newaxis]
    whole = usable.any(axis=0)
    cost = np.full((len(environments), blocks), np.nan)
    cost[:, whole] = np.exp(np.nanmean(logs[:, :, whole], axis=1))
    planned = len({key for other in found for key in other})
    return cost, int(kept.sum()), planned
