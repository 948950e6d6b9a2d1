# SPDX-License-Identifier: Apache-2.0
"""The units of metrics: SI base units, what is plausible in each, how people read it; units as
benchmarks write them; axes, by which values are laid out."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Unit:
    """`greatest`: no measurement is above it (a time of 30 years); `signed`: one may be negative.
    `spelled` is what it is called in names without signs, "" for a unit that is not known. `steps`
    are readable units by descending factor; with a single step all values are read in it."""

    symbol: str
    greatest: float = math.inf
    signed: bool = False
    steps: tuple[tuple[float, str], ...] = ()
    spelled: str = ""


#: Prefixes of lengths in bytes.
BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_PREFIXES = {letter: 10.0 ** (18 - 3 * place) for place, letter in enumerate("EPTGMk mµn")}
_PREFIXES["u"] = _PREFIXES["µ"]


def _steps(prefixes: str, name: str) -> tuple[tuple[float, str], ...]:
    """Readable units of these decimal prefixes, a blank for none."""
    return tuple((_PREFIXES[prefix], f"{prefix.strip()}{name}") for prefix in prefixes)


#: Units that Assay knows; a check may use others.
UNITS = {
    unit.symbol: unit
    for unit in (
        Unit("s", 1e9, steps=_steps(" mµn", "s"), spelled="seconds"),
        Unit("bytes", 1e18, steps=BINARY, spelled="bytes"),
        Unit("bytes/s", 1e24, steps=_steps("TGMk ", "B/s"), spelled="bytes_per_second"),
        Unit("flop/s", 1e24, steps=_steps("PTGM", "flop/s"), spelled="flops_per_second"),
        Unit("1/s", 1e12, steps=((1e6, "million/s"), (1.0, "1/s")), spelled="per_second"),
        Unit("cell/s", 1e24, steps=_steps("GMk ", "cell/s"), spelled="cells_per_second"),
        Unit(
            "update/s",
            1e24,
            steps=(*_steps("GM", "UPS"), (1.0, "update/s")),
            spelled="updates_per_second",
        ),
        Unit("ns/day", 1e12, steps=((1.0, "ns/day"),), spelled="nanoseconds_per_day"),
        Unit("Hz", 1e18, steps=_steps("GMk ", "Hz"), spelled="hertz"),
        Unit("W", 1e12, steps=_steps("Mk ", "W"), spelled="watts"),
        Unit("J", 1e18, steps=_steps("GMk ", "J"), spelled="joules"),
        Unit("%", 1e12, signed=True, steps=((1.0, "%"),), spelled="percent"),
        Unit("1", 1e12, signed=True, steps=((1.0, ""),), spelled="ratio"),
    )
}


def unit_of(symbol: str) -> Unit:
    """The unit of this symbol; of an unknown one nothing is implausible."""
    return UNITS.get(symbol) or Unit(symbol, signed=True)


@dataclass(frozen=True, slots=True)
class Axis:
    """`title` names it to readers; `unit` is "" for words and counts. Points that differ only along
    their first axis with a unit make one curve. `lists`: the parameter lists points, and each point
    carries its own. `procedure`: it says how often or how far something is measured, not what."""

    name: str
    title: str
    unit: str = ""
    lists: bool = False
    procedure: bool = False


MESSAGE_BYTES = "message_bytes"

_KNOWN = {
    axis.name: axis
    for axis in (
        Axis(MESSAGE_BYTES, "message length", "bytes"),
        *(Axis("n", "N"), Axis("nb", "NB"), Axis("placement", "")),
        *(Axis(name, name, lists=True) for name in ("constructs", "operations", "sizes")),
    )
}
_PROCEDURE = frozenset(
    {
        *("iterations", "warmup", "repetitions", "repeats", "samples", "seed"),
        *("latency_iterations", "bandwidth_iterations"),
        *("least_bytes", "greatest_bytes", "perturbation_bytes"),
    }
)
#: Last words of names that carry their unit.
_UNITS = {"bytes": "bytes", "s": "s"}


@lru_cache(maxsize=1024)
def axis_of(name: str) -> Axis:
    """The axis of this name; of an unknown one the unit is the last word, if that is one."""
    found = _KNOWN.get(name)
    unit = _UNITS.get(name.rpartition("_")[2], "")
    return found or Axis(name, name.replace("_", " "), unit, procedure=name in _PROCEDURE)


def along_curve(at: Sequence[tuple[str, Any]]) -> tuple[str, Any] | None:
    """The first coordinate of a point that has a unit: where the point stands on its curve."""
    return next((item for item in at if axis_of(item[0]).unit), None)


def beside_curve(at: Sequence[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """The coordinates of a point that all points of its curve share."""
    along = along_curve(at)
    return tuple(item for item in at if item is not along)


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


def better_of(
    unit: str, lower: float | None = None, upper: float | None = None
) -> Literal["higher", "lower"] | None:
    """The better direction by a one-sided reference (only `lower` given: higher is better), else by
    the SI unit: times are better lower, rates higher; None: not known."""
    if (lower is None) != (upper is None):
        return "higher" if upper is None else "lower"
    if unit == "s":
        return "lower"
    return "higher" if unit.endswith(("/s", "/day", "/sec", "Hz")) else None
