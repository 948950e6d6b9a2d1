# SPDX-License-Identifier: Apache-2.0
"""Family of questions over the same blocks: bounds that hold together (max-T, sign flips), also
over all judgements of a sequential design.

A question is a row of d = ln(A/B) by block. All rows of a block change sign together, so that what
the rows share (one launch behind many message sizes, one environment behind many pairs) counts
once, where Holm over the rows counts it once for each.

A group sequential design [Lan & DeMets, Biometrika 70 (1983) 659]: after n of at most N blocks
α·ln(1 + (e − 1)·n/N) of the error is spent (their function near Pocock's bounds), whether or not
the design stops there: what is much slower is known early and costs no further launch. Bounds made
this way are repeated confidence intervals [Jennison & Turnbull, J. R. Statist. Soc. B 51 (1989)
305]: they hold together at 95 % over all judgements, also under optional stopping.

A run that is extended after its end is judged again from its beginning: what was planned has a
quarter of the error, each extension half of what is left. However often it is extended, the
bounds of all its judgements hold together at 95 %.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import e, log

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from reports.statistics.descriptive import LEVEL, Matrix, grids

#: Below, the sign flips of all blocks are too few for a level of 95 %.
LEAST_BLOCKS = 6
POWER = 0.8
#: The quantile is taken at 96 % for bounds of 95 %: residuals vary a little less than errors, and
#: at 95 % heavy-tailed launches left the bounds together in 6–8 % of campaigns [bench: choice].
QUANTILE = 0.04
_ALL_FLIPS_UP_TO = 12
_FLIPS = 2000
_TOGETHER = 512
_QUADRATURE, _HALVINGS, _GOLDEN = 32, 20, 0.6180339887498949
#: Standard deviation of ln of the quantile over campaigns of six normal blocks, with 1 to 300
#: questions; each further block halves it. Six blocks have 32 flips: the quantile is beyond
#: Bonferroni's by this factor.
_QUANTILE_VARIES, _FLIPS_OVER_BONFERRONI = 0.31, 4 / 3
#: A quantile beyond bounds nothing.
_MOST_REACH = 100.0


class Question(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Row: d by ascending block. `kept` < 1 after winsorising: the share of blocks between the
    two tails that were replaced. It divides the standard error s/√n, and n·kept − 1 are the degrees
    of freedom of s (Yuen's correction). `declared`: a sequential design goes on until it is
    answered. `cell` is shared by the pairs of environments in one place."""

    blocks: NDArray[np.int64]
    values: NDArray[np.float64]
    kept: float = 1.0
    declared: bool = False
    cell: Hashable = None


@dataclass(frozen=True, slots=True)
class JointBounds:
    """Bounds of the mean of d that hold at 95 % together with those of all other questions.

    `p` is adjusted over the family: p <= 0.05 where 0 lies outside. `detectable` is the least mean
    beyond a margin of 0 that this test finds with 80 % power; add the margin to it. `half_to_come`
    is the half width to be expected after the last planned block, `moves` by how much the mean may
    have moved until then, at 95 %; both are 0 where no block is to come.
    """

    low: float
    high: float
    p: float
    detectable: float
    half_to_come: float = 0.0
    moves: float = 0.0


def answers(questions: Sequence[Question], wider: float = 1.0) -> list[JointBounds | None]:
    """Bounds of all questions, mean ± c·s/√n; None for those below six blocks. Standard errors are
    multiplied by `wider`, where blocks are found to depend on each other.

    The critical p (c is Student's quantile at it, with the row's own degrees of freedom) is the 4 %
    quantile, over sign flips of whole blocks, of the least Student's p of all rows' residuals; all
    flips up to 12 blocks, 2000 seeded ones beyond. Studentised single-step max-T [Westfall & Young,
    Resampling-based multiple testing, 1993; Romano & Wolf, JASA 100 (2005) 94]; winsorised rows by
    Yuen, Biometrika 61 (1974) 165. Assumes independent blocks; keeps the family's error under any
    dependence between rows.
    """
    result: list[JointBounds | None] = [None] * len(questions)
    groups = by_blocks(questions)
    if not groups:
        return result
    every = np.unique(np.concatenate([group.blocks for group in groups]))
    least = np.sort(least_p(groups, every, sign_flips(len(every))))
    critical = float(least[int(QUANTILE * len(least) + 1e-9) - 1])
    for group in groups:
        found, own = bounds(group, critical, wider)
        # As a share of 5 %, so that p <= 0.05 says the same as bounds without 0.
        below = (np.searchsorted(least, own, side="left") + 1) / len(least)
        p = np.clip(below * (1 - LEVEL) / QUANTILE, np.minimum(own, 1.0), 1.0)
        for place, (low, high, shift), adjusted in zip(group.places, found, p, strict=True):
            result[place] = JointBounds(low, high, float(adjusted), shift)
    return result


