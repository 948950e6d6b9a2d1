# SPDX-License-Identifier: Apache-2.0
"""Laws of collective operations in simulated times (goal: at most 5 % wrong ones determined).

Times over eight lengths from 4 B to 64 KiB and six to ten process counts, with errors of each time
and errors that all times of one count share; the truth is a law of the candidates, or none of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from bench.rows import Row, efforts, share
from plugins.predict.collectives import Choice, fit_collective, points

TOPIC = "Collective operations: laws"
RUNS = efforts(1, 4, 40)
SIZES = tuple(4 * 4**step for step in range(8))
COUNTS = {
    "2 to 8": (2, 3, 4, 5, 6, 8),
    "2 to 64": (2, 3, 4, 6, 8, 12, 16, 24, 32, 64),
    "2 to 16": (2, 3, 4, 6, 8, 12, 16),
}


@dataclass(frozen=True, slots=True)
class TrueLaw:
    """offset + slope·f(p), by the name that the code under test has for it."""

    form: str
    offset: float
    slope: float
    f: Callable[[int], float]

    def at(self, p: int) -> float:
        """The value at p processes."""
        return self.offset + self.slope * self.f(p)


def steps(p: int) -> int:
    """Rounds of a binomial tree."""
    return (p - 1).bit_length()


#: Near the SP2's broadcast and total exchange of 1996, in s and s a byte.
STARTUPS = (
    TrueLaw("constant", 50e-6, 0, float),
    TrueLaw("log2_p", 30e-6, 55e-6, math.log2),
    TrueLaw("ceil_log2_p", 30e-6, 55e-6, steps),
    TrueLaw("p", 90e-6, 24e-6, float),
    TrueLaw("p_log2_p", 20e-6, 8e-6, lambda p: p * math.log2(p)),
)
DELAYS = (
    TrueLaw("constant", 5e-8, 0, float),
    TrueLaw("log2_p", 5.3e-8, 1.4e-8, math.log2),
    TrueLaw("ceil_log2_p", 3e-8, 2e-8, steps),
    TrueLaw("p", 1e-8, 8.2e-8, float),
    TrueLaw("(p-1)/p", 1e-8, 1e-7, lambda p: (p - 1) / p),
)
#: Laws that are none of the candidates: a grid's, and Bruck's exchange.
FOREIGN = (
    (TrueLaw("√p", 30e-6, 60e-6, math.sqrt), DELAYS[0]),
    (TrueLaw("√p", 30e-6, 60e-6, math.sqrt), TrueLaw("√p", 1e-8, 5e-8, math.sqrt)),
    (STARTUPS[1], TrueLaw("p log₂p", 1e-8, 2e-8, lambda p: p * math.log2(p))),
)


@dataclass(frozen=True, slots=True)
class Luck:
    """Relative errors: of a process count, of each time."""

    shared: float
    own: float

    def __str__(self) -> str:
        return f"{self.own:.0%} a time, {self.shared:.0%} a count"


LUCKS = (Luck(0.0, 0.05), Luck(0.05, 0.05), Luck(0.05, 0.02), Luck(0.1, 0.03))


def verdicts(
    counts: Sequence[int], startup: TrueLaw, delay: TrueLaw, datasets: int, luck: Luck = LUCKS[0]
) -> Counter[str]:
    """Verdicts "T0 right", "D wrong" and so on over so many datasets, seeds 0 and up."""
    found: Counter[str] = Counter()
    for seed in range(datasets):
        rng = np.random.default_rng(seed)
        shared = {p: 1 + luck.shared * float(rng.standard_normal()) for p in counts}
        rows = [
            (
                p,
                m,
                (startup.at(p) + delay.at(p) * m)
                * shared[p]
                * (1 + luck.own * float(rng.standard_normal())),
            )
            for p, m in product(counts, SIZES)
        ]
        model = fit_collective(points(rows))
        if isinstance(model, str):
            found.update(("T0 undetermined", "D undetermined"))
            continue
        assert model.delay is not None
        found[f"T0 {verdict(model.startup, startup)}"] += 1
        found[f"D {verdict(model.delay, delay)}"] += 1
    return found


def verdict(choice: Choice, truth: TrueLaw) -> str:
    """ "undetermined", or whether the law chosen is the true one."""
    if not choice.determined:
        return "undetermined"
    return "right" if choice.law.form == truth.form else "wrong"


def rows(datasets: int) -> Iterator[Row]:
    """A row for the wrong laws of each luck and range of counts."""
    for name, counts in COUNTS.items():
        for luck in LUCKS:
            wrong = 0
            for startup, delay in product(STARTUPS, DELAYS):
                found = verdicts(counts, startup, delay, datasets, luck)
                wrong += found["T0 wrong"] + found["D wrong"]
            all_of = 2 * datasets * len(STARTUPS) * len(DELAYS)
            title = f"p {name}, error {luck}"
            # Datasets of one seed share their errors, whatever the law.
            alike = all_of // datasets
            yield share(f"{title}: wrong law determined", wrong, all_of, most=0.05, alike=alike)
