# SPDX-License-Identifier: Apache-2.0
"""The time of a message between two ranks in closed form, and where its protocol changes.

t(m) = α + β·m with the start-up time α, n½ = α/β and R∞ = 1/β (R. W. Hockney, Parallel Computing
20, 1994; J. J. Dongarra and T. H. Dunigan, ORNL/TM-13018, 1996). Libraries send short messages at
once and ask before long ones, so a law holds inside one protocol segment only: one straight line
over all sizes gives neither latency nor rate. Lengths in bytes, times in s.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from plugins.predict.parts import MOST_PARTS, best_edges, costs_of_parts, line_of
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
#: What smooth times of the same scatter show as clearly in more than this share of draws is chance.
CHANCE = 0.05
#: Draws of such times; over more than DRAWN_SIZES sizes fewer, for the time it takes.
DRAWS, LEAST_DRAWS, DRAWN_SIZES = 99, 39, 100
#: Exponents of the smooth curves α + c·m^γ that a switch must be told from.
EXPONENTS = tuple(tenth / 10 for tenth in range(2, 21))
#: Stairs of packets are among them where the longest message has at least so many packets.
LEAST_PACKETS = 8
#: A smaller relative rms is the rounding of printed times.
LEAST_RMS = 1e-9


#: A segment is no line beyond this rms, …
MOST_RMS = 0.15
#: … nor beyond ENOUGH_RMS if the test of lack of fit has a smaller p than this.
LEAST_P = 0.01


@dataclass(frozen=True, slots=True)
class Line:
    """α + β·m with α, β ≥ 0 over sizes `first` to `last`; rms of the relative residuals.

    What launches add (`launches`): `lack_of_fit`, the p of the test that the launches
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
    a break anywhere between the two sizes leaves, and `clearness` a switch's step in ln t over its
    standard error. `is_switch` tells a step from a mere change of slope, and from the steps that
    lines through a curve without one, smooth or stairs of packets, have by chance. What launches
    add: `support`, the share of resamples that break in this very interval, and `low` to `high`,
    that which holds the break in 95 % of them.
    """

    below_bytes: int
    above_bytes: int
    step: float
    is_switch: bool
    clearness: float
    support: float | None = None
    low_bytes: int = 0
    high_bytes: int = 0


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


def segmented(sizes: Sequence[int], times_s: Sequence[float], *, seed: int = 1) -> Segmentation:
    """Straight lines per protocol segment, and the breaks between them.

    On one time for each size the least Σ((t − f)/t)² is found for each number of segments, with at
    least LEAST_POINTS sizes in each (parts). Taken is the least number with an rms of
    ENOUGH_RMS or to which a further one brings less than LEAST_GAIN; and beyond it a greater
    number, if each segment more halves the squares and adds a switch: so a step is found that is
    small against ENOUGH_RMS but large against the scatter, and a curved line is not cut up. Of
    these the segments and switches stay that `_significant` tells from chance.
    `sizes` ascending, LEAST_POINTS to MOST_SIZES of them; times above 0.
    """
    m, t = np.asarray(sizes, dtype=np.float64), np.asarray(times_s, dtype=np.float64)
    candidates = [_with_lines(m, t, edges) for edges in best_edges(costs_of_parts(m, t))]
    return _significant(m, t, candidates, _chosen(candidates), seed)


def supported(
    chosen: Segmentation, m: Vector, replicated: NDArray[np.int64], tail: float
) -> Segmentation:
    """The breaks with their support and interval, from the edges of replicates, a row each; all
    but `tail` of them at either end lie in it."""
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


def _significant(
    m: Vector, t: Vector, candidates: Sequence[Segmentation], chosen: Segmentation, seed: int
) -> Segmentation:
    """`chosen`, or fewer segments, without what chance explains at the level CHANCE.

    Supremum F tests by a residual bootstrap (D. W. K. Andrews, Econometrica 61, 1993; B. E. Hansen,
    J. Econometrics 97, 2000), the search repeated in each draw. The last segment goes while the
    squares shrink as much in draws of the lines without it.
    """
    generator = np.random.default_rng(seed)
    draws = max(LEAST_DRAWS, round(DRAWS * min(1.0, (DRAWN_SIZES / len(m)) ** 2)))
    most = CHANCE * (draws + 1) - 1
    for parts in range(len(chosen.segments), 1, -1):
        fewer, chosen = candidates[parts - 2 : parts]
        on_fewer = _drawn(t, _on_lines(m, t, fewer), 2 * parts - 2, generator, draws)
        share = (chosen.rms / fewer.rms) ** 2
        shrinks = (_left(m, times, parts) <= share for times in on_fewer)
        if all(count <= most for count in accumulate(shrinks)):
            break
    else:
        return candidates[0]
    return _told_apart(m, t, chosen, generator, draws) if chosen.switches else chosen


def _told_apart(
    m: Vector, t: Vector, chosen: Segmentation, generator: np.random.Generator, draws: int
) -> Segmentation:
    """`chosen` with those switches alone that are clearer than chance makes them.

    A switch is one if the clearest one in draws of the best curve without a switch is as clear in
    no more than CHANCE of them. Draws are cut into as many segments; of stairs, which hold steps,
    into any number.
    """
    parts, most = len(chosen.segments), CHANCE * (draws + 1) - 1
    clearness = np.array([one.clearness if one.is_switch else 0.0 for one in chosen.breaks])
    as_clear = np.zeros(len(clearness))
    fitted, taken, is_stairs = _without_switch(m, t, chosen)
    for times in _drawn(t, fitted, taken, generator, draws):
        cuts = best_edges(costs_of_parts(m, times), MOST_PARTS if is_stairs else parts)
        drawn = (
            one
            for edges in cuts[1 if is_stairs else -1 :]
            for one in _with_lines(m, times, edges).breaks
        )
        as_clear += max(one.clearness for one in drawn) >= clearness
        if (as_clear > most).all():
            break
    breaks = (
        replace(one, is_switch=n <= most)
        for one, n in zip(chosen.breaks, as_clear.tolist(), strict=True)
    )
    return replace(chosen, breaks=tuple(breaks))


def _left(m: Vector, t: Vector, parts: int) -> float:
    """The share of the least squares of one part fewer that `parts` parts leave."""
    costs = costs_of_parts(m, t)
    fewer, more = (
        sum(costs[low, high] for low, high in pairwise(edges))
        for edges in best_edges(costs, parts)[-2:]
    )
    return float(more / fewer) if fewer > 0 else 1.0


def _drawn(
    t: Vector, fitted: Vector, taken: int, generator: np.random.Generator, draws: int
) -> Iterator[Vector]:
    """`fitted` times residuals drawn at random, widened for the `taken` parameters."""
    residuals = np.log(t / fitted)
    residuals = (residuals - residuals.mean()) * math.sqrt(len(t) / (len(t) - taken))
    for _ in range(draws):
        yield fitted * np.exp(generator.choice(residuals, len(t)))


def _without_switch(m: Vector, t: Vector, chosen: Segmentation) -> tuple[Vector, int, bool]:
    """The times of the curve without a switch that has the least variance of residuals, its
    parameters, and whether it is stairs.

    Of α + β·m, α + c·m^γ, lines with one bend, lines that bend at the breaks of `chosen`, and
    stairs of packets, α + c·⌈m/p⌉ and α + β·m + c·⌈m/p⌉ with p a size.
    """
    one = np.ones_like(m)
    knots = [m[1:-1][place : place + 1] for place in range(len(m) - 2)]
    knots.append(np.array([float(found.above_bytes) for found in chosen.breaks]))
    curves = [(one[:, np.newaxis], 1, False), (np.column_stack([one, m]), 2, False)]
    curves += [(np.column_stack([one, m**exponent]), 3, False) for exponent in EXPONENTS]
    for at in knots:
        bent = np.maximum(m[:, np.newaxis] - at, 0.0)
        curves.append((np.column_stack([one, m, bent]), 2 + 2 * len(at), False))
    stairs = [np.ceil(m / packet) for packet in m[(m > 0) & (m * LEAST_PACKETS <= m[-1])]]
    curves += [(np.column_stack([one, steps]), 3, True) for steps in stairs]
    curves += [(np.column_stack([one, m, steps]), 4, True) for steps in stairs]
    found = []
    for columns, taken, is_stairs in curves:
        relative = columns / t[:, np.newaxis]
        scale = np.linalg.norm(relative, axis=0)
        solution = np.linalg.lstsq(relative / scale, one, rcond=None)[0] / scale
        fitted = columns @ solution
        if (fitted > 0).all():
            variance = float(((fitted / t - 1) ** 2).sum()) / (len(m) - taken)
            found.append((variance, taken, fitted, is_stairs))
    _, taken, fitted, is_stairs = min(found, key=lambda curve: curve[:2])
    return fitted, taken, is_stairs


def _on_lines(m: Vector, t: Vector, chosen: Segmentation) -> Vector:
    """The times of the segments' lines, α free; the measured ones where these are not above 0."""
    edges = np.cumsum([0, *(line.points for line in chosen.segments)]).tolist()
    lines = [_fit(m[low:high], t[low:high], free=True) for low, high in pairwise(edges)]
    parts = zip(lines, pairwise(edges), strict=True)
    times = np.concatenate(
        [line.alpha_s + line.beta_s_per_byte * m[low:high] for line, (low, high) in parts]
    )
    return np.where(times > 0, times, t)


