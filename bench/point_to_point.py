# SPDX-License-Identifier: Apache-2.0
"""Protocol switches found in simulated half round trips, and false ones, by law and noise.

Times are 20 µs + 1 ns a byte, 8 B to 512 KiB, four sizes an octave, with a step at a limit.
"""

from __future__ import annotations

import numpy as np

from reports.models.point_to_point import segmented

SEEDS = 100
ALPHA_S, BETA_S_PER_BYTE = 20e-6, 1e-9
SIZES = sorted({round(8 * 2 ** (k / 4)) for k in range(65)})
#: Limit in bytes (None: no switch) and the step there in s.
LAWS = ((None, 0.0), (16384, 20e-6), (65536, 20e-6), (65536, 10e-6), (131072, 40e-6))
NOISES = (0.01, 0.02, 0.05)


def simulated(limit: int | None, step_s: float, noise: float, seed: int) -> list[float]:
    """Times of SIZES, s, with relative normal noise."""
    m = np.array(SIZES, dtype=np.float64)
    times = ALPHA_S + BETA_S_PER_BYTE * m + np.where(m > (limit or np.inf), step_s, 0.0)
    scatter = 1 + noise * np.random.default_rng(seed).standard_normal(len(m))
    return [float(time) for time in times * scatter]


def count(limit: int | None, step_s: float, noise: float) -> tuple[int, int]:
    """Of SEEDS curves: how many switches are found in the interval that holds them; false ones."""
    found = false = 0
    for seed in range(SEEDS):
        switches = segmented(SIZES, simulated(limit, step_s, noise, seed), replicates=1).switches
        right = [s for s in switches if limit and s.below_bytes <= limit < s.above_bytes]
        found += bool(right)
        false += len(switches) - len(right)
    return found, false


def main() -> None:
    """Print a row for each noise and law."""
    print(f"{'noise':>6} {'limit':>7} {'step, µs':>8}  found  false (of {SEEDS})")
    for noise in NOISES:
        for limit, step_s in LAWS:
            found, false = count(limit, step_s, noise)
            step_us = round(step_s * 1e6)
            print(f"{noise:6.2f} {limit or 'none':>7} {step_us:8d} {found:6d} {false:6d}")


if __name__ == "__main__":
    main()