@dataclass(frozen=True)
class Group:
    """Questions over the same blocks, by their places. Each weighs its p: p/weight is compared.
    `cells` number those whose rows share a part of their variance; none do where it is None."""

    blocks: NDArray[np.int64]
    places: list[int]
    rows: Matrix
    kept: NDArray[np.float64]
    weights: NDArray[np.float64]
    cells: NDArray[np.int64] | None = None

    def until(self, block: int) -> Group:
        """Questions without later blocks."""
        here = self.blocks <= block
        return replace(self, blocks=self.blocks[here], rows=self.rows[:, here])

    @cached_property
    def freedom(self) -> NDArray[np.float64]:
        """Degrees of freedom of each row's variance."""
        own = np.maximum(1.0, len(self.blocks) * self.kept - 1)
        return np.asarray(own * (1 if self._shared is None else self._shared[1]))

    def variances(self, own: Matrix) -> Matrix:
        """The variances of rows (last axis) that are used, from their own: where that is below the
        mean of the cell, half of it and half of the mean."""
        if self._shared is None:
            return own
        others, gain = self._shared
        return np.asarray(np.where(gain > 1, np.maximum(own, (own + own @ others) / 2), own))

    @cached_property
    def _shared(self) -> tuple[Matrix, NDArray[np.float64]] | None:
        """Matrix that takes rows to the mean of their cells, and by how much freedom grows.

        The pairs of k environments have (k − 1)(n − 1) degrees of freedom together. Half of a row's
        own variance and half of its cell's have 4/(1 + 3/(k − 1)) times n − 1 degrees by
        Satterthwaite (Biometrics Bulletin 2 (1946) 110). A row that scatters more than the others
        keeps its own variance.
        """
        if self.cells is None:
            return None
        gain = np.ones(len(self.rows))
        others = np.zeros((len(self.rows), len(self.rows)))
        for cell in np.unique(self.cells):
            mine = np.flatnonzero((self.cells == cell) & (self.kept == 1))
            count = (1 + np.sqrt(1 + 8 * len(mine))) / 2
            if len(mine) >= 3 and count == round(count):
                gain[mine] = shared_gain(int(count))
                others[np.ix_(mine, mine)] = 1 / len(mine)
        return others, gain


def by_blocks(questions: Sequence[Question], *, declared_apart: bool = False) -> list[Group]:
    """The questions that have six blocks at least, all of weight 1."""
    found: dict[tuple[bytes, bool], list[int]] = {}
    for place, item in enumerate(questions):
        if len(item.blocks) >= LEAST_BLOCKS:
            apart = declared_apart and item.declared
            found.setdefault((item.blocks.tobytes(), apart), []).append(place)
    groups = []
    for places in found.values():
        mine = [questions[place] for place in places]
        rows, kept = np.stack([one.values for one in mine]), np.array([one.kept for one in mine])
        groups.append(Group(mine[0].blocks, places, rows, kept, np.ones(len(places))))
    return groups


