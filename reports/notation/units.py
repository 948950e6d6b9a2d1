# SPDX-License-Identifier: Apache-2.0
"""Readable units: records hold SI base units, a rendering converts.

A length in bytes is read in KiB and MiB, powers of two as messages are; a rate in MB/s and GB/s, of
10⁶ and 10⁹.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING

from records.errors import AssayError
from records.units import BINARY, unit_of

if TYPE_CHECKING:
    from reports.statistics.descriptive import Interval, Summary


@dataclass(frozen=True, slots=True)
class ReadableUnit:
    """`label` for people; a value in SI base units divided by `factor` is in it."""

    label: str
    factor: float


def readable_unit(si_unit: str, values: Iterable[float]) -> ReadableUnit:
    """The unit in which the typical (median) magnitude of `values`, in nine digits, is at least 1:
    999999999.9999998 bytes/s are 1.00 GB/s."""
    steps = unit_of(si_unit).steps
    sizes = sorted(abs(value) for value in values if value) if len(steps) > 1 else []
    if len(steps) != 1 and not sizes:
        return ReadableUnit(si_unit, 1.0)
    typical = float(f"{sizes[len(sizes) // 2]:.9g}") if sizes else 0.0
    factor, label = next((step for step in steps if typical >= step[0]), steps[-1])
    return ReadableUnit(label, factor)


def decimals(value: float, spread: float | None) -> int:
    """Decimals to print: two significant digits of the spread, at most six of the value."""
    if not value or not math.isfinite(value):
        return 0
    greatest = 5 - math.floor(math.log10(abs(value)))
    wanted = greatest - 2
    if spread and math.isfinite(spread):
        wanted = 1 - math.floor(math.log10(spread))
    return max(0, min(wanted, greatest, 12))


#: Magnitudes outside of which a number has a power of ten.
_LEAST, _GREATEST = 1e-9, 1e15
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: From this factor on a difference is a multiple, no per cent.
_FACTOR = 1.5


def fixed(value: float | None, places: int) -> str:
    """`value` with thin-space thousands; an en dash for what is no number; "1.23 × 10¹⁵" for the
    gigantic."""
    if value is None or math.isnan(value):
        return "–"
    if abs(value) >= _GREATEST:
        return _with_power(value, 3)
    text = f"{value:,.{places}f}".replace(",", "\u202f")
    return text.replace("-", "−" if text.strip("-0.") else "")


def _with_power(value: float, digits: int) -> str:
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    raised = str(int(power)).translate(_RAISED)
    return f"{mantissa}\u202f×\u202f10{raised}".replace("-", "−")


def significant(value: float, digits: int = 3) -> str:
    """So many significant digits, whole numbers in full: "0.0123", "1.23", "12 345"."""
    if not value or not math.isfinite(value):
        return fixed(value, 0)
    if abs(value) < _LEAST:
        return _with_power(value, digits)
    _, _, power = f"{value:.{digits - 1}e}".partition("e")
    return fixed(value, max(0, digits - 1 - int(power)))


def as_stated(value: float) -> str:
    """A number that people chose, a limit or a nominal rate: "0.95", "4", "12.5", "4 000"."""
    text = significant(value, 6)
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def percent(fraction: float | None, places: int = 1) -> str:
    """A fraction as a percentage."""
    if fraction is None:
        return "–"
    return f"{fixed(100 * fraction, places)} %"


def weight_text(share: float) -> str:
    """A share of all weight: 0.25 -> "25 %", 0.0003 -> "0.03 %"."""
    return percent(share, 0 if share >= 0.01 or not share else 2)


def level_text(level: float) -> str:
    """The level of an interval: 0.95 -> "95 %", 0.9375 -> "93.75 %"."""
    return f"{100 * level:.4g} %"


def p_text(p: float) -> str:
    """A p value for a sentence."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def signed_percent(ratio: float) -> str:
    """A ratio as the difference from 1: "+3.4 %"; from a factor of 1.5 on "2.40 ×" or "0.417 ×"."""
    if not 1 / _FACTOR < ratio < _FACTOR:
        return f"{significant(ratio)} ×"
    text = fixed(100 * (ratio - 1), 1)
    return f"{'' if text.startswith('−') else '+'}{text} %"


def ratios_between(low: float, high: float) -> str:
    """An interval of ratios, both ends in one form: "+14.0 % … +28.4 %", "1.48 … 1.59 ×"."""
    if low > 1 / _FACTOR and high < _FACTOR:
        return f"{signed_percent(low)} … {signed_percent(high)}"
    return f"{significant(low)} … {significant(high)} ×"


def more_text(ratio: float) -> str:
    """A quantity over another's, at least 1: "12.0 % more", from a factor of 1.5 on "2.41 times as
    much"."""
    if ratio >= _FACTOR:
        return f"{significant(ratio)} times as much"
    more = percent(ratio - 1)
    return "as much" if more == percent(0) else f"{more} more"


#: Units of how fast something is.
_SPEEDS = ("s", "bytes/s", "flop/s", "1/s")


