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

from reports.analysis import Analysis, flags_of
from reports.show.rows import message_bytes

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
        found = []
        short = [size for size in sorted(self.points) if size <= FITTED_UP_TO_BYTES]
        for block in sorted({block for values in self.points.values() for block in values}):
            sizes = [size for size in short if block in self.points[size]]
            if len(sizes) >= LEAST_FITTED:
                times = [self.points[size][block] for size in sizes]
                line = np.polynomial.Polynomial.fit(sizes, times, 1)
                found.append(float(line.convert().coef[0]))
        return found

    def bandwidths(self) -> tuple[int, list[float]]:
        """The greatest message length, and bytes/s at it for each block."""
        greatest = max(self.points)
        return greatest, [greatest / t for t in self.points[greatest].values()] if greatest else []

    def shortest(self) -> tuple[int, list[float]]:
        """The least message length, and the half round trip in s at it for each block."""
        least = min(self.points)
        return least, list(self.points[least].values())


def lines_of(analysis: Analysis, metric: str) -> list[Line]:
    """The lines of `metric` (a half round trip), PVM's and MPI's at PVM's placements."""
    found: dict[Key, Line] = {}
    for check in (PVM, *MPI_CHECKS):
        for row in analysis.rows_of(check, metric):
            params, environment = analysis.case(row).params, analysis.case(row).environment
            construct = str(row.series.at_value("construct") or MPI_CONSTRUCT)
            if check == PVM or (construct == MPI_CONSTRUCT and params.get("distance", 1) == 1):
                placement, route = (str(params.get(name, "")) for name in ("placement", "route"))
                key = Key(placement, environment, check, construct, route)
                line = found.setdefault(key, Line(key))
                line.points.setdefault(message_bytes(row), {}).update(row.series.by_block())
                line.flags |= set(flags_of([row]))
    placements = {key.placement for key in found if key.check == PVM}
    return [line for key, line in found.items() if key.placement in placements]


def cost_ratios(cheap: Line, dear: Line) -> Iterator[tuple[int, list[float]]]:
    """For each common length ln(dear / cheap) of each block that measured both."""
    for size in sorted(cheap.points.keys() & dear.points.keys()):
        a, b = cheap.points[size], dear.points[size]
        yield size, [float(np.log(b[block] / a[block])) for block in sorted(a.keys() & b.keys())]
