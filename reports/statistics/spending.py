# SPDX-License-Identifier: Apache-2.0
"""Bounds of a sequential design: 5 % error over all questions and all judgements together.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import e, log

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from reports.statistics import max_t
from reports.statistics.descriptive import LEVEL, Matrix

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
    """The error spent up to a block; `max_t.QUANTILE` in all, for bounds of 95 %."""
    shares = [1.0]
    if extensions := len(stages) - 1:
        left = 1 - PLANNED_SHARE
        shares = [PLANNED_SHARE, *(left / 2**number for number in range(1, extensions + 1))]
    stage = sum(block > begin for begin, _ in stages[1:])
    first, last = stages[stage]
    part = shares[stage] * spent_share((block - first) / (last - first))
    return max_t.QUANTILE * (sum(shares[:stage]) + part)


def answers_after(
    questions: Sequence[max_t.Question],
    block: int,
    before: Sequence[InterimJudgement],
    stages: Stages,
    wider: float = 1.0,
) -> tuple[list[max_t.JointBounds | None], InterimJudgement]:
    """Bounds after a block, with values up to it; None for questions that have no value since the
    last judgement (their bounds stay as they are), or below six blocks.

    The critical p is the greatest at which, over sign flips of whole blocks, the share of flips in
    which any row's p was below the critical one in any judgement so far is what is spent so far.
    It is at least what Bonferroni's inequality allows by itself, the error that is spent now over
    the number of rows: the flips of few blocks are too few for a small error.
    """
    result: list[max_t.JointBounds | None] = [None] * len(questions)
    groups = _weighted(questions)
    last = before[-1].block if before else 0
    now = spent(block, stages)
    critical = (now - spent(last, stages)) / max(1, sum(len(group.places) for group in groups))
    active = _tested(groups, last, block)
    if not active:
        return result, InterimJudgement(block, critical)
    every = np.unique(np.concatenate([group.blocks for group in groups]))
    signs = max_t.sign_flips(len(every))
    crossed, after = np.zeros(len(signs), dtype=bool), 0
    for judged in before:
        tested = _tested(groups, after, judged.block)
        crossed |= max_t.least_p(tested, every, signs) < judged.critical
        after = judged.block
    least = max_t.least_p(active, every, signs)
    if (room := int(now * len(signs) + 1e-9) - int(crossed.sum())) > 0:
        critical = max(critical, np.sort(least[~crossed])[room - 1])
    # As many independent rows have the same lower quartile of the least p.
    quartile = min(float(np.quantile(least, 0.25)), 0.75)
    independent = max(1.0, float(np.log(0.75) / np.log1p(-quartile)))
    at_end = max(critical / now, 1 / independent) * spent(stages[-1][1], stages)
    for group in active:
        found, own = max_t.bounds(group, critical, wider)
        p = np.clip((1 - LEVEL) * own / (critical * group.weights), np.minimum(own, 1.0), 1.0)
        ahead = _to_come(group, at_end, stages[-1][1] - block).T.tolist()
        for place, (low, high, shift), one, more in zip(group.places, found, p, ahead, strict=True):
            result[place] = max_t.JointBounds(low, high, float(one), shift, *more)
    return result, InterimJudgement(block, float(critical))


def _to_come(group: max_t.Group, critical: float, further: int) -> Matrix:
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


def _weighted(questions: Sequence[max_t.Question]) -> list[max_t.Group]:
    """The questions with their weights, 1 on average; the declared ones apart, by their cells."""
    groups = max_t.by_blocks(questions, declared_apart=True)
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


def _tested(groups: Sequence[max_t.Group], after: int, until: int) -> list[max_t.Group]:
    """Questions with a value between two judgements, without what came later."""
    new = [group for group in groups if ((group.blocks > after) & (group.blocks <= until)).any()]
    return [here for group in new if len((here := group.until(until)).blocks) >= max_t.LEAST_BLOCKS]