def slower_text(ratio: float, amount: float, si_unit: str = "s") -> str:
    """Comparison of a value: "8.1 % slower", from a factor of 1.5 on "slower by a factor of 1.83".

    `ratio` is its advantage; `amount` the difference as a share, either sign; what has no speed by
    its unit is worse or better.
    """
    word = (("faster", "slower") if si_unit in _SPEEDS else ("better", "worse"))[ratio < 1]
    if 0 < ratio < math.inf and not 1 / _FACTOR < ratio < _FACTOR:
        return f"{word} by a factor of {significant(max(ratio, 1 / ratio))}"
    return f"{percent(abs(amount))} {word}"


def si_text(value: float) -> str:
    """A value in SI base units, as titles of cells have it."""
    return f"{value:.6g}"


def bytes_text(count: float) -> str:
    """A message length, exact: 1048576 -> "1 MiB", 1536 -> "1.5 KiB", 1000 -> "1 000 B"."""
    for factor, unit in BINARY[:-1]:
        if count >= factor and (2 * count / factor).is_integer():
            return f"{count / factor:g} {unit}"
    return f"{fixed(count, 0)} B"


def about_bytes_text(count: float) -> str:
    """A length that is an estimate, in three digits: 23170 -> "22.6 KiB"."""
    factor, unit = next((step for step in BINARY if count >= step[0]), BINARY[-1])
    return f"{significant(count / factor)} {unit}"


def time_of(text: str) -> datetime:
    """A record's time, "2026-11-20T23:50:11Z". Raises AssayError for what is none."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise AssayError(
            f"found {text!r:.100} as the time of a run or night, allowed is a time such as"
            " 2026-11-20T23:50:11Z; put back what `assay` wrote"
        ) from error


def moment_text(at: str | None, unknown: str) -> str:
    """A moment in UTC to the second: 2026-11-20 23:01:11; `unknown` where it is not recorded."""
    return at[:19].replace("T", " ") if at else unknown


def counts_text(numbers: Iterable[int], noun: str) -> str:
    """ "5 launches", "5 to 7 launches": the least and the greatest of at least one number."""
    *least, most = sorted({*numbers})
    return f"{fixed(least[0], 0)} to {count_text(most, noun)}" if least else count_text(most, noun)


def all_text(number: int, noun: str) -> str:
    """ "all 3 launches", "the only launch"; "no launch"."""
    if number > 1:
        return f"all {count_text(number, noun)}"
    return f"{'the only' if number else 'no'} {noun}"


_PLURALS = {"series": "series", "criterion": "criteria"}


def count_text(number: int, noun: str, plural: str = "") -> str:
    """ "1 launch", "3 launches"."""
    ending = "es" if noun.endswith(("s", "ch", "x")) else "s"
    several = plural or _PLURALS.get(noun) or noun + ending
    return f"{fixed(number, 0)} {noun if number == 1 else several}"


def sentence_case(text: str) -> str:
    """A text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


#: Values without a unit, or already in the one of a column's heading.
PLAIN = ReadableUnit("", 1.0)


def quantity(value: float, unit: ReadableUnit = PLAIN) -> str:
    """ "12.34 ms"."""
    scaled = value / unit.factor
    return f"{fixed(scaled, decimals(scaled, None))} {unit.label}".rstrip()


def about(value: float, si_unit: str) -> str:
    """ "36.4 GB/s": three digits of a value in the unit that suits it."""
    unit = readable_unit(si_unit, [value])
    return f"{significant(value / unit.factor)} {unit.label}".rstrip()


def with_spread(value: float, stddev: float | None, unit: ReadableUnit = PLAIN) -> str:
    """ "12.34 ± 0.05": a mean and its standard deviation; the value alone where there is none."""
    scaled, s = value / unit.factor, None if stddev is None else stddev / unit.factor
    places = decimals(scaled, s)
    return fixed(scaled, places) + ("" if s is None else f" ± {fixed(s, places)}")


def with_range(values: Sequence[float], unit: ReadableUnit = PLAIN) -> str:
    """ "4.0 (2.0 … 6.0)": the median of at least one value, with the least and the greatest."""
    centre, low, high = (v / unit.factor for v in (median(values), min(values), max(values)))
    places = decimals(centre, (high - low) / 4)  # a range is some four standard deviations
    text = fixed(centre, places)
    return f"{text} ({between(low, high, places)})" if len(values) > 1 else text


def between(low: float, high: float, show: int | Callable[[float], str]) -> str:
    """ "0.93 … 0.97": an interval or a range; `show` is a number of decimals or makes the text."""
    text = show if callable(show) else lambda value: fixed(value, show)
    return f"{text(low)} … {text(high)}"


def interval_text(interval: Interval, show: int | Callable[[float], str]) -> str:
    """ "95 % interval 0.93 … 0.97"."""
    return f"{level_text(interval.level)} interval {between(interval.low, interval.high, show)}"


def not_resolved(n: int) -> str:
    """Words instead of "equal"."""
    return f"not resolved at n = {n}"


def summary_text(summary: Summary, unit: str) -> str:
    """All statistics of a value in its SI unit."""
    parts = [f"n = {summary.n}", f"mean {si_text(summary.mean)}"]
    if summary.stddev is not None and summary.mean_interval is not None:
        parts += [
            f"s {si_text(summary.stddev)}",
            interval_text(summary.mean_interval, si_text),
        ]
    parts += [
        f"median {si_text(summary.median)}",
        between(summary.least, summary.greatest, si_text),
    ]
    return f"{', '.join(parts)} {unit}"
