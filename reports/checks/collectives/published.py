# SPDX-License-Identifier: Apache-2.0
"""The expressions of Hwang, Wang and Wang (1996), Table 3, in SI units, and quoted bandwidths.

T(m, p) = a·f(p) + b + (c·g(p) + d)·m for m bytes on p nodes of SP2, T3D and Paragon; values as
printed (reference/collectives-1996). The fits give a negative delay at 2 nodes for some.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

from reports.models.collectives import Form, Law

_TABLE = Path(__file__).resolve().parents[2] / "studies" / "reference" / "collectives-1996"
#: The paper's order.
MACHINES = ("SP2", "T3D", "Paragon")


@dataclass(frozen=True, slots=True)
class Published:
    """One cell of the paper's table: startup in s, delay in s a byte (None for the barrier)."""

    operation: str
    machine: str
    startup: Law
    delay: Law | None


@lru_cache(maxsize=1)
def published() -> dict[tuple[str, str], Published]:
    """By (operation, machine)."""
    with (_TABLE / "timing_expressions.csv").open(newline="") as file:
        cells = [_cell(row) for row in csv.DictReader(file)]
    return {(cell.operation, cell.machine): cell for cell in cells}


@lru_cache(maxsize=1)
def quoted_bandwidths() -> tuple[tuple[str, str, int, float], ...]:
    """R∞ of the text: (operation, machine, processes, bytes/s)."""
    with (_TABLE / "aggregated_bandwidth.csv").open(newline="") as file:
        return tuple(
            (
                row["operation"],
                row["machine"],
                int(row["procs"]),
                1e6 * float(row["bandwidth_mb_s"]),
            )
            for row in csv.DictReader(file)
            if row["quantity"] == "r_infinity"
        )


def _cell(row: dict[str, str]) -> Published:
    startup = _law(row["startup_form"], row["startup_a_us"], row["startup_b_us"])
    delay = None
    if row["delay_form"]:
        delay = _law(row["delay_form"], row["delay_c_us_per_byte"], row["delay_d_us_per_byte"])
    return Published(row["operation"], row["machine"], startup, delay)


def _law(form: str, slope_us: str, offset_us: str) -> Law:
    return Law(cast(Form, form), float(offset_us) * 1e-6, float(slope_us) * 1e-6)