def bounds(
    group: Group, critical: float, wider: float
) -> tuple[list[tuple[float, float, float]], NDArray[np.float64]]:
    """Of each row lower and upper bound and what is detectable at the critical p; and its own p.

    A row is known to its grid at best: the smallest gap between two distinct values. The grid of a
    row of one value is at most that value; zeros tell no grid, and have no bounds (-inf, inf):
    ties of a coarse timer are no evidence of a small variance.
    """
    n = len(group.blocks)
    mean = group.rows.mean(axis=1)
    rounding = rounding_variances(group.rows)
    own_variance = group.variances(group.rows.var(axis=1, ddof=1) + rounding)
    error = wider * np.sqrt(own_variance / n) / group.kept
    freedom = group.freedom
    tail = np.minimum(critical * group.weights, 1.0) / 2
    known, at = np.unique(np.stack([freedom, tail]), axis=1, return_inverse=True)
    reach = -special.stdtrit(known[0], known[1])
    within = reach < _MOST_REACH
    reach = np.where(within, reach, np.inf)
    shift = np.full_like(reach, np.inf)
    shift[within] = found_again(n, reach[within], known[0][within], known[0][within])
    reach, shift = reach[at], shift[at]
    with np.errstate(invalid="ignore", divide="ignore"):
        half, shift = reach * error, shift * error
        grid = grids(group.rows)
        half = np.where(np.isfinite(half), np.maximum(half, grid), np.inf)
        shift = np.maximum(shift, grid + special.ndtri(POWER) * error)
        shift = np.where(np.isfinite(half) & np.isfinite(shift), shift, np.inf)
        distance = np.nan_to_num(np.abs(mean) * reach / half, nan=0.0)
    own = np.where(np.isfinite(half), 2 * special.stdtr(freedom, -distance), 1.0)
    columns = (mean - half, mean + half, shift)
    return list(zip(*(column.tolist() for column in columns), strict=True)), own


def rounding_variances(rows: Matrix) -> NDArray[np.float64]:
    """By how much rounding scatters the difference of two values of a row's grid: grid²/6.

    Where values tie, some sign flip leaves no scatter at all: its t would be without bound, and
    with it the quantile of all rows. Values that do not tie have too fine a grid to matter.
    """
    grid = grids(rows)
    return np.asarray(np.where(np.isfinite(grid), grid, 0) ** 2 / 6)


