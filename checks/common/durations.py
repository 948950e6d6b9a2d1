# SPDX-License-Identifier: Apache-2.0
"""Least durations of measurements, and how much longer a short launch should have measured.

A value that was timed in one go takes the time of what else ran on its cores: a task that the
kernel lets in stays for a tick, 4 ms at 250 Hz. Below 0.2 s one such tick moves the value by more
than 2 %, what blocks of an application aim at. Of many samples the median is taken, which one
disturbance moves only if it lasts over half of them. Cores change their clock every 0.5 ms at the
earliest (D. Hackenberg et al., An Energy Efficiency Feature Survey of the Intel Haswell Processor,
IPDPSW 2015), so samples that together last less than 1 ms may all have caught the same state.
"""

from __future__ import annotations

from collections.abc import Iterable

#: A value timed in one go is measured for at least this long, in seconds.
LEAST_ONCE_S = 0.2
#: The samples behind a median last at least this long together, in seconds.
LEAST_REPEATED_S = 1e-3
#: A core in matrix multiplication as fast as one may expect in 2026: 512-bit vectors at 2 to 3 GHz.
FAST_CORE_FLOP_PER_S = 5e10


def shortfall(times_s: Iterable[float], least_s: float) -> tuple[float, float] | None:
    """The middle one of the times behind the values of a launch, and how many times longer it
    should be to last `least_s`; None: long enough, as half of the values and more are.
    """
    ordered = sorted(times_s)
    if not ordered:
        return None
    middle_s = ordered[len(ordered) // 2]
    factor = least_s / max(middle_s, 1e-12)
    return (middle_s, factor) if factor > 1 else None
