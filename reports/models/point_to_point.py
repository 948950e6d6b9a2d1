# SPDX-License-Identifier: Apache-2.0
"""The time of a message between two ranks in closed form, and where its protocol changes.

t(m) = α + β·m with the start-up time α, n½ = α/β and R∞ = 1/β (R. W. Hockney, Parallel Computing
20, 1994; J. J. Dongarra and T. H. Dunigan, ORNL/TM-13018, 1996). Libraries send short messages at
once and ask before long ones, so a law holds inside one protocol segment only: one straight line
over all sizes gives neither latency nor rate. Lengths in bytes, times in s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reports.models.parts import LEAST_POINTS, best_edges, costs_of_parts, line_of
from reports.statistics.descriptive import Interval, Vector

#: Beyond this the search, whose cost grows with the square, is refused.
MOST_SIZES = 500
#: A segmentation whose relative residuals have this rms needs no further segment …
ENOUGH_RMS = 0.05
#: … nor one to which a further segment would bring less than this share of the squares.
LEAST_GAIN = 0.25
#: … unless each further one leaves at most this share of the squares and adds a switch.
SWITCH_SHARE = 0.5
#: A break is a switch when the time steps by more than this share of it there …
LEAST_STEP = 0.05
#: … and by more than so many times the residuals' rms; else the slope bends.
LEAST_STEP_RMS = 3.0
#: Left out at both ends of a break's replicates.
BOOTSTRAP_TAIL = 0.025


#: A segment is no line beyond this rms, …
MOST_RMS = 0.15
#: … nor beyond ENOUGH_RMS if the test of lack of fit has a smaller p than this.
LEAST_P = 0.01


@dataclass(frozen=True, slots=True)
class Line:
    """α + β·m with α, β ≥ 0 over sizes `first` to `last`; rms of the relative residuals.

    What launches add (`models.launches`): `lack_of_fit`, the p of the test that the launches
    follow the line, and the intervals of α, R∞ and n½.
    """

    alpha_s: float
    beta_s_per_byte: float
    first_bytes: int
    last_bytes: int
    points: int
    rms: float
    lack_of_fit: float | None = None
    alpha: Interval | None = None
    bandwidth: Interval | None = None
    half_length: Interval | None = None

    @property
    def poor(self) -> str | None:
        """Why the times are no line, which then gives neither latency nor rate; None if they are.

        A start-up time held at 0 in nearly every resample would be negative: no line either.
        """
        if self.rms > MOST_RMS:
            return f"residuals of {self.rms:.0%} rms"
        if self.lack_of_fit is not None and self.lack_of_fit < LEAST_P and self.rms > ENOUGH_RMS:
            return "lack of fit"
        return "α below 0" if self.alpha and self.alpha.high <= 0 else None

    @property
    def half_length_bytes(self) -> float | None:
        """n½ = α/β: the length that reaches half of R∞. None where β = 0."""
        return self.alpha_s / self.beta_s_per_byte if self.beta_s_per_byte > 0 else None

    @property
    def bandwidth_bytes_per_s(self) -> float | None:
        """R∞ = 1/β. None where β = 0."""
        return 1 / self.beta_s_per_byte if self.beta_s_per_byte > 0 else None

    def at(self, message_bytes: float) -> float:
        """The line's time at a length, s."""
        return self.alpha_s + self.beta_s_per_byte * message_bytes


