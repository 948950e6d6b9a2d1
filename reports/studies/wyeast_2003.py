# SPDX-License-Identifier: Apache-2.0
"""LAM and MPICH on an SMP cluster of 2003 (B. P. Kearns, Portland State University)."""

from __future__ import annotations

from functools import cache

from reports.studies import rows

LIBRARIES = ("lam", "mpich")


@cache
def su3_rmd() -> dict[tuple[int, ...], dict[str, dict[str, str]]]:
    """Tables 6 to 8 by (nx, ny, nz, nt, trajectories, processes), then by library."""
    found: dict[tuple[int, ...], dict[str, dict[str, str]]] = {}
    for row in rows("wyeast-2003/su3_rmd"):
        key = tuple(int(row[name]) for name in ("nx", "ny", "nz", "nt", "traj", "procs"))
        found.setdefault(key, {})[row["mpi"]] = row
    return found
