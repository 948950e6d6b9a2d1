# SPDX-License-Identifier: Apache-2.0
"""Computers of 1996 (J. J. Dongarra and T. H. Dunigan, ORNL/TM-13006), Table 3.1."""

from __future__ import annotations

from reports.studies import rows


def balances() -> list[dict[str, str]]:
    """Machines whose latency in cycles is printed; `lost` is what LINPACK 100 does in a latency."""
    found = []
    for row in rows("ornl-1996/computation"):
        if row["latency_cycles"]:
            us, rate = row["latency_us"], row["linpack100_mflops"]
            lost = f"{float(us) * float(rate):.0f}" if us and rate else ""
            found.append(
                {**row, "name": f"{row['machine']} {row['variant']}".strip(), "lost": lost}
            )
    return found
