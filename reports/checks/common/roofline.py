# SPDX-License-Identifier: Apache-2.0
"""The roofline of a node with what HPL and the lattice program reach under it.

S. Williams, A. Waterman, D. Patterson, Communications of the ACM 52 (4), 2009: a program that
does I operations a byte it moves cannot do more than min(peak, I × memory bandwidth).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from records.flags import shares_cores
from reports.analysis.run import Analysis, Row
from reports.notation.palette import INK, QUIET, Look
from reports.notation.units import percent, significant
from reports.show.lines import footer, picture_of
from reports.show.panel import Axis, Mark, Panel, Picture, Rule, Series, Text

#: Reals that the lattice program moves a site and step (force 352, update 424, by its kernels),
#: and the operations that its rate counts (17112). The original's own traffic is not known.
SU3_REALS, SU3_OPERATIONS = 776, 17112
_REAL_BYTES = {"double": 8, "single": 4}
_NAMES = {"hpl": "HPL", "su3_rmd": "su3_rmd"}


@dataclass(frozen=True)
class Roof:
    """What a whole node can do, and where that is known from."""

    flop_per_s: float
    bytes_per_s: float
    source: str

    def at(self, intensity: float) -> float:
        """The greatest rate at so many operations a byte."""
        return min(self.flop_per_s, intensity * self.bytes_per_s)


@dataclass(frozen=True)
class Reached:
    """A case's rate a node at its operations a byte."""

    row: Row
    check: str
    environment: str
    intensity: float
    rate: float


def roof_of(analysis: Analysis) -> Roof | None:
    """From the nodes measured in the same run, else from the site's nominal rates."""
    flop, memory = (
        [row.summary.median for row in analysis.rows_of("node", metric)]
        for metric in ("dgemm_rate", "stream_triad")
    )
    if flop and memory:
        return Roof(median(flop), median(memory), "median node: DGEMM, STREAM triad")
    site = analysis.run.provenance.site
    core, cores = site.core_peak_flop_per_s, site.cores_per_node
    moved = site.memory_bytes_per_second
    if not (core and cores and moved):
        return None
    return Roof(core * cores, moved, "the site's nominal rates")


def reached(analysis: Analysis) -> Iterator[Reached]:
    """HPL's and the lattice program's cases. HPL updates each element of the rest of the matrix,
    read and written, by 2·NB operations: NB/8 operations a byte."""
    for check in _NAMES:
        for row in analysis.rows_of(check, "rate"):
            case = analysis.case(row)
            intensity = 0.0
            if check == "hpl":
                intensity = case.params.get("nb", 0) / 8
            elif case.params.get("implementation", "assay") == "assay":
                moved = SU3_REALS * _REAL_BYTES.get(str(case.params.get("precision")), 8)
                intensity = SU3_OPERATIONS / moved
            if intensity > 0:
                rate = row.summary.median / max(1, case.nodes)
                yield Reached(row, check, case.environment, intensity, rate)


def roofline_picture(analysis: Analysis, check: str) -> Picture | None:
    """The roofline, in the section of the last of the programs that a run has."""
    roof = roof_of(analysis)
    points = list(reached(analysis)) if roof else []
    if roof is None or not points or points[-1].check != check:
        return None
    best: dict[str, float] = {}
    for point in points:
        best[point.check] = max(best.get(point.check, 0), point.rate / roof.at(point.intensity))
    told = "; ".join(
        f"{_NAMES[name]} reaches {percent(share, 0)} of its roof at best"
        for name, share in best.items()
    )
    return picture_of(
        analysis,
        [points],
        lambda found: _panel(analysis, roof, found),
        anchor="picture-roofline",
        title="Roofline of a node",
        caption=f"{told}. Rates a node, medians over launches; a case with fewer ranks than cores"
        f" cannot reach the roof. Roofs: {roof.source}. HPL: NB/8 operations a byte; su3_rmd: the"
        " original's 17112 operations a site and step over the bytes that the kernels move.",
    )


def _panel(analysis: Analysis, roof: Roof, points: Sequence[Reached]) -> Panel:
    giga = 1e9
    peak, knee = roof.flop_per_s / giga, roof.flop_per_s / roof.bytes_per_s
    least = min(0.1, *(point.intensity / 2 for point in points))
    most = max(100.0, 4 * knee, *(2 * point.intensity for point in points))
    low = min(point.rate for point in points) / giga / 3
    marks: list[Mark] = []
    for name in dict.fromkeys(point.check for point in points):
        at = next(point.intensity for point in points if point.check == name)
        marks.append(Rule(at, "x", width=0.8, dashes=(1, 2)))
        marks.append(Text(_NAMES[name], at, low, offset=(4, 3)))
    marks.append(
        Series([least, knee, most], [roof.at(least) / giga, peak, peak], Look(INK, "", ()))
    )
    for point in points:
        look, rate = analysis.looks[point.environment], point.rate / giga
        dot = Series([point.intensity], [rate], look, point.environment, size=6)
        marks.append(replace(dot, hollow=[shares_cores(point.row.flags)]))
    peak_text, memory = (
        f"peak {significant(peak)} Gflop/s",
        f"memory {significant(roof.bytes_per_s / giga)} GB/s",
    )
    marks.append(Text(peak_text, most, peak, QUIET, offset=(-3, 4), right=True))
    marks.append(Text(memory, least, peak, QUIET, offset=(3, 4)))
    told = "; ".join(
        f"{_NAMES[p.check]} in {p.environment} {significant(p.rate / giga)} Gflop/s"
        for p in points[:12]
    )
    return Panel(
        "Roofline",
        marks,
        f"Roofline: {told}",
        Axis("arithmetic intensity, flop/byte", scale="log", low=least, high=most),
        Axis("rate of a node, Gflop/s", scale="log", low=low, high=2 * peak),
        footer(analysis, [point.row for point in points]),
        3.5,
    )
