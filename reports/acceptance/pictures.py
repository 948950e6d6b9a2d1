# SPDX-License-Identifier: Apache-2.0
"""Pictures of an acceptance: nodes against their median, and the matrix of pairs of nodes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from reports.acceptance.model import Item, JudgedCriterion
from reports.acceptance.peer_groups import natural
from reports.notation.palette import INK, QUIET
from reports.notation.units import count_text, readable_unit
from reports.show.canvas import STYLE, Panel, finish, new_panel

BAD, OPEN, GOOD = "#B3261E", "#8A6100", "#0072B2"
_COLOUR = {"PASS": GOOD, "INCONCLUSIVE": OPEN, "SUSPECT": OPEN, "FAIL": BAD}
#: More nodes than this get no name or number of their own in a picture.
MOST_NAMES = 16
_SHADES = LinearSegmentedColormap.from_list("shares", ["#c6dbef", "#f4f8fb"])


def panels(criterion: JudgedCriterion, run_id: str, day: str) -> list[Panel]:
    """One picture for each environment and point of a criterion on nodes or links."""
    draw = {"nodes": _strip, "links": _matrix}.get(criterion.kind)
    if draw is None:
        return []
    groups: dict[tuple[str, str], list[Item]] = {}
    drawn = (item for item in criterion.items if item.about in ("node", "pair"))
    for item in drawn:
        groups.setdefault((item.environment, item.group), []).append(item)
    found = []
    for (environment, point), items in groups.items():
        plain = point and len(point) < 26 and len(groups) > 1
        counts = sorted({item.bounds.n for item in items})
        n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            panel = draw(
                items,
                f"{environment}, {point}" if plain else environment,
                f"n = {n} launches each, judged {day}\nrun {run_id}",
            )
        found.append(panel)
    return found


def _strip(items: Sequence[Item], title: str, footer: str) -> Panel:
    """Every launch's share of the nodes' median as a dot, the median as a bar, the limit."""
    figure, axes = new_panel(title, footer)
    limit = items[0].at_least or 0.0
    for place, item in enumerate(items):
        colour = _COLOUR[item.verdict] if item.state is None else BAD
        spread = np.linspace(-0.16, 0.16, len(item.shares)) if len(item.shares) > 1 else [0.0]
        percents = [100 * share for share in item.shares]
        axes.plot(place + np.asarray(spread), percents, "o", color=colour, alpha=0.45, ms=4)
        axes.plot([place - 0.28, place + 0.28], [100 * item.bounds.centre] * 2, color=colour, lw=2)
        if item.state is not None:
            low, height = min(percents), max(percents) - min(percents)
            room = 0.15 * height + 1.5
            _outline(axes, (place - 0.4, low - room), 0.8, height + 2 * room, 1.4)
    axes.axhline(100 * limit, color=INK, lw=1, ls=(0, (5, 3)))
    axes.annotate(
        f"limit {100 * limit:g} %",
        (1, 100 * limit),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8,
        color=INK,
    )
    _node_ticks(axes.xaxis, [item.subject for item in items])
    axes.set_xlim(-0.6, len(items) - 0.4)
    shares = [share for item in items for share in item.shares]
    low, high = min([limit, *shares]), max([1.0, *shares])
    room = 0.12 * (high - low) + 0.01
    axes.set_ylim(100 * (low - room), 100 * (high + room))
    axes.set_ylabel("% of the good nodes' median")
    axes.grid(visible=False, axis="x")
    worst = min(items, key=lambda item: item.bounds.centre)
    return finish(
        figure,
        f"Nodes against the good ones, {title}: {count_text(len(items), 'node')}, the lowest is"
        f" {worst.subject} with {100 * worst.bounds.centre:.1f} %; limit {100 * limit:g} %.",
    )


def _matrix(items: Sequence[Item], title: str, footer: str) -> Panel:
    """The measured value of each pair; the pairs beyond the limit are outlined."""
    nodes = sorted({name for item in items for name in item.place}, key=natural)
    place = {name: i for i, name in enumerate(nodes)}
    shares = np.full((len(nodes), len(nodes)), np.nan)
    unit = readable_unit(items[0].measured_unit, [item.measured or 0.0 for item in items])
    figure, axes = new_panel(title, footer)
    for item in items:
        row, column = sorted((place[name] for name in item.place), reverse=True)
        shares[row, column] = item.bounds.centre
        bad = item.state in ("suspected", "confirmed")
        if bad:
            _outline(axes, (column - 0.46, row - 0.46), 0.92, 0.92, 1.8)
        if len(nodes) <= MOST_NAMES:
            text = f"{(item.measured or 0.0) / unit.factor:.3g}"
            axes.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize=9,
                color=BAD if bad else INK,
                fontweight="bold" if bad else "normal",
            )
    shades = _SHADES if items[0].at_most is None else _SHADES.reversed()
    axes.imshow(np.ma.masked_invalid(shares), cmap=shades, aspect="auto")
    _node_ticks(axes.xaxis, nodes)
    _node_ticks(axes.yaxis, nodes)
    axes.set_xlim(-0.5, len(nodes) - 1.5)
    axes.set_ylim(len(nodes) - 0.5, 0.5)
    axes.grid(visible=False)
    axes.set_xlabel(f"{unit.label}; outlined: beyond the limit", color=QUIET)
    told = ", ".join(item.subject for item in items if item.state is not None) or "none"
    return finish(
        figure,
        f"Pairs of nodes in {unit.label}, {title}: {count_text(len(items), 'pair')},"
        f" beyond the limit: {told}.",
    )


def _outline(
    axes: Axes, corner: tuple[float, float], width: float, height: float, line: float
) -> None:
    axes.add_patch(Rectangle(corner, width, height, fill=False, ec=BAD, lw=line))


def _node_ticks(axis: mpl.axis.Axis, names: Sequence[str]) -> None:
    step = -(-len(names) // MOST_NAMES)
    places = range(0, len(names), step)
    axis.set_ticks(list(places), [names[i] for i in places])
