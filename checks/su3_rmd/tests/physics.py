# SPDX-License-Identifier: Apache-2.0
"""Physics of su3_rmd: mean plaquettes against known ones, and the square law of the time step.

usage: physics.py TRAJECTORIES PROGRAM LAUNCHER…     (LAUNCHER… may be absent: one rank)

Each mean is taken over the trajectories after 200 warm-ups, its standard error over bins. It must
be within 3 combined standard errors of the table, whose values at finite time step and from a heat
bath are independent of this program.
"""

import math
import statistics
import subprocess
import sys

WARMS, BIN, SIGMAS = 200, 50, 3.0
#: The slope of the square law and its range.
SLOPE, SLOPE_ERROR = 0.71, 0.06
#: By extent n of a lattice n⁴, beta and length of a trajectory: the mean plaquette with its error,
#: by time step; at 0 from a heat bath.
TABLE = {
    (8, 6.0, 0.5): {
        0: (0.59402, 0.00018),
        0.02: (0.59436, 0.00024),
        0.05: (0.59601, 0.00022),
        0.1: (0.60106, 0.00041),
    },
    (8, 5.7, 1.0): {0: (0.54902, 0.00037), 0.025: (0.54889, 0.00040), 0.05: (0.55106, 0.00030)},
    (4, 6.0, 0.5): {
        0: (0.59677, 0.00020),
        0.02: (0.59730, 0.00029),
        0.05: (0.59889, 0.00027),
        0.1: (0.60364, 0.00030),
    },
    (4, 5.7, 0.5): {
        0: (0.55949, 0.00033),
        0.02: (0.56007, 0.00061),
        0.05: (0.56037, 0.00061),
        0.1: (0.56662, 0.00079),
    },
}


def mean_and_error(command: list[str], text: str) -> tuple[float, float]:
    """Mean of the plaquette, (ss + st)/6, after each trajectory, and its standard error from bins,
    which are longer than the correlation."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    words = [line.split() for line in done.stdout.splitlines() if line.startswith("GMES")]
    values = [(float(w[4]) + float(w[5])) / 6 for w in words]
    size = max(BIN, len(values) // 40)
    bins = [statistics.fmean(values[i : i + size]) for i in range(0, len(values) - size + 1, size)]
    return statistics.fmean(values), statistics.stdev(bins) / math.sqrt(len(bins))


def judge(what: str, value: float, error: float, expected: float, expected_error: float) -> bool:
    """Print one line; True when within SIGMAS combined standard errors."""
    pull = (value - expected) / math.hypot(error, expected_error)
    right = abs(pull) <= SIGMAS
    print(
        f"{'right' if right else 'WRONG':6} {what}: {value:.5f}({error:.5f}), "
        f"expected {expected:.5f}({expected_error:.5f}), {pull:+.1f} sigma",
        flush=True,
    )
    return right


def square_law(
    what: str, means: dict[float, tuple[float, float]], bath: tuple[float, float]
) -> bool:
    """P(eps) = P0 + c eps²: P0 is the heat bath's, c in the known range; weighted least squares."""
    rows = [(step**2, mean, 1 / error**2) for step, (mean, error) in means.items()]
    total = sum(weight for _, _, weight in rows)
    x_mean = sum(weight * x for x, _, weight in rows) / total
    y_mean = sum(weight * y for _, y, weight in rows) / total
    spread = sum(weight * (x - x_mean) ** 2 for x, _, weight in rows)
    slope = sum(weight * (x - x_mean) * (y - y_mean) for x, y, weight in rows) / spread
    error = math.sqrt(1 / total + x_mean**2 / spread)
    origin = y_mean - slope * x_mean
    at_0 = judge(f"{what}: P at time step 0 against heat bath", origin, error, *bath)
    return at_0 & judge(f"{what}: slope c", slope, 1 / math.sqrt(spread), SLOPE, SLOPE_ERROR)


def main(trajectories: str, program: str, *launcher: str) -> int:
    """Run the table."""
    right, seed = True, 1000
    for (n, beta, length), (bath, *points) in ((k, v.items()) for k, v in TABLE.items()):
        means, what = {}, f"{n}^4 beta {beta}"
        for step, expected in points:
            text = (
                f"prompt 0 nx {n} ny {n} nz {n} nt {n} iseed {seed}\n"
                f"warms {WARMS} trajecs {trajectories} traj_between_meas 1 beta {beta}\n"
                f"microcanonical_time_step {step}\n"
                f"steps_per_trajectory {round(length / step)} fresh forget\n"
            )
            means[step], seed = mean_and_error([*launcher, program], text), seed + 1
            right &= judge(f"{what} step {step} length {length}", *means[step], *expected)
        right &= square_law(what, means, bath[1])
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
