# SPDX-License-Identifier: Apache-2.0
"""Heat maps above a colour bar; brighter is better in all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle

from reports.notation.labels import BAD, INK, ON_BRIGHT, ON_DARK, PAPER
from reports.show.panel import (
    LABEL_PT,
    NAME_IN,
    WIDTH_IN,
    Heat,
    Place,
    heading,
    text_width_in,
    wrapped,
)
from reports.statistics.descriptive import Matrix

#: Dark to bright, of rising luminance.
SHADES = LinearSegmentedColormap.from_list(
    "brighter-is-better", ["#33215e", "#8a2f6d", "#d6604d", "#f6b26b", "#fff6d0"]
)
#: Text is dark on what is brighter than this.
_BRIGHT = 0.55
#: More rows or columns than these are named in steps, or have no edges between their cells.
MOST_NAMES, MOST_EDGED = 48, 20
_LINE_IN = 0.185
#: Height of the colour bar, and of all but the rows.
_BAR_IN, _REST_IN = 0.11, 1.25
#: Sizes of the texts of cells, the largest that fits is taken.
_TEXT_PT = (9.0, 8.0, 7.0)


def _row_names(heat: Heat) -> list[list[str]]:
    """The names of the rows in lines."""
    return [
        wrapped(name, LABEL_PT, NAME_IN if len(heat.columns) <= 5 else 1.25) for name in heat.rows
    ]


def _rows_in(heat: Heat) -> float:
    """The height of all rows."""
    count, lines_in = len(heat.rows), _LINE_IN * max(map(len, _row_names(heat)))
    if count > MOST_NAMES:
        return 9.5
    return count * (max(0.19, lines_in) if count > 8 else max(0.34, lines_in + 0.05))


def _cell_in(heat: Heat) -> float:
    """The width of a cell."""
    names_in = max(text_width_in(line, LABEL_PT) for name in _row_names(heat) for line in name)
    return (WIDTH_IN - names_in) / len(heat.columns)


def _turned_in(heat: Heat) -> float:
    """The height that turned names of columns need; 0 where they fit side by side."""
    widest = max(text_width_in(name, LABEL_PT) for name in heat.columns)
    return widest if widest > _cell_in(heat) and heat.columns[0][:1].isalpha() else 0.0


def height_of(heat: Heat) -> float:
    """The height of a panel that shows it, in inches."""
    return _REST_IN + _rows_in(heat) + _turned_in(heat)


def draw_heat(frame: Figure | SubFigure, heat: Heat) -> Axes:
    """Draw the map and its colour bar into a figure; gives the axes of the map."""
    axes: Axes
    axes, bar = frame.subplots(2, 1, height_ratios=[_rows_in(heat), _BAR_IN])
    share = heat.scale.place(heat.values)
    shades: dict[str, Any] = {"cmap": SHADES, "vmin": 0, "vmax": 1, "aspect": "auto"}
    axes.imshow(np.ma.masked_invalid(share), interpolation="none", **shades)
    axes.tick_params(labelcolor=INK)
    axes.tick_params(axis="x", labelrotation=90 if _turned_in(heat) else 0)
    for axis, names, shown in (
        (axes.yaxis, heat.rows, ["\n".join(name) for name in _row_names(heat)]),
        (axes.xaxis, heat.columns, heat.columns),
    ):
        step = -(-len(names) // MOST_NAMES)
        axis.set_ticks(range(0, len(names), step), shown[::step])
        for label, name in zip(axis.get_majorticklabels(), names[::step], strict=True):
            if name in heat.named:
                label.set(color=BAD, fontweight="bold")
    _write_cells(axes, heat, share)
    bar.imshow(np.linspace(0, 1, 64)[np.newaxis, :], extent=(0, 1, 0, 1), **shades)
    for part in (axes, bar):
        part.grid(visible=False)
        part.tick_params(length=0)
    bar.spines[:].set_visible(False)
    ticks = heat.scale.ticks
    bar.set_xticks(heat.scale.place(np.array(list(ticks))).tolist(), list(ticks.values()))
    title = heading(f"{heat.scale.title}, brighter is better", LABEL_PT, 0.9 * WIDTH_IN)
    bar.set(yticks=[], xlabel=title)
    return axes


def _fitting(texts: Mapping[Place, str], cell_in: float) -> tuple[float, Mapping[Place, str]]:
    """The size in which all texts fit into their cells, on two lines if they must; else none."""
    for broken in (texts, {place: text.replace(" ", "\n") for place, text in texts.items()}):
        longest = max((line for text in broken.values() for line in text.split("\n")), key=len)
        for size_pt in _TEXT_PT:
            if text_width_in(longest, size_pt) <= cell_in:
                return size_pt, broken
    return _TEXT_PT[-1], {}


def _write_cells(axes: Axes, heat: Heat, share: Matrix) -> None:
    """Edges between cells, their texts, and the outlines of what is accused."""
    rows, columns = share.shape
    narrow = max(rows, columns) > MOST_EDGED
    if not narrow:
        axes.hlines(np.arange(rows - 1) + 0.5, -0.5, columns - 0.5, color=PAPER, lw=1.4)
        axes.vlines(np.arange(columns - 1) + 0.5, -0.5, rows - 0.5, color=PAPER, lw=1.4)
    size_pt, texts = _fitting(heat.texts or {(0, 0): ""}, _cell_in(heat))
    look: Any = {"ha": "center", "va": "center", "fontsize": size_pt, "linespacing": 0.95}
    for (row, column), text in texts.items():
        own = share[row, column]
        colour = INK if np.isnan(own) else ON_BRIGHT if own > _BRIGHT else ON_DARK
        axes.text(column, row, text, color=colour, in_layout=False, **look)
    dashed: Any = (0, (2, 1.5))
    for (row, column), style in (
        *((place, dashed) for place in heat.charged),
        *((place, "-") for place in heat.culprits),
    ):
        corner = column - 0.475, row - 0.45
        for colour, width in ((PAPER, 0 if narrow else 4.0), (BAD, 1.4 if narrow else 2.4)):
            box = Rectangle(corner, 0.95, 0.9, fill=False, edgecolor=colour, linewidth=width)
            box.set_linestyle("-" if colour == PAPER else style)
            axes.add_patch(box)
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
