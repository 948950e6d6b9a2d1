# SPDX-License-Identifier: Apache-2.0
"""A line of a bench with known truth: what is claimed, its target, what was found, how surely.

A line misses its target only where chance alone explains the difference in fewer than one of 1000
benches; printed is the 95 % error.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

#: What decides whether a target is missed, and what is printed with a share or a mean.
DECIDING, PRINTED = 0.998, 0.95
#: How much is simulated: some minutes in all, half an hour on a busy machine, or hours.
Effort = Literal["quick", "usual", "thorough"]


@dataclass(frozen=True, slots=True)
class Row:
    """Line of a bench; without a `target` it only reports."""

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


@dataclass(frozen=True, slots=True)
class Bench:
    """Claims on simulations: a heading; how much is simulated, quick, usual and thorough; the
    functions that are called with that (one argument may stand alone) and give the lines."""

    topic: str
    runs: tuple[Any, Any, Any]
    parts: tuple[Callable[..., Iterator[Row]], ...]

    def rows(self, effort: Effort) -> Iterator[Row]:
        """The lines, one by one."""
        given = self.runs[get_args(Effort).index(effort)]
        for part in self.parts:
            yield from part(*(given if isinstance(given, tuple) else (given,)))


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
    whole, found = max(1, n // alike), hits / max(n, 1)
    ends = share_interval(found * whole, whole, DECIDING)
    low, high = share_interval(found * whole, whole, PRINTED)
    text = f"{100 * found:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {n:,}"
    row = _row((what, text), (found, *ends), most, least, lambda value: f"{100 * value:g} %")
    return row if n else Row(what, row.target, text, False)


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
    deciding, printed_error = (
        error * float(stats.t.ppf((1 + level) / 2, len(values) - 1))
        for level in (DECIDING, PRINTED)
    )
    text = f"{found:.3g} ± {printed_error:.2g}{unit} of {len(values):,}"
    known = found, found - deciding, found + deciding
    return _row((what, text), known, most, least, lambda value: f"{value:g}{unit}")


def _row(
    words: tuple[str, str],
    known: tuple[float, float, float],
    most: float | None,
    least: float | None,
    text: Callable[[float], str],
) -> Row:
    """A row of what is claimed and found; `known` has the value and its deciding interval."""
    limits = [("≥", least), ("≤", most)]
    target = " and ".join(f"{sign} {text(value)}" for sign, value in limits if value is not None)
    found, *ends = known
    kept, met = (
        (most is None or low <= most) and (least is None or high >= least)
        for low, high in (ends, (found, found))
    )
    return Row(words[0], target, words[1], kept, met)


def share_interval(hits: float, n: int, level: float = PRINTED) -> tuple[float, float]:
    """The exact two-sided interval of a share."""
    tail = (1 - level) / 2
    low = stats.beta.ppf(tail, hits, n - hits + 1) if hits > 0 else 0.0
    high = stats.beta.ppf(1 - tail, hits + 1, n - hits) if hits < n else 1.0
    return float(low), float(high)


def share_of(
    what: str, told: Sequence[Any], right: Callable[[Any], object] = bool, **target: Any
) -> Row:
    """The share of what was simulated of which something is `right`; `target` as in `share`."""
    return share(what, sum(bool(right(one)) for one in told), len(told), **target)


def printed(rows: Iterable[Row]) -> int:
    """Print each line as it comes; the exit status: 1 where one misses its target."""
    kept = []
    for row in rows:
        print(row, flush=True)
        kept.append(row.kept)
    print(f"{len(kept)} rows, {kept.count(False)} miss their target")
    return 0 if all(kept) else 1
