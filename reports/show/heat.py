# SPDX-License-Identifier: Apache-2.0
"""Heat maps with a colour bar; brighter is better in all of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from reports.notation.palette import BAD, INK, ON_BRIGHT, ON_DARK, PAPER
from reports.show.arrange import LABEL_PT, text_width_in, wrapped
from reports.show.canvas import WIDTH_IN, Panel, finish, new_panel
from reports.statistics.descriptive import Matrix

Place = tuple[int, int]

#: Dark to bright, of rising luminance.
_SHADES = LinearSegmentedColormap.from_list(
    "brighter-is-better", ["#33215e", "#8a2f6d", "#d6604d", "#f6b26b", "#fff6d0"]
)
#: Text is dark on what is brighter than this.
_BRIGHT = 0.55
#: More rows or columns than these are named in steps, or have no edges between their cells.
MOST_NAMES, MOST_EDGED = 48, 20
_NAME_IN, _LINE_IN = 1.75, 0.185
#: Names that stand below their columns upright are broken where they are longer.
_TURNED_IN = 1.3
#: With more columns than these rows have narrower names.
_MOST_WIDE, _NARROW_NAME_IN = 5, 1.25
#: Sizes of the texts of cells, the largest that fits is taken.
_TEXT_PT = (9.0, 8.0, 7.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """A colour bar from `dark` (bad) to `bright` (good): its title, its ticks with their texts."""

    title: str
    dark: float
    bright: float
    ticks: Mapping[float, str]
    log: bool = False

    def place(self, values: Matrix) -> Matrix:
        """Where values stand on it, 0 to 1; what is beyond its ends stands at them."""
        ends, found = np.array([self.dark, self.bright]), values
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.log:
                ends, found = np.log(ends), np.log(found)
            share = (found - ends[0]) / (ends[1] - ends[0])
        return np.asarray(np.clip(share, 0.0, 1.0), dtype=np.float64)


def shares(of: str) -> Scale:
    """Rates against something that good ones reach."""
    return Scale(f"share of {of}", 0.5, 1.0, {0.5: "≤ 50 %", 0.75: "75 %", 1.0: "100 %"})


def multiples(of: str) -> Scale:
    """Times or costs against something that good ones take."""
    return Scale(f"times {of}", 2.0, 1.0, {2.0: "≥ 2 ×", 1.5: "1.5 ×", 1.0: "1 ×"})


@dataclass(frozen=True, slots=True)
class Heat:
    """Values by row and column, NaN for none, with the texts of cells. `culprits` are outlined,
    `charged` dashed: another cause explains them; `named` rows and columns are written in red.
    `note` stands below the title."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Matrix
    texts: Mapping[Place, str] = field(default_factory=dict)
    culprits: Collection[Place] = ()
    charged: Collection[Place] = ()
    named: Collection[str] = ()
    note: str = ""


