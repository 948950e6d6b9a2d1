# SPDX-License-Identifier: Apache-2.0
"""PVM on the machines of 1995 (H. Casanova, J. Dongarra, W. Jiang): Table 2 and counted copies."""

from __future__ import annotations

from reports.studies import rows

STUDY = "the study of 1995 (H. Casanova, J. Dongarra, W. Jiang)"


def latencies_and_bandwidths() -> tuple[dict[str, str], ...]:
    """Table 2 in the paper's order: native library, PVM or IBM's PVMe on one machine."""
    return rows("pvm-1995/latency_bandwidth")


def copies() -> dict[str, int]:
    """Copies in memory that the study counted, by protocol."""
    names = {"PvmDataInPlace": "InPlace", "PvmDataRaw": "Raw", "": "psend"}
    return {names[row["encoding"]]: int(row["total_copies"]) for row in rows("pvm-1995/copies")}
