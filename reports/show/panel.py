# SPDX-License-Identifier: Apache-2.0
"""Pictures as data: panels of marks over two axes; `draw` makes SVG of a panel, and files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import pairwise
from textwrap import wrap
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from reports.notation.labels import INK, QUIET, Look
from reports.notation.units import unbroken
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
    of the markers in points, 0 for none; `face`: colour inside the markers where it is not that of
    the look.
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
    face: str = ""
    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars of one colour at places, each from `base` over its length; `level`: to the right."""

    at: Sequence[float]
    lengths: Sequence[float]
    thickness: float
    colour: str
    base: float = 0.0
    level: bool = False
    edge: str = ""
    name: str = ""


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
    outlined, `charged` dashed: another cause explains them; `named` rows and columns are written in
    red."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Matrix
    scale: Scale
    texts: Mapping[Place, str] = field(default_factory=dict)
    culprits: Collection[Place] = ()
    charged: Collection[Place] = ()
    named: Collection[str] = ()


#: Function that draws straight into the axes, such as partial(Axes.axvline, x=1).
Drawing = Callable[[Axes], object]
Mark = Series | Bars | Heat | Drawing


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
        """Names of the marks, such as environments."""
        return {mark.name for mark in self.marks if isinstance(mark, Series | Bars)}


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
