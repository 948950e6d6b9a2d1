# SPDX-License-Identifier: Apache-2.0
"""Notation of a value and its spread: "12.34 ± 0.05 ms", "4.0 (2.0 … 6.0)", "0.93 … 0.97".

Values come in SI base units and are shown in a readable one. The digits follow the spread: two
significant digits of it; without a spread four significant digits of the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING

from reports.notation import units

if TYPE_CHECKING:
    from reports.statistics.descriptive import Interval, Summary

#: Values without a unit, or already in the one of a column's heading.
PLAIN = units.ReadableUnit("", 1.0)


def quantity(value: float, unit: units.ReadableUnit = PLAIN) -> str:
    """ "12.34 ms"."""
    scaled = value / unit.factor
    return f"{units.fixed(scaled, units.decimals(scaled, None))} {unit.label}".rstrip()


def about(value: float, si_unit: str) -> str:
    """ "36.4 GB/s": three digits of a value in the unit that suits it."""
    unit = units.readable_unit(si_unit, [value])
    return f"{units.significant(value / unit.factor)} {unit.label}".rstrip()


def with_spread(value: float, stddev: float | None, unit: units.ReadableUnit = PLAIN) -> str:
    """ "12.34 ± 0.05": a mean and its standard deviation; the value alone where there is none."""
    scaled, s = value / unit.factor, None if stddev is None else stddev / unit.factor
    places = units.decimals(scaled, s)
    return units.fixed(scaled, places) + ("" if s is None else f" ± {units.fixed(s, places)}")


def with_range(values: Sequence[float], unit: units.ReadableUnit = PLAIN) -> str:
    """ "4.0 (2.0 … 6.0)": the median of at least one value, with the least and the greatest."""
    centre, low, high = (v / unit.factor for v in (median(values), min(values), max(values)))
    places = units.decimals(centre, (high - low) / 4)  # a range is some four standard deviations
    text = units.fixed(centre, places)
    return f"{text} ({between(low, high, places)})" if len(values) > 1 else text


def between(low: float, high: float, show: int | Callable[[float], str]) -> str:
    """ "0.93 … 0.97": an interval or a range; `show` is a number of decimals or makes the text."""
    text = show if callable(show) else lambda value: units.fixed(value, show)
    return f"{text(low)} … {text(high)}"


def interval_text(interval: Interval, show: int | Callable[[float], str]) -> str:
    """ "95 % interval 0.93 … 0.97"."""
    return (
        f"{units.level_text(interval.level)} interval {between(interval.low, interval.high, show)}"
    )


def not_resolved(n: int) -> str:
    """Words instead of "equal"."""
    return f"not resolved at n = {n}"


def summary_text(summary: Summary, unit: str) -> str:
    """All statistics of a value in its SI unit."""
    parts = [f"n = {summary.n}", f"mean {units.si_text(summary.mean)}"]
    if summary.stddev is not None and summary.mean_interval is not None:
        parts += [
            f"s {units.si_text(summary.stddev)}",
            interval_text(summary.mean_interval, units.si_text),
        ]
    parts += [
        f"median {units.si_text(summary.median)}",
        between(summary.least, summary.greatest, units.si_text),
    ]
    return f"{', '.join(parts)} {unit}"
