# SPDX-License-Identifier: Apache-2.0
"""Physics of su3_rmd: mean plaquettes against known ones, and the square law of the time step.

usage: physics.py [--trajectories N] PROGRAM LAUNCHER…     (LAUNCHER… may be absent: one rank)

Each mean is taken over N trajectories after 200 warm-ups, its standard error over bins. It must be
within 3 combined standard errors of the table, whose values at finite time step and from a heat
bath are independent of this program. 8x8x8x8 at beta 6.0, trajectory length 0.5 unless said.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
from dataclasses import dataclass

WARMS, BIN, SIGMAS = 200, 50, 3.0
SLOPE = (0.65, 0.77)


@dataclass(frozen=True)
class Point:
    """A lattice n⁴ with what the mean plaquette must be; tau = length of a trajectory."""

    n: int
    beta: float
    epsilon: float
    tau: float
    plaquette: float
    error: float


HEAT_BATH = {
    (8, 6.0): (0.59402, 0.00018),
    (8, 5.7): (0.54902, 0.00037),
    (4, 6.0): (0.59677, 0.00020),
    (4, 5.7): (0.55949, 0.00033),
}
TABLE = [
    Point(8, 6.0, 0.02, 0.5, 0.59436, 0.00024),
    Point(8, 6.0, 0.05, 0.5, 0.59601, 0.00022),
    Point(8, 6.0, 0.1, 0.5, 0.60106, 0.00041),
    Point(8, 5.7, 0.025, 1.0, 0.54889, 0.00040),
    Point(8, 5.7, 0.05, 1.0, 0.55106, 0.00030),
    Point(4, 6.0, 0.02, 0.5, 0.59730, 0.00029),
    Point(4, 6.0, 0.05, 0.5, 0.59889, 0.00027),
    Point(4, 6.0, 0.1, 0.5, 0.60364, 0.00030),
    Point(4, 5.7, 0.02, 0.5, 0.56007, 0.00061),
    Point(4, 5.7, 0.05, 0.5, 0.56037, 0.00061),
    Point(4, 5.7, 0.1, 0.5, 0.56662, 0.00079),
]


def run(command: list[str], point: Point, trajectories: int, seed: int) -> list[float]:
    """The plaquette, (ss + st)/6, after each trajectory."""
    text = (
        f"prompt 0 nx {point.n} ny {point.n} nz {point.n} nt {point.n} iseed {seed}\n"
        f"warms {WARMS} trajecs {trajectories} traj_between_meas 1 beta {point.beta}\n"
        f"microcanonical_time_step {point.epsilon}\n"
        f"steps_per_trajectory {round(point.tau / point.epsilon)} fresh forget\n"
    )
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    words = [line.split() for line in done.stdout.splitlines() if line.startswith("GMES")]
    return [(float(w[4]) + float(w[5])) / 6 for w in words]


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error from bins, which are longer than the correlation."""
    size = max(BIN, len(values) // 40)
    bins = [statistics.fmean(values[i : i + size]) for i in range(0, len(values) - size + 1, size)]
    return statistics.fmean(values), statistics.stdev(bins) / math.sqrt(len(bins))


def judge(what: str, value: float, error: float, expected: float, expected_error: float) -> bool:
    """Print one line; True when within SIGMAS combined standard errors."""
    combined = math.hypot(error, expected_error)
    pull = (value - expected) / combined
    right = abs(pull) <= SIGMAS
    print(
        f"{'right' if right else 'WRONG':6} {what}: {value:.5f}({error:.5f}), "
        f"expected {expected:.5f}({expected_error:.5f}), {pull:+.1f} sigma",
        flush=True,
    )
    return right


def square_law(means: dict[Point, tuple[float, float]]) -> bool:
    """P(eps) = P0 + c eps²: P0 is the heat bath's, c in the known range; weighted least squares."""
    right = True
    for (n, beta), (bath, bath_error) in HEAT_BATH.items():
        points = [p for p in TABLE if (p.n, p.beta) == (n, beta)]
        rows = [(p.epsilon**2, means[p][0], 1 / means[p][1] ** 2) for p in points]
        total = sum(weight for _, _, weight in rows)
        x_mean = sum(weight * x for x, _, weight in rows) / total
        y_mean = sum(weight * y for _, y, weight in rows) / total
        spread = sum(weight * (x - x_mean) ** 2 for x, _, weight in rows)
        slope = sum(weight * (x - x_mean) * (y - y_mean) for x, y, weight in rows) / spread
        error = math.sqrt(1 / total + x_mean**2 / spread)
        what = f"{n}^4 beta {beta}: P at time step 0 against heat bath"
        right &= judge(what, y_mean - slope * x_mean, error, bath, bath_error)
        middle, half = sum(SLOPE) / 2, (SLOPE[1] - SLOPE[0]) / 2
        right &= judge(f"{n}^4 beta {beta}: slope c", slope, 1 / math.sqrt(spread), middle, half)
    return right


def main() -> int:
    """Run the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=int, default=2000)
    parser.add_argument("program")
    parser.add_argument("launcher", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = [*arguments.launcher, arguments.program]
    right, means = True, {}
    for number, point in enumerate(TABLE):
        values = run(command, point, arguments.trajectories, 1000 + number)
        means[point] = mean_and_error(values)
        what = f"{point.n}^4 beta {point.beta} step {point.epsilon} length {point.tau}"
        right &= judge(what, *means[point], point.plaquette, point.error)
    return 0 if right & square_law(means) else 1


if __name__ == "__main__":
    sys.exit(main())
