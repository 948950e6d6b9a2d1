# SPDX-License-Identifier: Apache-2.0
"""The matrix of all pairs of nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reports.analysis import Analysis, Row
from reports.checks.common.hops import hops_picture, hops_table
from reports.notation.units import ReadableUnit, count_text, readable_unit, three_digits
from reports.show.canvas import Panel
from reports.show.heat import Heat, heat_panel, multiples, shares
from reports.show.lines import Picture, footer, joined, picture_of
from reports.show.section import Section

_CHECK = "alltoall_pairs"
#: A pair below this share of the best bandwidth, or above this multiple of the least latency, is
#: outlined (the limits of NVIDIA ClusterKit's pairwise scan).
LEAST_SHARE, GREATEST_MULTIPLE = 0.93, 2.1
#: Pairs of more nodes than this have no number of their own.
MOST_NAMES = 12


def bandwidth_matrix(analysis: Analysis) -> Picture | None:
    """The bandwidth of every pair of nodes, one panel an environment and case."""
    return _matrices(
        analysis, "pair_bandwidth", f"below {100 * LEAST_SHARE:.0f} % of the best pair"
    )


def latency_matrix(analysis: Analysis) -> Picture | None:
    """The latency of every pair of nodes, one panel an environment and case."""
    return _matrices(analysis, "pair_latency", f"above {GREATEST_MULTIPLE} × the least latency")


def medians_of_pairs(rows: list[Row]) -> tuple[list[str], NDArray[np.float64]]:
    """The nodes, and the symmetric matrix of the pairs' medians in SI units, NaN where none is."""
    ends = [[str(row.series.at_value(end)) for end in ("node", "peer")] for row in rows]
    nodes = sorted({node for pair in ends for node in pair}, key=lambda name: (len(name), name))
    values = np.full((len(nodes), len(nodes)), np.nan)
    for (node, peer), row in zip(ends, rows, strict=True):
        i, j = nodes.index(node), nodes.index(peer)
        values[i, j] = values[j, i] = row.summary.median
    return nodes, values


def _matrices(analysis: Analysis, metric: str, limit: str) -> Picture | None:
    rows = analysis.rows_of(_CHECK, metric)
    groups: dict[str, list[Row]] = {}
    for row in rows:
        case = analysis.case(row)
        title = joined(*analysis.labels[_CHECK].parts(case), case.environment)
        groups.setdefault(title, []).append(row)
    if not rows:
        return None
    unit = readable_unit(rows[0].unit, (row.summary.median for row in rows))
    return picture_of(
        analysis,
        groups.items(),
        lambda group: _panel(analysis, *group, unit),
        lambda _: [],
        anchor=f"picture-{metric.replace('_', '-')}",
        title=f"{analysis.register.metric_title(metric).capitalize()}: every pair of nodes",
        caption=f"Medians over launches in {unit.label}; brighter is better; outlined in red:"
        f" {limit} of the panel.",
    )


def _panel(analysis: Analysis, title: str, rows: list[Row], unit: ReadableUnit) -> Panel:
    """The matrix of one case and environment, bad pairs outlined."""
    nodes, values = medians_of_pairs(rows)
    least, greatest = np.nanmin(values), np.nanmax(values)
    higher = analysis.register.metrics[rows[0].series.metric].better == "higher"
    with np.errstate(invalid="ignore"):
        bad = values < LEAST_SHARE * greatest if higher else values > GREATEST_MULTIPLE * least
    outlined = count_text(int(bad.sum()) // 2, "pair")
    known = np.argwhere(np.isfinite(values)).tolist() if len(nodes) <= MOST_NAMES else []
    heat = Heat(
        nodes,
        nodes,
        values / (greatest if higher else least),
        {(i, j): three_digits(values[i, j] / unit.factor) for i, j in known},
        [(i, j) for i, j in np.argwhere(bad).tolist()],
    )
    return heat_panel(
        title,
        footer(analysis, rows),
        heat,
        shares("the best pair") if higher else multiples("the least latency"),
        f"{title}: {len(rows)} pairs from {least / unit.factor:.3g} to"
        f" {greatest / unit.factor:.3g} {unit.label}; {outlined} outlined",
    )


SECTION = Section(
    pictures=(bandwidth_matrix, latency_matrix, hops_picture(_CHECK)),
    tables=(hops_table(_CHECK),),
)
