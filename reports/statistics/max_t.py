# SPDX-License-Identifier: Apache-2.0
"""One family of questions over the same blocks: bounds that hold together (max-T, sign flips).

A question is a row of d = ln(A/B) by block. All rows of a block change sign together, so that what
the rows share (one launch behind many message sizes, one environment behind many pairs) counts
once, where Holm over the rows counts it once for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from reports.statistics.descriptive import LEVEL, Matrix

#: Below, the sign flips of all blocks are too few for a level of 95 %.
LEAST_BLOCKS = 6
POWER = 0.8
#: The quantile is taken at 96 % for bounds of 95 %: residuals vary a little less than errors, and
#: at 95 % heavy-tailed launches left the bounds together in 6–8 % of campaigns [bench/choice.py].
_QUANTILE = 0.04
_ALL_FLIPS_UP_TO = 12
_FLIPS = 2000
_TOGETHER = 512


@dataclass(frozen=True, slots=True)
class Question:
    """One row: d by ascending block. `kept` < 1 after winsorising: the share of blocks between the
    two tails that were replaced. It divides the standard error s/√n, and n·kept − 1 are the degrees
    of freedom of s (Yuen's correction)."""

    blocks: NDArray[np.int64]
    values: NDArray[np.float64]
    kept: float = 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Bounds of the mean of d that hold at 95 % together with those of all other questions.

    `p` is adjusted over the family: p <= 0.05 where 0 lies outside. `detectable` is the least mean
    beyond a margin of 0 that this test finds with 80 % power; add the margin to it.
    """

    low: float
    high: float
    p: float
    detectable: float


def answers(questions: Sequence[Question], wider: float = 1.0) -> list[Answer | None]:
    """Bounds of all questions, mean ± c·s/√n; None for those below six blocks. Standard errors are
    multiplied by `wider`, where blocks are found to depend on each other.

    The critical p (c is Student's quantile at it, with the row's own degrees of freedom) is the 4 %
    quantile, over sign flips of whole blocks, of the least Student's p of all rows' residuals; all
    flips up to 12 blocks, 2000 seeded ones beyond. Studentised single-step max-T [Westfall & Young,
    Resampling-based multiple testing, 1993; Romano & Wolf, JASA 100 (2005) 94]; winsorised rows by
    Yuen, Biometrika 61 (1974) 165. Assumes independent blocks; keeps the family's error under any
    dependence between rows.
    """
    groups = [group for group in _by_blocks(questions) if len(group.blocks) >= LEAST_BLOCKS]
    result: list[Answer | None] = [None] * len(questions)
    if not groups:
        return result
    least = _least_p(groups)
    critical = float(least[int(_QUANTILE * len(least) + 1e-9) - 1])
    for group in groups:
        n = len(group.blocks)
        kept = np.array([questions[place].kept for place in group.places])
        mean = group.rows.mean(axis=1)
        error = wider * group.rows.std(axis=1, ddof=1) / np.sqrt(n) / kept
        freedom = np.maximum(1.0, n * kept - 1)
        known, at = np.unique(freedom, return_inverse=True)
        reach = special.stdtrit(known, 1 - critical / 2)
        shift = special.nctdtrinc(known, 1 - POWER, reach)
        half, shift = reach[at] * error, shift[at] * error
        with np.errstate(divide="ignore", invalid="ignore"):
            own = 2 * special.stdtr(freedom, np.nan_to_num(-np.abs(mean) / error, nan=0.0))
        # As a share of 5 %, so that p <= 0.05 says the same as bounds without 0.
        below = (np.searchsorted(least, own, side="left") + 1) / len(least)
        p = np.clip(below * (1 - LEVEL) / _QUANTILE, np.minimum(own, 1.0), 1.0)
        columns = (mean - half, mean + half, p, shift)
        made = map(Answer, *(column.tolist() for column in columns))
        for place, answer in zip(group.places, made, strict=True):
            result[place] = answer
    return result


@dataclass(frozen=True)
class _Group:
    """Questions over the same blocks, by their places."""

    blocks: NDArray[np.int64]
    places: list[int]
    rows: Matrix


def _by_blocks(questions: Sequence[Question]) -> list[_Group]:
    found: dict[bytes, list[int]] = {}
    for place, item in enumerate(questions):
        found.setdefault(item.blocks.tobytes(), []).append(place)
    return [
        _Group(
            questions[places[0]].blocks,
            places,
            np.stack([questions[place].values for place in places]),
        )
        for places in found.values()
    ]


def _least_p(groups: Sequence[_Group]) -> NDArray[np.float64]:
    """For each sign flip the least p over all rows, ascending."""
    every = np.unique(np.concatenate([group.blocks for group in groups]))
    signs = _signs(len(every))
    least = np.ones(len(signs))
    for group in groups:
        n = len(group.blocks)
        own = signs[:, np.searchsorted(every, group.blocks)]
        greatest = np.zeros(len(signs))
        for start in range(0, len(group.rows), _TOGETHER):
            chunk = group.rows[start : start + _TOGETHER]
            residuals = chunk - chunk.mean(axis=1, keepdims=True)
            length = np.sqrt((residuals**2).sum(axis=1, keepdims=True))
            residuals /= np.where(length > 0, length, 1)
            greatest = np.maximum(greatest, np.abs(own @ residuals.T).max(axis=1))
        cosine = np.minimum(greatest / np.sqrt(n), 1 - 1e-12)
        t = np.sqrt(n - 1) * cosine / np.sqrt(1 - cosine**2)
        least = np.minimum(least, 2 * special.stdtr(n - 1, -t))
    return np.sort(least)


def _signs(n: int) -> Matrix:
    """Sign flips of n blocks; the first block keeps its sign where all are listed."""
    if n <= _ALL_FLIPS_UP_TO:
        bits = (np.arange(2 ** (n - 1))[:, np.newaxis] >> np.arange(n)) & 1
        return (1.0 - 2.0 * bits).astype(np.float64)
    return np.random.default_rng(1).choice([-1.0, 1.0], (_FLIPS, n))
