# SPDX-License-Identifier: Apache-2.0
"""Times that survive a clock that is set: by a person, by NTP, by the host of a virtual machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

#: /proc/uptime counts hundredths of a second, cut off; its texts and stamps' are decimal.
_TICK_S, _ROUNDED_S = 0.01, 2e-6


@dataclass(frozen=True)
class Moment:
    """An instant by this host's clock (seconds since 1970), and by one that cannot be set."""

    wall: float
    steady: float

    @classmethod
    def now(cls) -> Moment:
        """This instant."""
        return cls(time.time(), time.monotonic())

    def ago_s(self) -> float:
        """Seconds since then, regardless of how the clock was set meanwhile."""
        return time.monotonic() - self.steady

    def set_since(self, before: Moment) -> float:
        """By how many seconds this host's clock was set between `before` and this instant."""
        return (self.wall - before.wall) - (self.steady - before.steady)


@dataclass(frozen=True)
class Stamp:
    """An instant of a session, in seconds since 1970, and its host's uptime just before and after.

    `up` is in seconds; None: the host does not tell it.
    """

    at: float
    up: tuple[float, float] | None = None


def set_by(stamps: Sequence[Stamp]) -> list[float]:
    """By how many seconds their host's clock was set between successive stamps, each time it was.

    When the host started follows from each stamp, within an interval: while the clock is not set,
    all these have an instant in common.
    """
    found: list[tuple[float, float]] = []
    for stamp in stamps:
        if stamp.up is None:
            continue
        least, most = stamp.at - stamp.up[1] - _TICK_S, stamp.at - stamp.up[0]
        both = (max(least, found[-1][0]), min(most, found[-1][1])) if found else (least, most)
        if found and both[0] <= both[1] + _ROUNDED_S:
            found[-1] = both
        else:
            found.append((least, most))
    middles = [(least + most) / 2 for least, most in found]
    return [after - before for before, after in pairwise(middles)]
