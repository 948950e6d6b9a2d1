# SPDX-License-Identifier: Apache-2.0
"""Readable units: records hold SI base units, a rendering converts.

A length in bytes is read in KiB and MiB, powers of two as messages are; a rate in MB/s of 10⁶.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from records.errors import AssayError
from records.units import unit_of


@dataclass(frozen=True, slots=True)
class ReadableUnit:
    """`label` for people; a value in SI base units divided by `factor` is in it."""

    label: str
    factor: float


def readable_unit(si_unit: str, values: Iterable[float]) -> ReadableUnit:
    """The unit in which the typical (median) magnitude of `values` is at least 1."""
    steps = unit_of(si_unit).steps
    sizes = sorted(abs(value) for value in values if value) if len(steps) > 1 else []
    if len(steps) != 1 and not sizes:
        return ReadableUnit(si_unit, 1.0)
    typical = sizes[len(sizes) // 2] if sizes else 0.0
    factor, label = next((step for step in steps if typical >= step[0]), steps[-1])
    return ReadableUnit(label, factor)


def mean_words(si_unit: str) -> str:
    """What the mean of launches is called: of rates it is not total work over total time."""
    return "arithmetic mean of rates" if si_unit.endswith("/s") else "mean"


def decimals(value: float, spread: float | None) -> int:
    """Decimals to print: two significant digits of the spread, at most six of the value."""
    if not value or not math.isfinite(value):
        return 0
    greatest = 5 - math.floor(math.log10(abs(value)))
    wanted = greatest - 2
    if spread and math.isfinite(spread):
        wanted = 1 - math.floor(math.log10(spread))
    return max(0, min(wanted, greatest, 12))


def fixed(value: float | None, places: int) -> str:
    """`value` with thin-space thousands; an en dash for None; powers of ten for the gigantic."""
    if value is None:
        return "–"
    if abs(value) >= 1e9:
        return f"{value:.4g}"
    return f"{value:,.{places}f}".replace(",", "\u202f").replace("-", "−")


def three_digits(value: float) -> str:
    """Three significant digits without powers of ten; whole numbers from 100 on."""
    if not value or not math.isfinite(value):
        return f"{value:g}"
    return fixed(value, max(0, 2 - math.floor(math.log10(abs(value)))))


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
    """A ratio as the difference from 1: "+3.4 %"; from a factor of two on "2.4 ×" or "1/2.4"."""
    if ratio >= 2:
        return f"{three_digits(ratio)} ×"
    if 0 < ratio <= 0.5:
        return f"1/{three_digits(1 / ratio)}"
    difference = 100 * (ratio - 1)
    sign = "+" if difference >= 0 else "−"
    return f"{sign}{fixed(abs(difference), 1)} %"


def times_text(ratio: float) -> str:
    """How much of something: "85 % of", from a factor of two on "5.0 times"."""
    return f"{three_digits(ratio)} times" if ratio >= 2 else f"{percent(ratio, 0)} of"


def advantage_text(ratio: float) -> str:
    """An advantage, a ratio in the good direction: "+3.4 %", "2.4 × better", "11 × worse"."""
    if ratio >= 2 or 0 < ratio <= 0.5:
        return f"{three_digits(max(ratio, 1 / ratio))} × {'better' if ratio > 1 else 'worse'}"
    return signed_percent(ratio)


def si_text(value: float | None) -> str:
    """A value in SI base units as written into files and titles."""
    return "" if value is None else f"{value:.9g}"


#: Prefixes of lengths in bytes.
_BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))


def bytes_text(count: float) -> str:
    """A message length, exact: 1048576 -> "1 MiB", 1536 -> "1.5 KiB", 1000 -> "1 000 B"."""
    for factor, unit in _BINARY:
        if count >= factor and (2 * count / factor).is_integer():
            return f"{count / factor:g} {unit}"
    return f"{fixed(count, 0)} B"


def about_bytes_text(count: float) -> str:
    """A length that is an estimate, in three digits: 23170 -> "22.6 KiB"."""
    factor, unit = next((step for step in _BINARY if count >= step[0]), (1.0, "B"))
    return f"{three_digits(count / factor)} {unit}"


#: Spaces at which no line may break: before a unit, and in n = 12.
_WITHIN = re.compile(
    r"(?<=\d) (?=(?:%|×|[µmn]?s|[KMGT]?i?B|(?:[kMGTP]?(?:B|flop|bit)|bytes)/s)(?![\w/]))"
    r"|(?<=\bn) (?== \d)|(?<=\bn =) (?=\d)"
)


def unbroken(text: str) -> str:
    """The text with spaces that do not break inside quantities."""
    return _WITHIN.sub("\u00a0", text)


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


def count_text(number: int, noun: str, plural: str | None = None) -> str:
    """ "1 launch", "3 launches"."""
    return f"{fixed(number, 0)} {noun if number == 1 else plural or noun + 's'}"
