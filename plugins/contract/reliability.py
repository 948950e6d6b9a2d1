# SPDX-License-Identifier: Apache-2.0
"""Mean time between failures by their count in a time, and what such a test can show.

Failures are taken as a Poisson process: N in a time T at a mean m has mean T/m. The test of a
promise M is then the one of MIL-HDBK-781A, section 5.10 (fixed duration): PASS with at most c
failures. All times of one call are in the same unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy import special  # type: ignore[import-untyped]

#: The level of bounds of one side, and what both parties' risks are held against.
LEVEL, RISK = 0.9, 0.1


def mean_time_bounds(time: float, failures: int, level: float = LEVEL) -> tuple[float, float]:
    """Lower and upper bound, each of one side, of the mean time between failures.

    2T/χ²(level; 2r + 2) where the test ended by time, and 2T/χ²(1 − level; 2r); the upper one is
    infinite at r = 0. Exact for a Poisson process (Epstein & Sobel, 1953).
    """
    low = 2 * time / float(special.chdtri(2 * failures + 2, 1 - level))
    high = 2 * time / float(special.chdtri(2 * failures, level)) if failures else inf
    return low, high


def pass_chance(length: float, allowed: int, better: float = 1.0) -> float:
    """The chance of at most `allowed` failures, `length` in units of the promised mean time, for a
    machine whose mean time is `better` times the promise: P(Poisson(length/better) ≤ allowed)."""
    return float(special.pdtr(allowed, length / better))


def length_needed(allowed: int, risk: float = RISK) -> float:
    """The least length, in units of the promised mean time, at which a machine at the promise
    passes with at most `risk`, `allowed` failures being allowed: χ²(1 − risk; 2c + 2)/2; 2.30,
    3.89, 5.32, 6.68, 7.99 for 0 to 4 failures at 10 %."""
    return float(special.chdtri(2 * allowed + 2, risk)) / 2


def most_allowed(length: float, risk: float = RISK) -> int | None:
    """The most failures that may be allowed in a test of this length (as in `length_needed`); None
    where a machine at the promise passes with more than `risk` even if none is allowed."""
    allowed = -1
    while length_needed(allowed + 1, risk) <= length * (1 + 1e-12):
        allowed += 1
    return None if allowed < 0 else allowed


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A test of a promised mean time: `length_s` seconds, PASS with at most `allowed` failures."""

    length_s: float
    promised_s: float
    allowed: int

    @classmethod
    def of(cls, length_s: float, promised_s: float, allowed: int | None = None) -> Demonstration:
        """The test of these lengths, seconds > 0; without `allowed`, as many failures as keep the
        buyer's risk at RISK, and none where no number does."""
        most = most_allowed(length_s / promised_s) if allowed is None else allowed
        return cls(length_s, promised_s, most or 0)

    @property
    def length(self) -> float:
        """Its length in units of the promised mean time."""
        return self.length_s / self.promised_s

    @property
    def buyers_risk(self) -> float:
        """The chance that a machine at the promise, the worst that may pass, passes."""
        return pass_chance(self.length, self.allowed)

    def vendors_risk(self, better: float = 2.0) -> float:
        """The chance that a machine so many times better than the promise does not pass."""
        return 1 - pass_chance(self.length, self.allowed, better)

    @property
    def decides(self) -> bool:
        """True where a PASS shows the promise: the buyer's risk is at most RISK."""
        return self.buyers_risk <= RISK + 1e-9

    @property
    def sentence(self) -> str:
        """Power of the test, for the plan and for the document; said before the test."""
        begin = f"{_days(self.length_s)} with an MTBI of {self.promised_s / 3600:g} h is"
        begin += f" {self.length:.2f} MTBI long"
        allowed = f"{self.allowed} failure{'' if self.allowed == 1 else 's'} allowed"
        if not self.decides:
            needed = length_needed(self.allowed) * self.promised_s
            nothing = " and can prove nothing" if self.length < length_needed(0) else ""
            return (
                f"{begin}{nothing}: with {allowed}, a machine at the promise's lower limit passes"
                f" with {_share(self.buyers_risk)} (at most {_share(RISK)} is a proof). A proof"
                f" with {allowed} takes {_days(needed)} ({needed / self.promised_s:.2f} MTBI)."
            )
        better = ", ".join(f"{_share(1 - self.vendors_risk(k))} at {k} ×" for k in (2, 4, 8))
        return (
            f"{begin}: with {allowed}, a machine at the promise's lower limit passes with"
            f" {_share(self.buyers_risk)}, a better one with {better} the promise."
        )


def availability_pass_chance(
    promised: float, total: float, loss: float, better: float = 1.0
) -> float:
    """The chance that the availability seen in `total` node hours is at least what is promised.

    The machine's own unavailability is that of the promise divided by `better`. Outages come as a
    Poisson process and cost `loss` node hours each in the mean, exponentially distributed: the sum
    over n of P(Poisson(μ) = n) · P(Gamma(n, loss) ≤ (1 − promised)·total), μ = (1 − promised)·
    total/(better·loss). 1.0 where nothing may be lost by the promise and nothing is.
    """
    room = (1 - promised) * total / loss
    mean = room / better
    counts = np.arange(1, int(mean + 10 * (mean + 1) ** 0.5) + 10)
    weights = np.exp(counts * np.log(mean) - mean - special.gammaln(counts + 1)) if mean else 0.0
    return float(np.exp(-mean) + np.sum(weights * special.gammainc(counts, room)))


def _share(chance: float) -> str:
    return f"{100 * chance:.0f} %"


def _days(seconds: float) -> str:
    """A length of time as people write it in a contract."""
    days = seconds / 86400
    if days >= 1:
        return f"{days:.3g} day{'' if days == 1 else 's'}"
    return f"{seconds / 3600:.3g} h" if seconds >= 3600 else f"{seconds / 60:.3g} min"
