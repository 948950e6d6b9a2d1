# SPDX-License-Identifier: Apache-2.0
"""Whether launches that ran side by side in one allocation were slower for it.

The seed draws some launches to run alone that could share the allocation. Each launch counts
once: by the mean, over its points, of the logarithm of its check's deciding metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reports.analysis import Analysis
from reports.load.launches import BESIDE, NOT_DRAWN, Launches
from reports.notation.units import count_text
from reports.statistics.stratified import LEAST_OF_EACH, Shift, comparable, stratified_shift

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
        """Whether they were worse, or better, beyond chance."""
        return self.worse is not None and self.worse.p < ALPHA

    def told(self) -> str:
        """One sentence with number and interval, or why it cannot be tested."""
        if self.worse is None:
            return f"Whether neighbours mattered cannot be tested: {self.why}."
        n, drawn = self.worse.n, "drawn to run " * (self.ran_beside < self.worse.n)
        alone = count_text(self.worse.others, "launch", "launches")
        said = "Neighbours mattered" if self.mattered else "No effect of neighbours was resolved"
        rest = "; as they were drawn by the seed, no environment gains by it" * self.mattered
        beside = f"{n} {drawn}beside others{f', of which {self.ran_beside} did' * bool(drawn)}"
        return (
            f"{said}: launches {drawn}beside others were {self.percent()} than the same cases"
            f" alone ({self._interval()}, n = {alone} alone, {beside})"
            f"{rest if self.drawn else '; which ran alone was not drawn'}."
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
@lru_cache(maxsize=2)
def neighbours_of(analysis: Analysis) -> Neighbours | None:
    """What a run tells of neighbours; None where launches had jobs of their own."""
    run = analysis.run
    good = run.launches.part(run.launches.counted & run.launches.of_status("ok"))
    if not run.provenance.site.in_one_job or not len(good):
        return None
    drawn = bool((good.drawn != NOT_DRAWN).any())
    asked = good.part(good.drawn != NOT_DRAWN) if drawn else good
    marks = asked.drawn == BESIDE if drawn else asked.beside
    pairs = zip(asked.case.tolist(), asked.block.tolist(), strict=True)
    kinds = dict(zip(pairs, zip(marks.tolist(), asked.beside.tolist(), strict=True), strict=True))
    values = {key: value for key, value in _launch_values(analysis) if key in kinds}
    cases, blocks = np.array([*values], dtype=np.int64).reshape(-1, 2).T
    marked, beside = np.array([kinds[key] for key in values], dtype=bool).reshape(-1, 2).T
    both = comparable(cases, marked)
    ran_beside = int((both & marked & beside).sum())
    enough = min(ran_beside, int((both & ~marked).sum())) >= LEAST_OF_EACH
    shift = None
    if enough:
        shift = stratified_shift(cases, blocks, np.array([*values.values()]), marked)
    return Neighbours(drawn, ran_beside, shift, None if shift else _why(good, enough))


def _why(good: Launches, enough: bool) -> str:
    """Why launches alone and beside others cannot be compared."""
    if enough:
        return "which ran alone went with the block"
    count = count_text(len(good), "launch", "launches")
    if not good.beside.any():
        return f"all {count} ran alone"
    if good.beside.all():
        return f"all {count} ran beside others"
    return f"it takes {LEAST_OF_EACH} launches alone and beside others, in cases that have both"


def _launch_values(analysis: Analysis) -> Iterator[tuple[tuple[int, int], float]]:
    """The value of each launch, by position of its case and block; a greater one is worse."""
    cases: list[NDArray[np.int64]] = []
    blocks: list[NDArray[np.int64]] = []
    values: list[NDArray[np.float64]] = []
    for check in analysis.checks:
        metric = analysis.deciding_metric(check)
        if not metric:
            continue
        sign = 1.0 if analysis.register.metrics[metric].better == "lower" else -1.0
        for row in analysis.rows_of(check, metric):
            series = row.series
            if (series.values <= 0).any():
                continue
            logs = sign * np.log(series.values)
            values.append(logs - np.median(logs))
            cases.append(np.full(len(logs), series.case))
            blocks.append(series.blocks)
    if not values:
        return
    most = int(max(found.max() for found in blocks)) + 1
    codes = np.concatenate(cases) * most + np.concatenate(blocks)
    keys, launch = np.unique(codes, return_inverse=True)
    means = np.bincount(launch, np.concatenate(values)) / np.bincount(launch)
    for key, value in zip(keys.tolist(), means.tolist(), strict=True):
        yield divmod(key, most), value
