# SPDX-License-Identifier: Apache-2.0
"""Pictures as data: panels of marks over two axes; `draw` makes SVG of a panel, and files. A heat
map stands above a colour bar; brighter is better in all of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import pairwise
from textwrap import wrap
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle

from records.text.plain_text import unbroken
from reports.notation.labels import BAD, INK, ON_BRIGHT, ON_DARK, PAPER, QUIET, Look
from reports.statistics.descriptive import Matrix

#: Size of a panel in inches; a wide one has twice the width.
WIDTH_IN, HEIGHT_IN = 4.3, 3.2
#: Beginning of the anchors of pictures with panels of double width.
WIDE_ANCHOR = "wide"
#: Look of reference lines.
GREY = Look(QUIET, "", ())

#: `bytes` is `log2` with message lengths as ticks.
AxisScale = Literal["linear", "log", "log2", "bytes"]
Side = Literal["x", "y"]
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis of a panel.

    `low`, `high`: its ends, None where the marks decide; low above high turns it round. `ticks`:
    places, or places with their texts; texts on a y axis name its rows. `counts`: ticks at the
    values of the series where these are few. `text` writes a tick. `margin`: room beyond the marks
    as a share of their range.
    """

    title: str = ""
    scale: AxisScale = "linear"
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    ticks: Sequence[float] | Mapping[float, str] | None = None
    counts: bool = False
    text: Callable[[float], str] | None = None
    margin: float | None = None
    grid: bool = True


def rows_axis(names: Sequence[str]) -> Axis:
    """A y axis of named rows at 0, 1, 2, … from the top down."""
    return Axis(ticks=dict(enumerate(names)), low=len(names) - 0.4, high=-0.6, grid=False)


@dataclass(frozen=True, slots=True)
class Series:
    """Values along x as a line, markers or both.

    `low`, `high`: ends of a band; `points`: single launches (x, y). `width` of the line and `size`
    of the markers in points, 0 for none.
    """

    x: Sequence[float]
    y: Sequence[float]
    look: Look = GREY
    name: str = ""
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    points: Sequence[tuple[float, float]] = ()
    width: float = 1.6
    size: float = 4.6
    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class Scale:
    """A colour bar from `dark` (bad) to `bright` (good): its title, its ticks with their texts."""

    title: str
    dark: float
    bright: float
    ticks: Mapping[float, str]
    log: bool = False

    def place(self, values: Matrix) -> Matrix:
        """Places of values on it, 0 to 1; what is beyond its ends is at them."""
        scaled = np.log if self.log else np.asarray
        dark, bright = scaled(np.array([self.dark, self.bright]))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (scaled(values) - dark) / (bright - dark)
        return np.asarray(np.clip(share, 0.0, 1.0), dtype=np.float64)


def shares(of: str) -> Scale:
    """Rates against something that good ones reach."""
    return Scale(f"share of {of}", 0.5, 1.0, {0.5: "≤ 50 %", 0.75: "75 %", 1.0: "100 %"})


def multiples(of: str) -> Scale:
    """Times or costs against something that good ones take."""
    return Scale(f"times {of}", 2.0, 1.0, {2.0: "≥ 2 ×", 1.5: "1.5 ×", 1.0: "1 ×"})


@dataclass(frozen=True, slots=True)
class Heat:
    """A heat map: values by row and column, NaN for none, with the texts of cells. `culprits` are
    outlined, `named` rows and columns are written in red."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Matrix
    scale: Scale
    texts: Mapping[Place, str] = field(default_factory=dict)
    culprits: Collection[Place] = ()
    named: Collection[str] = ()


#: Function that draws straight into the axes, such as partial(Axes.axvline, x=1).
Drawing = Callable[[Axes], object]
Mark = Series | Heat | Drawing


def written(
    text: str, at: tuple[float, float], colour: str = INK, size_pt: float = 9.0, **look: Any
) -> Drawing:
    """Text at a place, with what else `Axes.annotate` takes; the layout makes no room for it."""
    given: Any = {"xytext": (0, 0), "textcoords": "offset points", "annotation_clip": True} | look
    return partial(
        Axes.annotate, text=text, xy=at, color=colour, fontsize=size_pt, in_layout=False, **given
    )


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Marks over two axes; `alt` says in words what they show, `footer` what they rest on.

    Later marks cover earlier ones. `height_in` 0: as a heat map needs it. `key`: colours that a
    legend names. `label` writes names into the axes when these have their final place.
    """

    title: str
    marks: Sequence[Mark]
    alt: str
    x: Axis = Axis()
    y: Axis = Axis()
    footer: str = ""
    height_in: float = HEIGHT_IN
    wide: bool = False
    frame: bool = True
    key: Mapping[str, str] = field(default_factory=dict)
    label: Callable[[Axes], None] | None = None

    @property
    def names(self) -> set[str]:
        """Names of the series, such as environments."""
        return {mark.name for mark in self.marks if isinstance(mark, Series)}


def heat_panel(title: str, footer: str, heat: Heat, alt: str, note: str = "") -> Panel:
    """A heat map above its colour bar, `note` below the title."""
    return Panel(title, [heat], alt, y=Axis(note), footer=footer, height_in=0, frame=False)


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels that belong together, with a caption and the environments to name in the legend."""

    anchor: str
    title: str
    caption: str
    panels: list[Panel]
    environments: list[str]

    @property
    def footers(self) -> list[str]:
        """Footers of the panels, each once; a single one is printed below all panels."""
        return list(dict.fromkeys(panel.footer for panel in self.panels if panel.footer))


TITLE_PT, LABEL_PT = 11.5, 10.0
#: Room for the names of rows, and round the parts of a panel, in inches.
NAME_IN, EDGE = 1.75, 0.04
#: Width of a letter of DejaVu Sans as a share of its size.
_LETTER = 0.62
#: Pixels between the labels of two ticks.
_APART = 4.0


def text_width_in(text: str, size_pt: float) -> float:
    """Greatest width of a text on one line, in inches."""
    return len(text) * _LETTER * size_pt / 72


def wrapped(text: str, size_pt: float, width_in: float) -> list[str]:
    """The text in lines of at most this width, no quantity in two; a longer word is broken, after a
    hyphen if it can be."""
    letters = max(1, int(width_in / text_width_in("n", size_pt)))
    return [line.replace("\u00a0", " ") for line in wrap(unbroken(text), letters)]


def heading(text: str, size_pt: float, width_in: float) -> str:
    """A title in lines that fill a panel of this width at most."""
    return "\n".join(wrapped(text, size_pt, width_in - 2 * EDGE))


def thin_ticks(axes: Axes) -> None:
    """Leave out every other label below axes that have their final place, until none meet."""
    low, high = sorted(axes.get_xlim())
    labels = [
        (label.get_window_extent(), label)
        for label in axes.get_xticklabels()
        if label.get_visible() and label.get_text() and low <= label.get_position()[0] <= high
    ]
    while any(a[0].x1 + _APART > b[0].x0 for a, b in pairwise(labels)):
        for _, label in labels[1::2]:
            label.set_visible(False)
        labels = labels[::2]


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
    for row, column in heat.culprits:
        corner = column - 0.475, row - 0.45
        for colour, width in ((PAPER, 0 if narrow else 4.0), (BAD, 1.4 if narrow else 2.4)):
            axes.add_patch(Rectangle(corner, 0.95, 0.9, fill=False, edgecolor=colour, lw=width))
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
