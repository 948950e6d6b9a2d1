# SPDX-License-Identifier: Apache-2.0
"""Messages among many nodes: the matrix of all pairs; streams and ring against message length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from reports.analysis import Analysis, Row
from reports.notation.palette import INK
from reports.notation.units import ReadableUnit, count_text, readable_unit
from reports.show.canvas import Panel, finish, new_panel
from reports.show.lines import MOST_PANELS, Picture, footer, size_picture

_CHECK = "alltoall_pairs"
#: A pair below this share of the best bandwidth, or above this multiple of the least latency, is
#: outlined (the limits of NVIDIA ClusterKit's pairwise scan).
LEAST_SHARE, GREATEST_MULTIPLE = 0.93, 2.1
#: More nodes than this get no name or number of their own.
MOST_NAMES = 12
BAD = "#B3261E"
_SHADES = LinearSegmentedColormap.from_list("pairs", ["#f4f8fb", "#6baed6"])


def bandwidth_matrix(analysis: Analysis) -> Picture | None:
    """The bandwidth of every pair of nodes, one panel an environment and case."""
    return _matrices(
        analysis, "pair_bandwidth", f"below {100 * LEAST_SHARE:.0f} % of the best pair"
    )


def latency_matrix(analysis: Analysis) -> Picture | None:
    """The latency of every pair of nodes, one panel an environment and case."""
    return _matrices(analysis, "pair_latency", f"above {GREATEST_MULTIPLE} × the least latency")


def streams_picture(analysis: Analysis) -> Picture | None:
    """Rate of windows of messages against their length, one way and both ways."""
    rows = analysis.rows_of("streams", "window_rate")
    caption = (
        "One panel for each direction; both ways: the bytes of both directions together, while the"
        " line rate is that of one."
    )
    return size_picture(analysis, rows, "picture-streams", "Rate of streams", caption)


def ring_picture(analysis: Analysis) -> Picture | None:
    """Rate from node to node round the ring against message length, one panel an order."""
    rows = analysis.rows_of("ring", "ring_rate")
    caption = "One panel for each order and number of ranks."
    return size_picture(analysis, rows, "picture-ring", "Rate from node to node", caption)


def _matrices(analysis: Analysis, metric: str, limit: str) -> Picture | None:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in analysis.rows_of(_CHECK, metric):
        case = analysis.case(row)
        label = ", ".join(analysis.labels[_CHECK].parts(case))
        groups.setdefault((label, case.environment), []).append(row)
    if not groups:
        return None
    shown = list(groups.items())[:MOST_PANELS]
    unit = readable_unit(
        shown[0][1][0].unit, (row.summary.median for _, rows in shown for row in rows)
    )
    caption = (
        f"Medians over launches in {unit.label}; darker is slower; outlined in red: {limit} of the"
        " panel."
    )
    if len(groups) > MOST_PANELS:
        caption += f" The first {MOST_PANELS} of {len(groups)} panels; all are in the table."
    return Picture(
        f"picture-{metric.replace('_', '-')}",
        f"{analysis.register.metric_title(metric).capitalize()}: every pair of nodes",
        caption,
        [_panel(analysis, ", ".join(filter(None, key)), rows, unit) for key, rows in shown],
        [],
    )


def _panel(analysis: Analysis, title: str, rows: Sequence[Row], unit: ReadableUnit) -> Panel:
    ends = [(str(row.series.at_value("node")), str(row.series.at_value("peer"))) for row in rows]
    nodes = sorted({node for pair in ends for node in pair}, key=lambda name: (len(name), name))
    values = np.full((len(nodes), len(nodes)), np.nan)
    for (node, peer), row in zip(ends, rows, strict=True):
        i, j = nodes.index(node), nodes.index(peer)
        values[i, j] = values[j, i] = row.summary.median
    higher = analysis.register.metrics[rows[0].series.metric].better == "higher"
    bad = _bad(values, higher=higher)
    counts = [row.summary.n for row in rows]
    figure, axes = new_panel(title, footer(analysis, min(counts), max(counts)))
    axes.grid(visible=False)
    axes.pcolormesh(values, cmap=_SHADES.reversed() if higher else _SHADES, edgecolors="white")
    named = len(nodes) <= MOST_NAMES
    places = np.arange(len(nodes)) + 0.5
    axes.set_xticks(places if named else [], nodes if named else [])
    axes.set_yticks(places if named else [], nodes if named else [])
    axes.invert_yaxis()
    for i, j in np.argwhere(np.isfinite(values)).tolist():
        text = f"{values[i, j] / unit.factor:.3g}" if named else ""
        _draw_pair(axes, (j, i), text, outlined=bool(bad[i, j]))
    outlined = count_text(int(bad.sum()) // 2, "pair")
    return finish(
        figure,
        f"{title}: {len(rows)} pairs from {np.nanmin(values) / unit.factor:.3g} to"
        f" {np.nanmax(values) / unit.factor:.3g} {unit.label}; {outlined} outlined",
    )


def _draw_pair(axes: Axes, place: tuple[int, int], text: str, *, outlined: bool) -> None:
    x, y = place
    axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=8, color=INK)
    if outlined:
        corner = (x + 0.04, y + 0.04)
        axes.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, edgecolor=BAD, linewidth=2))


def _bad(values: NDArray[np.float64], *, higher: bool) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        bad: NDArray[np.bool_] = (
            values < LEAST_SHARE * np.nanmax(values)
            if higher
            else values > GREATEST_MULTIPLE * np.nanmin(values)
        )
    return bad
