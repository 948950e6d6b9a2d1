# SPDX-License-Identifier: Apache-2.0
"""Echo over 1 to 6 hops on the hypercubes of 1988 (T. H. Dunigan, ORNL/TM-10881, tables 8–11)."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

_RATES = Path(__file__).resolve().parents[2] / "studies/reference/hypercube-1988/data_rates.csv"


@lru_cache(maxsize=1)
def times_1988() -> dict[tuple[str, int], dict[int, float]]:
    """By machine and message length in bytes: half round trip in s by hop count.

    The study prints rates, length over half a round trip, in kB/s of 1000 bytes. Machines that
    reached neighbours only are left out.
    """
    found: dict[tuple[str, int], dict[int, float]] = {}
    with _RATES.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["path"] == "node" and row["rate_kb_s"]:
                size = int(row["length_bytes"])
                times = found.setdefault((row["machine"], size), {})
                times[int(row["hops"])] = size / (1e3 * float(row["rate_kb_s"]))
    return {key: times for key, times in found.items() if len(times) > 1}
