# SPDX-License-Identifier: Apache-2.0
"""A line of a bench with known truth: what is claimed, its target, what was found, how surely.

A bench whose verdicts are to be proved has `TOPIC`, a heading, and `rows(effort)`, which gives its
lines one by one; `python -m bench verdicts` finds it by them. A line misses its target only where
chance alone explains the difference in fewer than one of 1000 benches; printed is the 95 % error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

#: What decides whether a target is missed, and what is printed beside a share or a mean.
DECIDING, PRINTED = 0.998, 0.95


@dataclass(frozen=True, slots=True)
class Row:
    """One line; `target` is empty where the line is only told."""

    what: str
    target: str
    found: str
    kept: bool = True
    met: bool = field(default=True, compare=False)

    @property
    def holds(self) -> str:
        """ "yes", "no", or "open": what was found misses the target, and chance explains it; ""
        where there is no target."""
        if not self.target:
            return ""
        return "no" if not self.kept else "yes" if self.met else "open"

    def __str__(self) -> str:
        return (
            f"{self.what:88} {self.target or '–':>9}  {self.found}{'' if self.kept else '  MISSED'}"
        )


#: How much is simulated: some minutes in all, half an hour on a busy machine, or hours.
Effort = Literal["quick", "usual", "thorough"]


@dataclass(frozen=True, slots=True)
class Runs:
    """How many runs a line is made of, by the effort."""

    quick: int
    usual: int
    thorough: int

    def at(self, effort: Effort) -> int:
        """The number for an effort."""
        return {"quick": self.quick, "usual": self.usual, "thorough": self.thorough}[effort]


def share(
    what: str,
    hits: int,
    n: int,
    *,
    most: float | None = None,
    least: float | None = None,
    alike: int = 1,
) -> Row:
    """`hits` of `n`, with the exact interval [Clopper & Pearson, Biometrika 26 (1934) 404].

    `alike` of the n share one campaign's luck, so that only n/alike count. Without most or least
    there is no target.
    """
    whole = max(1, n // alike)
    found = hits / max(n, 1)
    low, high = share_interval(found * whole, whole, DECIDING)
    kept = n > 0 and (most is None or low <= most) and (least is None or high >= least)
    met = (most is None or found <= most) and (least is None or found >= least)
    low, high = share_interval(found * whole, whole, PRINTED)
    text = f"{100 * found:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {n:,}"
    return Row(what, _target(most, least, lambda value: f"{100 * value:g} %"), text, kept, met)


def mean(
    what: str,
    values: Sequence[float],
    *,
    most: float | None = None,
    least: float | None = None,
    unit: str = "",
) -> Row:
    """The mean of independent values and its error by Student's t; at least two values."""
    found, error = float(np.mean(values)), float(stats.sem(values))
    deciding, printed = (
        error * float(stats.t.ppf((1 + level) / 2, len(values) - 1))
        for level in (DECIDING, PRINTED)
    )
    kept = (most is None or found - deciding <= most) and (
        least is None or found + deciding >= least
    )
    met = (most is None or found <= most) and (least is None or found >= least)
    text = f"{found:.3g} ± {printed:.2g}{unit} of {len(values):,}"
    return Row(what, _target(most, least, lambda value: f"{value:g}{unit}"), text, kept, met)


def share_interval(hits: float, n: int, level: float = PRINTED) -> tuple[float, float]:
    """The exact two-sided interval of a share."""
    tail = (1 - level) / 2
    low = stats.beta.ppf(tail, hits, n - hits + 1) if hits > 0 else 0.0
    high = stats.beta.ppf(1 - tail, hits + 1, n - hits) if hits < n else 1.0
    return float(low), float(high)


def printed(rows: Iterable[Row]) -> int:
    """Print each line as it comes; the exit status: 1 where one misses its target."""
    kept = []
    for row in rows:
        print(row, flush=True)
        kept.append(row.kept)
    print(f"{len(kept)} rows, {kept.count(False)} miss their target")
    return 0 if all(kept) else 1


def _target(most: float | None, least: float | None, text: Callable[[float], str]) -> str:
    limits = [("≥", least), ("≤", most)]
    return " and ".join(f"{sign} {text(value)}" for sign, value in limits if value is not None)
