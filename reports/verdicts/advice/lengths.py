# SPDX-License-Identifier: Apache-2.0
"""Times by message length: at a length, of several messages at once, and where there are none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from reports.notation.units import bytes_text
from reports.statistics.descriptive import Matrix, Vector
from reports.verdicts.advice.demand import Demand

#: Beyond so many times the greatest measured length or rank count there is no curve, …
MOST_BEYOND = 8.0
#: … and up to there each doubling adds this relative error [choice].
ERROR_PER_DOUBLING = 0.1
#: Times grow at most as their lengths but for protocols' limits; so much more is one.
_STEP = 1.1
#: … and such a step in the time of a message is that of a library that asks before it sends.
_ASKS = 1.3
#: Up to here a time counts as measured: a length between the last ones and the rounding of bins.
_BARELY = 1.05


@dataclass(frozen=True, slots=True)
class NoCurve:
    """Why a call has no time, and the check that measures it, "" where none does."""

    why: str
    check: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class CallTime:
    """One call in s, by resample. `error` is the relative error of what was not measured there;
    `beyond` says what of it was not measured, `crowded` that ranks shared cores."""

    time_s: Vector
    error: float = 0.0
    beyond: str = ""
    crowded: bool = False


@dataclass(frozen=True, eq=False)
class LengthCurve:
    """Times by ascending message length, shape (resamples, lengths); `spread`: the relative error
    of each length's time that comes of what precedes a call."""

    sizes: Vector
    time_s: Matrix
    crowded: bool = False
    spread: Vector | None = None

    def at(self, length: float) -> tuple[Vector, float]:
        """The time at a length, with its relative error by spread; shorter than the least the line
        of the first two goes on, to half of the least time at most. Where the time between two
        lengths grows more than the length does, a protocol's limit is between them: close to the
        one that is a power of two, else anywhere, with half of the step as error."""
        time_s, sizes = self.time_s, self.sizes
        spread = np.zeros(len(sizes)) if self.spread is None else self.spread
        if len(sizes) == 1:
            beyond = max(1.0, length / max(1.0, float(sizes[0])))  # a barrier has no bytes
            return time_s[:, 0] * beyond, float(spread[0])
        place = int(np.clip(np.searchsorted(sizes, length), 1, len(sizes) - 1))
        low, high = time_s[:, place - 1], time_s[:, place]
        share = (length - sizes[place - 1]) / (sizes[place] - sizes[place - 1])
        error = float(spread[place - 1] + np.clip(share, 0, 1) * np.diff(spread)[place - 1])
        step = float(high[0] / low[0] / (sizes[place] / sizes[place - 1]))
        if step > _STEP and 0 < share < 1:
            ends = [math.log2(size).is_integer() for size in sizes[place - 1 : place + 1]]
            if ends[0] != ends[1]:
                return (high if ends[0] else low), error
            return np.sqrt(low * high), math.hypot(error, math.log(step) / 2)
        if share > 1:
            high = np.maximum(high, low)
        return np.maximum(low + share * (high - low), 0.5 * low), error

    def asks_at(self, length: float) -> bool:
        """Whether a message of this length is announced before it is sent."""
        steps = self.time_s[0, 1:] / self.time_s[0, :-1] / (self.sizes[1:] / self.sizes[:-1])
        return bool(np.any(steps[self.sizes[:-1] < length] > _ASKS))


def of_many(curves: Mapping[int, LengthCurve], demand: Demand) -> CallTime | NoCurve:
    """A message of so many at once: their time is a straight line between two numbers that were
    measured, and beyond the greatest each takes as long as there. One that is alone is of a stream
    as far as messages were there before they were asked for."""
    numbers = sorted(number for number in curves if number > 0) if demand.at_once else []
    numbers = numbers or [0 if 0 in curves else max(curves)]
    wanted = float(np.clip(demand.at_once, numbers[0], numbers[-1]))
    place = int(np.searchsorted(numbers, wanted))
    high, low, share = numbers[place], numbers[max(0, place - 1)], 1.0
    if high > low:
        share = (wanted - low) / (high - low)
    elif not demand.at_once and -1 in curves:
        low, share = -1, 1 - demand.ahead
    many, few = (at_length(curves[number], demand.message_bytes) for number in (high, low))
    if isinstance(many, NoCurve) or isinstance(few, NoCurve):
        return many
    whole = (1 - share) * max(1, low) * few.time_s + share * max(1, high) * many.time_s
    error = (1 - share) * few.error + share * many.error
    return replace(many, time_s=whole / max(1.0, wanted), error=error)


def at_length(curve: LengthCurve, length: float) -> CallTime | NoCurve:
    """The time of a measured curve, with what its extrapolation adds."""
    beyond = length / max(1.0, float(curve.sizes[-1]))
    if beyond > MOST_BEYOND:
        longest = bytes_text(curve.sizes[-1])
        return NoCurve(
            f"messages of {bytes_text(round(length))}; the longest measured has {longest}"
        )
    time_s, error = curve.at(length)
    if beyond <= _BARELY:
        return CallTime(time_s, error, crowded=curve.crowded)
    text = f"messages of {bytes_text(round(length))}, {bytes_text(curve.sizes[-1])} measured"
    error = math.hypot(error, ERROR_PER_DOUBLING * math.log2(beyond))
    return CallTime(time_s, error, text, curve.crowded)
