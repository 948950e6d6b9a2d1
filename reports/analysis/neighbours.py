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
from reports.load.launches import BESIDE, NOT_DRAWN, Launches
from reports.notation.units import count_text
from reports.statistics.signed_rank import LEAST_OF_EACH, Shift, comparable, stratified_shift

#: Two-sided error below which neighbours are said to have mattered.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Neighbours:
    """By what factor launches that shared were worse than those alone; `why` there is none.
    `drawn`: which is which was drawn, else it is what happened. `ran_beside`: of those that are
    compared as beside others, how many others ran meanwhile."""

    drawn: bool
    ran_beside: int
    worse: Shift | None
    why: str | None

    @property
    def mattered(self) -> bool:
        """True where they were worse, or better, beyond chance."""
        return self.worse is not None and self.worse.p < ALPHA

    def told(self) -> str:
        """Sentence with number and interval, or why it cannot be tested."""
        if self.worse is None:
            return f"Whether neighbours mattered cannot be tested: {self.why}."
        n, drawn = self.worse.n, "drawn to run " * (self.ran_beside < self.worse.n)
        alone = count_text(self.worse.others, "launch")
        head = "Neighbours mattered" if self.mattered else "No effect of neighbours was resolved"
        did = f", of which {self.ran_beside} did" if drawn else ""
        rest = "" if self.drawn else "; which ran alone was not drawn"
        return (
            f"{head}: launches {drawn}beside others were {self.percent()} than the same cases alone"
            f" ({self._interval()}, n = {alone} alone, {n} {drawn}beside others{did}){rest}."
        )

    def percent(self) -> str:
        """ "3.1 % worse"."""
        value = 0.0 if self.worse is None else _percent(self.worse.value)
        return f"{abs(value):.1f} % {'worse' if value >= 0 else 'better'}"

    def _interval(self) -> str:
        assert self.worse is not None
        ends = (self.worse.low, self.worse.high)
        low, high = (f"{_percent(end):+.1f}" if math.isfinite(end) else "" for end in ends)
        if low and high:
            return f"{low} … {high} %"
        return " … ".join(f"{end} %" if end else "no bound" for end in (low, high))


def _percent(shift: float) -> float:
    return 100 * math.expm1(min(shift, 50.0))


@lru_cache(maxsize=2)
def neighbours_of(analysis: Analysis) -> Neighbours | None:
    """Effect of neighbours in a run; None where launches had jobs of their own."""
    run = analysis.run
    good = run.launches.part(run.launches.counted & run.launches.of_status("ok"))
    if not run.provenance.site.in_one_job or not len(good):
        return None
    drawn = bool((good.drawn != NOT_DRAWN).any())
    asked = good.part(good.drawn != NOT_DRAWN) if drawn else good
    marks = asked.drawn == BESIDE if drawn else asked.beside
    cases, blocks, values = _launch_values(analysis)
    # The launches by case and block: where each value's launch is among those that are asked.
    most = int(max(asked.block.max(initial=0), blocks.max(initial=0))) + 1
    codes, wanted = asked.case * most + asked.block, cases * most + blocks
    order = np.argsort(codes)
    at = order[np.minimum(np.searchsorted(codes[order], wanted), len(order) - 1)]
    here = codes[at] == wanted
    cases, blocks, values, at = cases[here], blocks[here], values[here], at[here]
    marked, beside = marks[at], asked.beside[at]
    both = comparable(cases, marked)
    ran_beside = int((both & marked & beside).sum())
    enough = min(ran_beside, int((both & ~marked).sum())) >= LEAST_OF_EACH
    shift = stratified_shift(cases, blocks, values, marked) if enough else None
    return Neighbours(drawn, ran_beside, shift, None if shift else _why(good, enough))


def _why(good: Launches, enough: bool) -> str:
    """Why launches alone and beside others cannot be compared."""
    if enough:
        return "which ran alone went with the block"
    count = count_text(len(good), "launch")
    if not good.beside.any():
        return f"all {count} ran alone"
    if good.beside.all():
        return f"all {count} ran beside others"
    return f"it takes {LEAST_OF_EACH} launches alone and beside others, in cases that have both"


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
