# SPDX-License-Identifier: Apache-2.0
"""About how long the launches to come take: the plan's estimates, corrected by those done."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

#: Launches whose estimates weigh as much as what was seen: the first few tell little.
TRUSTED = 3


class TimeLeft:
    """What is left of launches of cases with these estimates.

    A launch took the time since the one before, whatever it waited for; the first one is left out,
    for programs are built before it.
    """

    def __init__(
        self,
        estimates_s: Mapping[str, float],
        coming: Iterable[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._estimates_s, self._clock = estimates_s, clock
        launches = Counter(coming)
        #: By the plan's estimates.
        self._left_s = sum(estimates_s.get(case, 0.0) * n for case, n in launches.items())
        self._coming = launches.total()
        self._prior_s = TRUSTED * self._left_s / self._coming if launches else 0.0
        self._since: float | None = None
        self._took_s = self._estimated_s = 0.0

    def done(self, case_id: str) -> None:
        """A launch of a case has ended."""
        now, estimate_s = self._clock(), self._estimates_s.get(case_id, 0.0)
        if self._since is not None:
            self._took_s += now - self._since
            self._estimated_s += estimate_s
        self._since = now
        self._coming -= 1
        self._left_s = max(0.0, self._left_s - estimate_s) if self._coming > 0 else 0.0

    @property
    def seconds(self) -> float:
        """About how many seconds are left."""
        known_s = self._prior_s + self._estimated_s
        return self._left_s * (self._prior_s + self._took_s) / known_s if known_s else 0.0


def time_text(time_s: float) -> str:
    """ "40 s", "7 min", "2.5 h"."""
    if time_s < 90:
        return f"{math.ceil(time_s)} s"
    return f"{time_s / 60:.0f} min" if time_s < 5400 else f"{time_s / 3600:.1f} h"
