# SPDX-License-Identifier: Apache-2.0
"""Units as benchmarks write them ("MBytes/sec", "Gflops/seconds", "us") in SI base units, and the
better direction of a figure that does not say it."""

from __future__ import annotations

import re
from functools import lru_cache

from records.metric import Better

_PREFIXES = dict(
    zip("nuµmkMGTPE", (1e-9, 1e-6, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18), strict=True)
)
_BINARY = dict(zip("KMGTPE", (2.0**power for power in range(10, 70, 10)), strict=True))
_PER_S = r"\s*(?:/\s*|p(?=s$)|per\s+)(?:s|secs?|seconds?)"
#: What is known, for messages and pages.
KNOWN = (
    "s, bytes, bytes/s, bit/s, flop/s, cell/s, update/s (GUPS), Hz, W and J with their prefixes"
    " (ms, GB/s, GiB/s, Gflop/s, Mcell/s, kW), ns/day, 1/s, % and 1"
)
#: Units with a decimal prefix, how they are written, and what the text without one is in it.
_NAMED = (
    ("s", r"s|secs?|seconds?", 1.0),
    ("cell/s", rf"[Cc]ells?{_PER_S}", 1.0),
    ("update/s", rf"L?UPS|(?:L?UP|[Uu]pdates?){_PER_S}", 1.0),
    ("ns/day", r"s(?:ec)?\s*(?:/|per\s)\s*days?", 1e9),
    ("Hz", r"Hz|[Hh]ertz", 1.0),
    ("W", r"W|[Ww]atts?", 1.0),
    ("J", r"J|[Jj]oules?", 1.0),
    ("%", r"percent", 1.0),
)
_AMOUNT = re.compile(
    rf"([kKMGTPE]?)(i(?=b)|)(?:(bytes?|bits?|b)|(flops?|i?ops?))({_PER_S})?", re.IGNORECASE
)
_TIMES_S = {"nanosecond": 1e-9, "microsecond": 1e-6, "millisecond": 1e-3}
_TIMES_S |= {"min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}


@lru_cache(maxsize=4096)
def si_of(text: str) -> tuple[str, float]:
    """The SI unit of a unit's text and the factor to it: "MB/s" → ("bytes/s", 1e6), "KiB" →
    ("bytes", 1024), "Gflops" → ("flop/s", 1e9), "GUPS" → ("update/s", 1e9). "Mb" and "Mbit" are
    bits, an eighth of a byte. A text that is not known is its own unit, with factor 1."""
    text = text.strip()
    if time_s := _TIMES_S.get(text.lower().removesuffix("s")):
        return "s", time_s
    for unit, written, factor in _NAMED:
        if found := re.fullmatch(rf"([nuµmkMGTPE]?)(?:{written})", text):
            return unit, _PREFIXES.get(found[1], 1.0) * factor
    found = _AMOUNT.fullmatch(text)
    if found is None:
        per_second = re.fullmatch(rf"1?{_PER_S}", text)
        return ("1/s", 1.0) if per_second else (text or "1", 1.0)
    prefix, binary, of_data, of_counts, rate = found.groups()
    letter = "k" if prefix in ("k", "K") else prefix.upper()
    factor = _BINARY[prefix.upper()] if binary and prefix else _PREFIXES.get(letter, 1.0)
    if of_counts:
        # "Gflops" and "kIOPS" are rates without a "/s".
        if not rate and not of_counts.lower().endswith("s"):
            return text, 1.0
        return ("flop/s" if of_counts.lower().startswith("flop") else "1/s"), factor
    is_bits = of_data == "b" or of_data.lower().startswith("bit")
    return ("bytes/s" if rate else "bytes"), factor / 8 if is_bits else factor


def better_of(unit: str, lower: float | None = None, upper: float | None = None) -> Better | None:
    """The better direction by a one-sided reference (only `lower` given: higher is better), else by
    the SI unit: times are better lower, rates higher; None: not known."""
    if (lower is None) != (upper is None):
        return "higher" if upper is None else "lower"
    if unit == "s":
        return "lower"
    return "higher" if unit.endswith(("/s", "/day", "/sec", "Hz")) else None
