# SPDX-License-Identifier: Apache-2.0
"""Whether a launch measured for long enough to say something, and how much longer it should have.

A value that was timed in one go takes the time of what else ran on its cores: a task that the
kernel lets in stays for a tick, 4 ms at 250 Hz. Below 0.2 s one such tick moves the value by more
than 2 %, what blocks of an application aim at. Of many samples the median is taken, which one
disturbance moves only if it lasts over half of them. Cores change their clock every 0.5 ms at the
earliest (D. Hackenberg et al., An Energy Efficiency Feature Survey of the Intel Haswell Processor,
IPDPSW 2015), so samples that together last less than 1 ms may all have caught the same state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: A value timed in one go is measured for at least this long, in seconds.
LEAST_ONCE_S = 0.2
#: The samples behind a median last at least this long together, in seconds.
LEAST_REPEATED_S = 1e-3
#: A core in matrix multiplication as fast as one may expect in 2026: 512-bit vectors at 2 to 3 GHz.
FAST_CORE_FLOP_PER_S = 5e10


@dataclass(frozen=True, slots=True)
class Timed:
    """The time behind one value of a launch, over all its samples, and how long it should be."""

    time_s: float
    least_s: float


def shortfall(values: Iterable[Timed]) -> tuple[Timed, float] | None:
    """How many times longer a launch should be, and the value that says so; None: long enough.

    A launch of several values is too short if more than half of them are.
    """
    ordered = sorted(values, key=lambda timed: timed.least_s / max(timed.time_s, 1e-12))
    if not ordered:
        return None
    middle = ordered[(len(ordered) - 1) // 2]
    factor = middle.least_s / max(middle.time_s, 1e-12)
    return (middle, factor) if factor > 1 else None