def found_again(
    blocks: int,
    reach: NDArray[np.float64],
    freedom: NDArray[np.float64],
    known_by: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The mean, over the standard error at hand, that as many new blocks find with 80 % power.

    The k at which E[P(t(freedom, k·S) > reach·R)] = 0.8 over S² ~ χ²(known_by)/known_by of the
    scatter at hand and log-normal R, by which the quantile of sign flips differs from one campaign
    to the next: with k from noncentral t alone, as if both were known, power was 57 to 78 % at
    n = 6 to 12. By quadrature and bisection.
    """
    place = np.arange(_QUADRATURE)
    steps = (place + 0.5) / _QUADRATURE
    own = np.sqrt(special.chdtri(known_by[:, np.newaxis], 1 - steps) / known_by[:, np.newaxis])
    varies = np.sqrt(2) * _QUANTILE_VARIES * 2.0 ** (LEAST_BLOCKS - blocks)
    other = np.exp(varies * special.ndtri((place * _GOLDEN + 0.5) % 1))
    low, high = np.zeros(len(reach)), 8 * (reach + 2)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        missed = special.nctdtr(
            freedom[:, np.newaxis], middle[:, np.newaxis] * own, reach[:, np.newaxis] * other
        )
        found = 1 - missed.mean(axis=1) >= POWER
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return np.asarray(high)


@lru_cache(maxsize=256)
def detectable_at_least_blocks(n: int, questions: int) -> float:
    """Shift that the least number of blocks finds with about 80 % power among so many questions, in
    units of the standard deviation that n blocks have; inf where the quantile is too far out."""
    freedom = np.array([LEAST_BLOCKS - 1.0])
    reach = -_FLIPS_OVER_BONFERRONI * special.stdtrit(freedom, QUANTILE / questions / 2)
    if not reach[0] < _MOST_REACH:
        return float("inf")
    shift = found_again(LEAST_BLOCKS, reach, freedom, np.array([n - 1.0]))
    return float(shift[0]) / float(np.sqrt(LEAST_BLOCKS))


def detectable(n: int, critical: float, gain: float = 1.0) -> float:
    """The mean beyond a margin that n blocks find with 80 % power at this critical p, in units of
    the rows' true standard deviation; `gain` multiplies its degrees of freedom."""
    freedom = gain * (n - 1)
    reach = special.stdtrit(freedom, 1 - critical / 2)
    return float(special.nctdtrinc(freedom, 1 - POWER, reach)) / float(np.sqrt(n))


def shared_gain(environments: int) -> float:
    """By how much the degrees of freedom of a pair grow where all pairs share variances."""
    return 4 / (1 + 3 / (environments - 1))


def least_p(
    groups: Sequence[Group], every: NDArray[np.int64], signs: Matrix
) -> NDArray[np.float64]:
    """For each sign flip (a row of `signs`, a column for each of the blocks `every`) the least
    p/weight of all residuals."""
    least = np.full(len(signs), np.inf)
    for group in groups:
        n = len(group.blocks)
        own = signs[:, np.searchsorted(every, group.blocks)]
        if group.cells is not None:
            least = np.minimum(least, _least_p_of_cells(group, own))
            continue
        for weight in np.unique(group.weights):
            rows = group.rows[group.weights == weight]
            greatest = np.zeros(len(signs))
            for start in range(0, len(rows), _TOGETHER):
                chunk = rows[start : start + _TOGETHER]
                residuals = chunk - chunk.mean(axis=1, keepdims=True)
                length = np.sqrt((residuals**2).sum(axis=1, keepdims=True))
                residuals /= np.where(length > 0, length, 1)
                squares = np.minimum((own @ residuals.T) ** 2 / n, 1 - 1e-12)
                rounding = rounding_variances(chunk) / np.where(length > 0, length, 1)[:, 0] ** 2
                t = squares / ((1 - squares) / (n - 1) + rounding)
                greatest = np.maximum(greatest, t.max(axis=1))
            least = np.minimum(least, 2 * special.stdtr(n - 1, -np.sqrt(greatest)) / weight)
    return least


def _least_p_of_cells(group: Group, signs: Matrix) -> NDArray[np.float64]:
    """Bounds for rows that share variances."""
    n = len(group.blocks)
    residuals = group.rows - group.rows.mean(axis=1, keepdims=True)
    means = signs @ residuals.T / n
    squares = (residuals**2).sum(axis=1)
    own = np.maximum(squares - n * means**2, 1e-12 * squares) / (n - 1)
    own += rounding_variances(group.rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(np.abs(means) / np.sqrt(group.variances(own) / n))
    return np.asarray((2 * special.stdtr(group.freedom, -t) / group.weights).min(axis=1))


def sign_flips(n: int) -> Matrix:
    """Sign flips of n blocks; the first block keeps its sign where all are listed."""
    if n <= _ALL_FLIPS_UP_TO:
        bits = (np.arange(2 ** (n - 1))[:, np.newaxis] >> np.arange(n)) & 1
        return (1.0 - 2.0 * bits).astype(np.float64)
    return np.random.default_rng(1).choice([-1.0, 1.0], (_FLIPS, n))


#: What of the error is for the declared questions, as weights of their p [Genovese, Roeder &
#: Wasserman, Biometrika 93 (2006) 509]: they are few, and early blocks have room for few.
DECLARED_SHARE = 0.8
#: What of the error is for the judgements that were planned, of a run that was extended.
PLANNED_SHARE = 0.25
#: The first block that is not included, and the last, of what was planned and of each extension.
Stages = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class InterimJudgement:
    """A judgement that was made: after which block, and at which critical p."""

    block: int
    critical: float


def spent_share(share: float) -> float:
    """The part of the error that is spent once this share of all values is there."""
    return log(1 + (e - 1) * share)


def spent(block: int, stages: Stages) -> float:
    """The error spent up to a block; `QUANTILE` in all, for bounds of 95 %."""
    shares = [1.0]
    if extensions := len(stages) - 1:
        left = 1 - PLANNED_SHARE
        shares = [PLANNED_SHARE, *(left / 2**number for number in range(1, extensions + 1))]
    stage = sum(block > begin for begin, _ in stages[1:])
    first, last = stages[stage]
    part = shares[stage] * spent_share((block - first) / (last - first))
    return QUANTILE * (sum(shares[:stage]) + part)


def answers_after(
    questions: Sequence[Question],
    block: int,
    before: Sequence[InterimJudgement],
    stages: Stages,
    wider: float = 1.0,
) -> tuple[list[JointBounds | None], InterimJudgement]:
    """Bounds after a block, with values up to it; None for questions that have no value since the
    last judgement (their bounds stay as they are), or below six blocks.

    The critical p is the greatest at which, over sign flips of whole blocks, the share of flips in
    which any row's p was below the critical one in any judgement so far is what is spent so far.
    It is at least what Bonferroni's inequality allows by itself, the error that is spent now over
    the number of rows: the flips of few blocks are too few for a small error.
    """
    result: list[JointBounds | None] = [None] * len(questions)
    groups = _weighted(questions)
    last = before[-1].block if before else 0
    now = spent(block, stages)
    critical = (now - spent(last, stages)) / max(1, sum(len(group.places) for group in groups))
    active = _tested(groups, last, block)
    if not active:
        return result, InterimJudgement(block, critical)
    every = np.unique(np.concatenate([group.blocks for group in groups]))
    signs = sign_flips(len(every))
    crossed, after = np.zeros(len(signs), dtype=bool), 0
    for judged in before:
        tested = _tested(groups, after, judged.block)
        crossed |= least_p(tested, every, signs) < judged.critical
        after = judged.block
    least = least_p(active, every, signs)
    if (room := int(now * len(signs) + 1e-9) - int(crossed.sum())) > 0:
        critical = max(critical, np.sort(least[~crossed])[room - 1])
    # As many independent rows have the same lower quartile of the least p.
    quartile = min(float(np.quantile(least, 0.25)), 0.75)
    independent = max(1.0, float(np.log(0.75) / np.log1p(-quartile)))
    at_end = max(critical / now, 1 / independent) * spent(stages[-1][1], stages)
    for group in active:
        found, own = bounds(group, critical, wider)
        p = np.clip((1 - LEVEL) * own / (critical * group.weights), np.minimum(own, 1.0), 1.0)
        ahead = _to_come(group, at_end, stages[-1][1] - block).T.tolist()
        for place, (low, high, shift), one, more in zip(group.places, found, p, ahead, strict=True):
            result[place] = JointBounds(low, high, float(one), shift, *more)
    return result, InterimJudgement(block, float(critical))


def _to_come(group: Group, critical: float, further: int) -> Matrix:
    """Half of the width of each row's bounds after so many further blocks if it scatters as now,
    and how far its mean moves until then at most in 95 %; 0 where no block is to come."""
    n = len(group.blocks)
    if not further:
        return np.zeros((2, len(group.places)))
    freedom = group.freedom * (n + further - 1) / (n - 1)
    reach = -special.stdtrit(freedom, np.minimum(critical * group.weights, 1.0) / 2)
    moves = special.ndtri(LEVEL) * np.sqrt(1 / n - 1 / (n + further))
    error = np.sqrt(group.variances(group.rows.var(axis=1, ddof=1))) / group.kept
    return np.asarray(error * np.stack([reach / np.sqrt(n + further), np.full_like(reach, moves)]))


def _weighted(questions: Sequence[Question]) -> list[Group]:
    """The questions with their weights, 1 on average; the declared ones apart, by their cells."""
    groups = by_blocks(questions, declared_apart=True)
    asked = [questions[group.places[0]].declared for group in groups]
    sizes = [len(group.places) for group in groups]
    count = sum(size for size, declared in zip(sizes, asked, strict=True) if declared)
    others, weights = sum(sizes) - count, {True: 1.0, False: 1.0}
    if count and others:
        weights[True] = DECLARED_SHARE * sum(sizes) / count
        weights[False] = (1 - DECLARED_SHARE) * sum(sizes) / others
    found = []
    for group, declared in zip(groups, asked, strict=True):
        cells: dict[object, int] = {}
        for place in group.places:
            cells.setdefault(questions[place].cell or place, len(cells))
        numbers = np.array([cells[questions[place].cell or place] for place in group.places])
        weight = np.full(len(group.places), weights[declared])
        found.append(replace(group, weights=weight, cells=numbers if declared else None))
    return found


def _tested(groups: Sequence[Group], after: int, until: int) -> list[Group]:
    """Questions with a value between two judgements, without what came later."""
    new = [group for group in groups if ((group.blocks > after) & (group.blocks <= until)).any()]
    return [here for group in new if len((here := group.until(until)).blocks) >= LEAST_BLOCKS]
