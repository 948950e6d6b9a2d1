# SPDX-License-Identifier: Apache-2.0
"""The units of metrics: SI base units, what is plausible in each, and how people read it."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
#: Units that Assay knows; a check may use others.
UNITS = {
    unit.symbol: unit
    for unit in (
        Unit(
            "s",
            1e9,
            steps=((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
            spelled="seconds",
        ),
        Unit("bytes", 1e18, steps=BINARY, spelled="bytes"),
        Unit(
            "bytes/s",
            1e24,
            steps=((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
            spelled="bytes_per_second",
        ),
        Unit(
            "flop/s",
            1e24,
            steps=((1e15, "Pflop/s"), (1e12, "Tflop/s"), (1e9, "Gflop/s"), (1e6, "Mflop/s")),
            spelled="flops_per_second",
        ),
        Unit("1/s", 1e12, steps=((1e6, "million/s"), (1.0, "1/s")), spelled="per_second"),
        Unit(
            "cell/s",
            1e24,
            steps=((1e9, "Gcell/s"), (1e6, "Mcell/s"), (1e3, "kcell/s"), (1.0, "cell/s")),
            spelled="cells_per_second",
        ),
        Unit(
            "update/s",
            1e24,
            steps=((1e9, "GUPS"), (1e6, "MUPS"), (1.0, "update/s")),
            spelled="updates_per_second",
        ),
        Unit("ns/day", 1e12, steps=((1.0, "ns/day"),), spelled="nanoseconds_per_day"),
        Unit(
            "Hz",
            1e18,
            steps=((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"), (1.0, "Hz")),
            spelled="hertz",
        ),
        Unit("W", 1e12, steps=((1e6, "MW"), (1e3, "kW"), (1.0, "W")), spelled="watts"),
        Unit(
            "J", 1e18, steps=((1e9, "GJ"), (1e6, "MJ"), (1e3, "kJ"), (1.0, "J")), spelled="joules"
        ),
        Unit("%", 1e12, signed=True, steps=((1.0, "%"),), spelled="percent"),
        Unit("1", 1e12, signed=True, steps=((1.0, ""),), spelled="ratio"),
    )
}


def unit_of(symbol: str) -> Unit:
    """The unit of this symbol; of an unknown one nothing is implausible."""
    return UNITS.get(symbol) or Unit(symbol, signed=True)
