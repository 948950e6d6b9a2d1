# SPDX-License-Identifier: Apache-2.0
"""The expressions of Hwang, Wang and Wang (1996), Table 3, in SI units, and quoted bandwidths.

T(m, p) = a·f(p) + b + (c·g(p) + d)·m for m bytes on p nodes of SP2, T3D and Paragon; values as
printed. Some fits give a negative delay at 2 nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

from reports.models.collectives import Form, Law
from reports.studies import rows

#: The paper's order.
MACHINES = ("SP2", "T3D", "Paragon")


@dataclass(frozen=True, slots=True)
class Published:
    """One cell of the paper's table: startup in s, delay in s a byte (None for the barrier)."""

    operation: str
    machine: str
    startup: Law
    delay: Law | None


@cache
def published() -> dict[tuple[str, str], Published]:
    """By (operation, machine)."""

    def law(form: str, slope_us: str, offset_us: str) -> Law:
        return Law(cast(Form, form), float(offset_us) * 1e-6, float(slope_us) * 1e-6)

    return {
        (row["operation"], row["machine"]): Published(
            row["operation"],
            row["machine"],
            law(row["startup_form"], row["startup_a_us"], row["startup_b_us"]),
            law(row["delay_form"], row["delay_c_us_per_byte"], row["delay_d_us_per_byte"])
            if row["delay_form"]
            else None,
        )
        for row in rows("collectives-1996/timing_expressions")
    }


def quoted_bandwidths() -> list[tuple[str, str, int, float]]:
    """R∞ of the text: (operation, machine, processes, bytes/s)."""
    return [
        (row["operation"], row["machine"], int(row["procs"]), 1e6 * float(row["bandwidth_mb_s"]))
        for row in rows("collectives-1996/aggregated_bandwidth")
        if row["quantity"] == "r_infinity"
    ]
