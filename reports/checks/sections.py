# SPDX-License-Identifier: Apache-2.0
"""What the report shows of each check: its pictures and its tables, one entry a check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from reports.analysis import Analysis
from reports.checks import (
    collectives,
    hops,
    interference,
    node,
    pairs,
    plots,
    point_to_point,
    pvm,
    ring,
    su3_rmd,
)
from reports.checks import osu as osu_tables
from reports.checks.mpi_profile import profile_pictures, profile_tables
from reports.show import tables
from reports.show.lines import Picture
from reports.show.size_tables import pt2pt_tables

_Pictures = tuple[Callable[[Analysis], Picture | None], ...]
_Tables = tuple[Callable[[Analysis], tables.Table | None], ...]


@dataclass(frozen=True, slots=True)
class CheckSection:
    """Pictures and tables of one check."""

    anchor: str
    title: str
    constant: str
    pictures: list[Picture]
    tables: list[tables.Table]
    sizes: bool


#: Pictures by check; a check without an entry has tables only.
PICTURES: dict[str, _Pictures] = {
    "alltoall_pairs": (
        pairs.bandwidth_matrix,
        pairs.latency_matrix,
        hops.hops_picture("alltoall_pairs"),
    ),
    "collectives": (collectives.against_length, collectives.against_counts),
    "echo": (point_to_point.fits_picture("echo"), hops.hops_picture("echo")),
    "hpl": (plots.hpl_rate_against_n, plots.hpl_rate_against_grid),
    "interference": (interference.interference_picture,),
    "netpipe": (point_to_point.fits_picture("netpipe"),),
    "pt2pt": (
        plots.latency,
        plots.bandwidth,
        point_to_point.fits_picture("pt2pt"),
        hops.hops_picture("pt2pt"),
    ),
    "ring": (pairs.ring_picture,),
    "startup": (plots.startup,),
    "streams": (pairs.streams_picture,),
    "su3_rmd": (su3_rmd.time_picture, su3_rmd.share_picture),
}

#: Tables by check, shown before those of every metric's statistics.
TABLES: dict[str, _Tables] = {
    "alltoall_pairs": (hops.hops_table("alltoall_pairs"),),
    "collectives": (collectives.expressions, collectives.latencies, collectives.choices),
    "echo": (
        hops.hops_table("echo"),
        hops.hops_1988("echo"),
        point_to_point.fits_table("echo"),
        point_to_point.switches_table("echo"),
    ),
    "interference": (interference.interference_table,),
    "netpipe": (
        node.witness_table,
        point_to_point.fits_table("netpipe"),
        point_to_point.switches_table("netpipe"),
    ),
    "node": (
        node.rates_table,
        node.balance_table,
        node.operations_table,
        node.synthetic_table,
    ),
    "osu": (osu_tables.benchmarks_table,),
    "pt2pt": (
        hops.hops_table("pt2pt"),
        point_to_point.fits_table("pt2pt"),
        point_to_point.switches_table("pt2pt"),
    ),
    "pvm_echo": (pvm.protocols_table, pvm.order_table, pvm.steps_table, pvm.study_table),
    "ring": (ring.ring_table,),
    "su3_rmd": (
        su3_rmd.overview,
        su3_rmd.strong_scaling,
        su3_rmd.weak_scaling,
        su3_rmd.study_2003,
    ),
}


def check_section(analysis: Analysis, check: str) -> CheckSection:
    """Pictures and tables of one check, those without content left out."""
    return CheckSection(
        tables.slug(check),
        analysis.register.check_title(check),
        tables.constant_note(analysis.labels[check]),
        [*_own_pictures(analysis, check), *profile_pictures(analysis, check)],
        section_tables(analysis, check),
        check == "pt2pt",
    )


def _own_pictures(analysis: Analysis, check: str) -> list[Picture]:
    made = (make(analysis) for make in PICTURES.get(check, ()))
    return [picture for picture in made if picture is not None]


def section_tables(analysis: Analysis, check: str) -> list[tables.Table]:
    """The check's own tables that have content, its MPI profile, then every metric's statistics."""
    own = [table for make in TABLES.get(check, ()) if (table := make(analysis)) is not None]
    return [*own, *profile_tables(analysis, check), *statistics_tables(analysis, check)]


@lru_cache(maxsize=32)
def statistics_tables(analysis: Analysis, check: str) -> tuple[tables.Table, ...]:
    """Statistics tables of a check: sizes side by side for point-to-point, else one a metric.

    Made once for HTML and Markdown.
    """
    if check == "pt2pt":
        return tuple(pt2pt_tables(analysis))
    metrics = analysis.register.metrics
    measured = (name for name in analysis.metrics_of(check) if metrics[name].measured)
    made = (tables.metric_table(analysis, check, name) for name in measured)
    return tuple(table for table in made if table is not None)