@dataclass(frozen=True, slots=True)
class Break:
    """Between `below` and `above`, neighbouring sizes, one segment ends and the next begins.

    `step` is how the time changes there, the right line over the left one, minus 1: the least that
    a break anywhere between the two sizes leaves. `is_switch` tells a step from a mere change of
    slope. `support` is the share of bootstrap replicates that break in this very interval, `low` to
    `high` the interval that holds the break in 95 % of them.
    """

    below_bytes: int
    above_bytes: int
    step: float
    is_switch: bool
    support: float
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The lines of all protocol segments, ascending, and the breaks between them.

    `segments` have α, β ≥ 0. `rms` and the breaks' steps are those of lines whose α is free.
    """

    segments: tuple[Line, ...]
    breaks: tuple[Break, ...]
    rms: float

    @property
    def switches(self) -> tuple[Break, ...]:
        """The breaks at which the time steps: changes of protocol."""
        return tuple(one for one in self.breaks if one.is_switch)


def straight_line(sizes: Sequence[int], times_s: Sequence[float]) -> Line:
    """α and β by least squares of relative residuals, Σ((t − α − β·m)/t)², with α, β ≥ 0.

    `sizes` ascending, at least 2 of them; 0 is allowed. Raises ValueError otherwise.
    """
    m, t = _checked(sizes, times_s, least=2)
    return _fit(m, t)


def plain_line(sizes: Sequence[int], times_s: Sequence[float]) -> Line:
    """α and β by least squares of absolute residuals, unbounded, as the papers fitted theirs.

    For comparison only: the longest messages decide it, and α may come out negative. At least 2
    sizes. `rms` is that of the relative residuals.
    """
    m, t = _checked(sizes, times_s, least=2)
    slope, offset = np.polyfit(m, t, 1).tolist()
    return _line(m, t, offset, slope)


def direct_half_length(sizes: Sequence[int], times_s: Sequence[float]) -> int:
    """The least length whose rate m/t reaches half of the greatest rate measured, bytes.

    Read off the measurements, with no law. At least 2 sizes.
    """
    m, t = _checked(sizes, times_s, least=2)
    rates = m / t
    return int(m[int(np.argmax(rates >= rates.max() / 2))])


def segmented(
    sizes: Sequence[int], times_s: Sequence[float], *, replicates: int = 100, seed: int = 1
) -> Segmentation:
    """Straight lines per protocol segment, and the breaks between them.

    On one time for each size the least Σ((t − f)/t)² is found for each number of segments, with at
    least LEAST_POINTS sizes in each (models.parts). Taken is the least number with an rms of
    ENOUGH_RMS or to which a further one brings less than LEAST_GAIN; and beyond it a greater
    number, if each segment more halves the squares and adds a switch: so a step is found that is
    small against ENOUGH_RMS but large against the scatter, and a curved line is not cut up.
    Breaks are bootstrapped: `replicates` times the relative residuals of each segment are drawn
    anew and the search is repeated with as many segments. `sizes` ascending, 4 to MOST_SIZES of
    them; raises ValueError otherwise.
    """
    m, t = _checked(sizes, times_s, least=LEAST_POINTS)
    if len(m) > MOST_SIZES:
        raise ValueError(f"{len(m)} sizes; allowed are at most {MOST_SIZES}")
    candidates = [_with_lines(m, t, edges) for edges in best_edges(costs_of_parts(m, t))]
    chosen = _chosen(candidates)
    if not chosen.breaks:
        return chosen
    return supported(chosen, m, _replicated_edges(m, t, chosen, replicates, seed))


def supported(
    chosen: Segmentation, m: Vector, replicated: NDArray[np.int64], tail: float = BOOTSTRAP_TAIL
) -> Segmentation:
    """The breaks with their support and interval, from the edges of replicates, a row each."""
    breaks = []
    for one, found in zip(chosen.breaks, replicated.T, strict=True):
        edge = int(np.searchsorted(m, one.above_bytes))
        edges = sorted([*found.tolist(), edge])
        cut = math.floor(tail * len(edges))
        low, high = int(m[edges[cut] - 1]), int(m[edges[-1 - cut]])
        support = edges.count(edge) / len(edges)
        breaks.append(replace(one, support=support, low_bytes=low, high_bytes=high))
    return replace(chosen, breaks=tuple(breaks))


def _chosen(candidates: Sequence[Segmentation]) -> Segmentation:
    """`candidates` have 1, 2, … segments."""
    squares = [one.rms**2 for one in candidates]
    least = next(
        (
            place
            for place, (own, further) in enumerate(pairwise(squares))
            if own <= ENOUGH_RMS**2 or own - further < LEAST_GAIN * own
        ),
        len(candidates) - 1,
    )
    chosen = least
    for place in range(least + 1, len(candidates)):
        more = place - chosen
        steps = len(candidates[place].switches) - len(candidates[chosen].switches)
        if squares[place] <= SWITCH_SHARE**more * squares[chosen] and steps >= more:
            chosen = place
    return candidates[chosen]


def _with_lines(m: Vector, t: Vector, edges: Sequence[int]) -> Segmentation:
    """The best line in each part between `edges`, and the breaks between parts, not replicated."""
    parts = [(m[low:high], t[low:high]) for low, high in pairwise(edges)]
    free = [_fit(*part, free=True) for part in parts]
    squares = sum(line.points * line.rms**2 for line in free)
    rms = math.sqrt(squares / len(m))
    breaks = []
    for pair, edge in zip(pairwise(free), edges[1:-1], strict=True):
        below, above = int(m[edge - 1]), int(m[edge])
        times = [[line.at(size) for line in pair] for size in (below, above)]
        ratios = [r / left if left > 0 and r > 0 else math.inf for left, r in times]
        step = 0.0  # where the lines cross between the two sizes
        if not min(ratios) <= 1 <= max(ratios):
            step = min(ratios, key=lambda ratio: abs(math.log(ratio))) - 1
        is_switch = abs(step) > max(LEAST_STEP, LEAST_STEP_RMS * rms)
        breaks.append(Break(below, above, step, is_switch, 1.0, below, above))
    return Segmentation(tuple(_fit(*part) for part in parts), tuple(breaks), rms)


def _checked(sizes: Sequence[int], times_s: Sequence[float], least: int) -> tuple[Vector, Vector]:
    m, t = np.asarray(sizes, dtype=np.float64), np.asarray(times_s, dtype=np.float64)
    if m.shape != t.shape or m.ndim != 1 or len(m) < least:
        raise ValueError(f"{len(m)} sizes and {len(t)} times; as many of both, at least {least}")
    if m[0] < 0 or not (np.diff(m) > 0).all():
        raise ValueError("sizes must ascend from 0 or above")
    if not (np.isfinite(t).all() and (t > 0).all()):
        raise ValueError("times must be above 0 and finite")
    return m, t


def _line(m: Vector, t: Vector, alpha: float, beta: float) -> Line:
    rms = float(np.sqrt(np.mean(((t - alpha - beta * m) / t) ** 2)))
    return Line(alpha, beta, int(m[0]), int(m[-1]), len(m), rms)


def _fit(m: Vector, t: Vector, *, free: bool = False) -> Line:
    alpha, beta = line_of(m, t[np.newaxis], free=free)
    return _line(m, t, float(alpha[0]), float(beta[0]))


def _replicated_edges(
    m: Vector, t: Vector, chosen: Segmentation, replicates: int, seed: int
) -> NDArray[np.int64]:
    """Inner edges of each replicate, shape (replicates, breaks).

    A replicate is the lines' times, each multiplied by the residual of a point drawn at random.
    """
    generator = np.random.default_rng(seed)
    edges = np.cumsum([0, *(line.points for line in chosen.segments)]).tolist()
    found = np.zeros((replicates, len(chosen.breaks)), dtype=np.int64)
    parts = []
    for low, high in pairwise(edges):
        line = _fit(m[low:high], t[low:high], free=True)
        times = line.alpha_s + line.beta_s_per_byte * m[low:high]
        times = np.where(times > 0, times, t[low:high])
        parts.append((times, t[low:high] / times))
    for row in range(replicates):
        drawn = [times * generator.choice(ratios, len(ratios)) for times, ratios in parts]
        costs = costs_of_parts(m, np.concatenate(drawn))
        found[row] = best_edges(costs, len(chosen.segments))[-1][1:-1]
    return found