def _with_lines(m: Vector, t: Vector, edges: Sequence[int]) -> Segmentation:
    """The best line in each part between `edges`, and the breaks between parts, not replicated."""
    parts = [(m[low:high], t[low:high]) for low, high in pairwise(edges)]
    free = [_fit(*part, free=True) for part in parts]
    squares = sum(line.points * line.rms**2 for line in free)
    rms = math.sqrt(squares / len(m))
    breaks = []
    scatter = max(LEAST_RMS, rms * math.sqrt(len(m) / max(1, len(m) - 2 * len(parts))))
    for (pair, sides), edge in zip(
        zip(pairwise(free), pairwise(parts), strict=True), edges[1:-1], strict=True
    ):
        below, above = int(m[edge - 1]), int(m[edge])
        times = [[line.at(size) for line in pair] for size in (below, above)]
        ratios = [r / left if left > 0 and r > 0 else math.inf for left, r in times]
        higher = [r >= left for left, r in times]
        step = 0.0  # where the lines cross between the two sizes
        if higher[0] == higher[1]:
            step = min(ratios, key=lambda ratio: abs(math.log(ratio))) - 1
        is_switch = abs(step) > max(LEAST_STEP, LEAST_STEP_RMS * rms)
        clearness = 0.0
        if is_switch:
            ends = zip(sides, pair, (below, above), strict=True)
            error = math.hypot(*(_error(*side, line, size) for side, line, size in ends))
            clearness = abs(math.log(max(1 + step, LEAST_RMS))) / (scatter * error)
        breaks.append(Break(below, above, step, is_switch, clearness))
    return Segmentation(tuple(_fit(*part) for part in parts), tuple(breaks), rms)


def _error(m: Vector, t: Vector, line: Line, size: int) -> float:
    """Relative standard error of the line with α free at a size, in units of the scatter."""
    relative = np.column_stack([1 / t, m / m[-1] / t])
    there = np.array([1.0, size / m[-1]])
    error = math.sqrt(max(0.0, float(there @ np.linalg.pinv(relative.T @ relative) @ there)))
    return error / line.at(size) if line.at(size) > 0 else math.inf


def _fit(m: Vector, t: Vector, *, free: bool = False) -> Line:
    alpha, beta = (float(one[0]) for one in line_of(m, t[np.newaxis], free=free))
    rms = float(np.sqrt(np.mean(((t - alpha - beta * m) / t) ** 2)))
    return Line(alpha, beta, int(m[0]), int(m[-1]), len(m), rms)
