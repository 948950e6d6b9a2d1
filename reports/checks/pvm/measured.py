# SPDX-License-Identifier: Apache-2.0
"""What was measured of each protocol: of PVM's and, beside them, of MPI's plain send and receive.

A line is one protocol of one environment by one route, over message sizes; its points may come of
several cases (short and long messages). Every number is made for each block by itself, so that n
counts launches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from reports.analysis import Analysis, Row, flags_of

PVM = "pvm_echo"
#: MPI's checks with the same echo; of their constructs only this one.
MPI_CHECKS = ("echo", "pt2pt")
MPI_CONSTRUCT = "Send/Recv"
#: The study fitted its latencies to messages up to this length.
FITTED_UP_TO_BYTES = 1024
LEAST_FITTED = 3

Points = dict[int, dict[int, float]]


@dataclass(frozen=True, order=True)
class Key:
    """Which line: `route` is empty for MPI."""

    placement: str
    environment: str
    check: str
    protocol: str
    route: str


@dataclass
class Line:
    """`points`: half round trips in s, by message length in bytes and block."""

    key: Key
    points: Points = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)

    def latencies(self) -> list[float]:
        """The study's latency of each block, s: the intercept of a straight line.

        Least squares over the messages up to FITTED_UP_TO_BYTES; blocks with fewer than
        LEAST_FITTED lengths there are left out. It is no measured time, and may be negative.
        """
        fits = (self._short(block) for block in self._blocks())
        return [
            float(np.polynomial.Polynomial.fit(sizes, times, 1).convert().coef[0])
            for sizes, times in fits
            if len(sizes) >= LEAST_FITTED
        ]

    def bandwidths(self) -> tuple[int, list[float]]:
        """The greatest message length, and bytes/s at it for each block."""
        greatest = max(self.points)
        return greatest, [greatest / t for t in self.points[greatest].values()] if greatest else []

    def _blocks(self) -> list[int]:
        return sorted({block for values in self.points.values() for block in values})

    def _short(self, block: int) -> tuple[list[int], list[float]]:
        sizes = [
            size
            for size, values in sorted(self.points.items())
            if size <= FITTED_UP_TO_BYTES and block in values
        ]
        return sizes, [self.points[size][block] for size in sizes]


def lines_of(analysis: Analysis, metric: str) -> list[Line]:
    """The lines of `metric` (a half round trip), PVM's and MPI's at PVM's placements."""
    found: dict[Key, Line] = {}
    for check in (PVM, *MPI_CHECKS):
        for row in analysis.rows_of(check, metric):
            key = _key(analysis, check, row)
            if key is not None:
                _add(found.setdefault(key, Line(key)), row)
    placements = {key.placement for key in found if key.check == PVM}
    return [line for key, line in found.items() if key.placement in placements]


def _key(analysis: Analysis, check: str, row: Row) -> Key | None:
    case = analysis.case(row)
    construct = str(row.series.at_value("construct") or MPI_CONSTRUCT)
    if check != PVM and (construct != MPI_CONSTRUCT or case.params.get("distance", 1) != 1):
        return None
    placement = str(case.params.get("placement", ""))
    return Key(placement, case.environment, check, construct, str(case.params.get("route", "")))


def _add(line: Line, row: Row) -> None:
    size = int(row.series.at_value("message_bytes") or 0)
    values = line.points.setdefault(size, {})
    values.update(zip(row.series.blocks.tolist(), row.series.values.tolist(), strict=True))
    line.flags.update(flags_of([row]))


def cost_ratios(cheap: Line, dear: Line) -> Iterator[tuple[int, list[float]]]:
    """For each common length ln(dear / cheap) of each block that measured both."""
    for size in sorted(cheap.points.keys() & dear.points.keys()):
        a, b = cheap.points[size], dear.points[size]
        yield size, [float(np.log(b[block] / a[block])) for block in sorted(a.keys() & b.keys())]
