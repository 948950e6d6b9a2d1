# SPDX-License-Identifier: Apache-2.0
"""The numbers of Casanova, Dongarra and Jiang (1995), Table 2, as printed."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[2] / "studies" / "reference" / "pvm-1995"


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One row of the table: native library, PVM or IBM's PVMe on one machine."""

    machine: str
    library: str
    protocol: str
    mode: str
    latency_us: str
    bandwidth_mb_s: str


@lru_cache(maxsize=1)
def study_rows() -> tuple[StudyRow, ...]:
    """In the paper's order."""
    with (_FOLDER / "latency_bandwidth.csv").open(newline="") as file:
        return tuple(StudyRow(**row) for row in csv.DictReader(file))


@lru_cache(maxsize=1)
def copies() -> dict[str, tuple[int, int]]:
    """Copies in memory and messages on the network that the study counted, by protocol."""
    with (_FOLDER / "copies.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = {"PvmDataInPlace": "InPlace", "PvmDataRaw": "Raw", "": "psend"}
    return {
        names[row["encoding"]]: (int(row["total_copies"]), int(row["network_messages"]))
        for row in rows
    }
