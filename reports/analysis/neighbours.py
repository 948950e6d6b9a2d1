# SPDX-License-Identifier: Apache-2.0
"""Test whether launches that ran side by side in one allocation were slower for it.

The seed draws some launches to run alone that could share the allocation. Each launch counts
once: by the mean, over its points, of the logarithm of its check's deciding metric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reports.analysis.run import Analysis
from reports.load.launches import BESIDE, NOT_DRAWN
from reports.statistics.stratified import LEAST_OF_EACH, Shift, comparable, stratified_shift

#: Two-sided error below which neighbours are said to have mattered.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Shift of launches that were drawn to share the allocation against those drawn to run alone;
    None where it cannot be tested. `ran_beside`: of the former, beside how many others ran."""

    worse: Shift | None
    ran_beside: int = 0

    @property
    def mattered(self) -> bool:
        """True where they were worse, or better, beyond chance."""
        return self.worse is not None and self.worse.p < ALPHA

    @property
    def text(self) -> str:
        """Sentence with number and interval."""
        if (worse := self.worse) is None:
            return (
                f"not tested: it takes {LEAST_OF_EACH} launches of a case alone and beside others"
            )
        head = "they mattered" if self.mattered else "no effect of them was resolved"
        return (
            f"{head}: launches beside others were {self.percent} than the same cases alone"
            f" ({_end(worse.low)} … {_end(worse.high)}, n = {worse.others} alone, {worse.n} drawn"
            f" to share, of which {self.ran_beside} did)"
        )

    @property
    def percent(self) -> str:
        """ "3.1 % worse"."""
        value = 0.0 if self.worse is None else _percent(self.worse.value)
        return f"{abs(value):.1f} % {'worse' if value >= 0 else 'better'}"


def _percent(shift: float) -> float:
    return 100 * math.expm1(min(shift, 50.0))


def _end(shift: float) -> str:
    return f"{_percent(shift):+.1f} %" if math.isfinite(shift) else "no bound"


@lru_cache(maxsize=2)
def neighbours_of(analysis: Analysis) -> Neighbours | None:
    """Effect of neighbours in a run; None where none were drawn to run alone."""
    launches = analysis.run.launches
    drawn = launches.part(
        launches.counted & launches.of_status("ok") & (launches.drawn != NOT_DRAWN)
    )
    if not analysis.run.provenance.site.in_one_job or not len(drawn):
        return None
    cases, blocks, values = _launch_values(analysis)
    # The launches by case and block: where each value's launch is among those that were drawn.
    most = int(max(drawn.block.max(initial=0), blocks.max(initial=0))) + 1
    codes, wanted = drawn.case * most + drawn.block, cases * most + blocks
    order = np.argsort(codes)
    at = order[np.minimum(np.searchsorted(codes[order], wanted), len(order) - 1)]
    here = codes[at] == wanted
    cases, blocks, values, at = cases[here], blocks[here], values[here], at[here]
    shares = drawn.drawn[at] == BESIDE
    both = comparable(cases, shares)
    ran_beside = int((both & shares & drawn.beside[at]).sum())
    enough = min(ran_beside, int((both & ~shares).sum())) >= LEAST_OF_EACH
    shift = stratified_shift(cases, blocks, values, shares) if enough else None
    return Neighbours(shift, ran_beside)


def _launch_values(
    analysis: Analysis,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Position of the case, block and value of each launch; a greater value is worse."""
    found = []
    for check in analysis.checks:
        metric = analysis.deciding_metric(check)
        for row in analysis.rows_of(check, metric) if metric else ():
            series = row.series
            if (series.values > 0).all():
                sign = 1.0 if analysis.register.metrics[metric].better == "lower" else -1.0
                logs = sign * np.log(series.values)
                cases = np.full(len(logs), series.case)
                found.append(np.stack([cases, series.blocks, logs - np.median(logs)]))
    every = np.concatenate(found, axis=1) if found else np.empty((3, 0))
    cases, blocks = every[:2].astype(np.int64)
    most = int(blocks.max(initial=0)) + 1
    _, first, launch, counts = np.unique(
        cases * most + blocks, return_index=True, return_inverse=True, return_counts=True
    )
    return cases[first], blocks[first], np.bincount(launch, every[2], len(counts)) / counts