def heat_panel(title: str, footer: str, heat: Heat, scale: Scale, alt: str) -> Panel:
    """The heat map above its colour bar."""
    count = len(heat.rows)
    room_in = _NAME_IN if len(heat.columns) <= _MOST_WIDE else _NARROW_NAME_IN
    lines = [wrapped(name, LABEL_PT, room_in) for name in heat.rows]
    row_in = max(0.34, _LINE_IN * max(map(len, lines)) + 0.05)
    if count > 8:
        row_in = max(0.19, _LINE_IN * max(map(len, lines)))
    if count > MOST_NAMES:
        row_in = 9.5 / count
    # Names that do not fit below their columns are turned, and need so much more height.
    widest = max(text_width_in(name, LABEL_PT) for name in heat.columns)
    own_in = max(text_width_in(line, LABEL_PT) for name in lines for line in name)
    cell_in = (WIDTH_IN - own_in) / len(heat.columns)
    columns = list(heat.columns)
    turned_in = widest if widest > cell_in - 0.2 and columns[0][:1].isalpha() else 0.0
    if turned_in > _TURNED_IN:
        parts = [wrapped(name, LABEL_PT, _TURNED_IN) for name in columns]
        if max(map(len, parts)) * _LINE_IN < cell_in:
            columns, turned_in = ["\n".join(part) for part in parts], _TURNED_IN
    figure, axes = new_panel(title, footer, 1.25 + row_in * count + turned_in)
    share = scale.place(heat.values)
    axes.imshow(
        np.ma.masked_invalid(share),
        cmap=_SHADES,
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="none",
    )
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelcolor=INK)
    axes.set_ylabel(heat.note)
    _names(axes.yaxis, ["\n".join(name) for name in lines], heat.rows, heat.named)
    _names(axes.xaxis, columns, heat.columns, heat.named)
    _cells(axes, heat, share, cell_in - 0.06)
    bar = figure.add_axes((0.1, 0.1, 0.8, 0.03))
    bar.imshow(
        np.linspace(0, 1, 64)[np.newaxis, :], cmap=_SHADES, aspect="auto", extent=(0, 1, 0, 1)
    )
    bar.grid(visible=False)
    bar.set_yticks([])
    bar.spines[:].set_visible(False)
    bar.set_xticks(scale.place(np.array(list(scale.ticks))).tolist(), list(scale.ticks.values()))
    bar.set_xlabel(f"{scale.title}, brighter is better")
    return finish(figure, alt)


def _names(axis: Axis, shown: Sequence[str], names: Sequence[str], named: Collection[str]) -> None:
    step = -(-len(names) // MOST_NAMES)
    axis.set_ticks(range(0, len(names), step), shown[::step])
    for label, name in zip(axis.get_majorticklabels(), names[::step], strict=True):
        if name in named:
            label.set_color(BAD)
            label.set_fontweight("bold")


def _fitting(texts: Mapping[Place, str], cell_in: float) -> tuple[float, Mapping[Place, str]]:
    """The size in which all texts fit into their cells, on two lines if they must; else none."""
    for broken in (texts, {place: text.replace(" ", "\n") for place, text in texts.items()}):
        lines = {line for text in broken.values() for line in text.split("\n")}
        for size_pt in _TEXT_PT:
            if all(text_width_in(line, size_pt) <= cell_in for line in lines):
                return size_pt, broken
    return _TEXT_PT[-1], {}


def _cells(axes: Axes, heat: Heat, share: Matrix, cell_in: float) -> None:
    """Edges between cells, their texts, and the outlines of what stands out."""
    rows, columns = share.shape
    narrow = max(rows, columns) > MOST_EDGED
    if not narrow:
        axes.hlines(np.arange(rows - 1) + 0.5, -0.5, columns - 0.5, color=PAPER, lw=1.4)
        axes.vlines(np.arange(columns - 1) + 0.5, -0.5, rows - 0.5, color=PAPER, lw=1.4)
    size_pt, texts = _fitting(heat.texts, cell_in)
    for (row, column), text in texts.items():
        colour = INK if np.isnan(share[row, column]) else ON_DARK
        if share[row, column] > _BRIGHT:
            colour = ON_BRIGHT
        axes.text(
            column,
            row,
            text,
            ha="center",
            va="center",
            fontsize=size_pt,
            color=colour,
            linespacing=0.95,
        )
    for places, style in ((heat.charged, (0, (2, 1.5))), (heat.culprits, "-")):
        for row, column in places:
            corner = column - 0.475, row - 0.45
            for colour, width in ((PAPER, 0 if narrow else 4.0), (BAD, 1.4 if narrow else 2.4)):
                axes.add_patch(
                    Rectangle(
                        corner,
                        0.95,
                        0.9,
                        fill=False,
                        edgecolor=colour,
                        linewidth=width,
                        linestyle="-" if colour == PAPER else style,
                    )
                )
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
