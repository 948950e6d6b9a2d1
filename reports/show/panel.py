# SPDX-License-Identifier: Apache-2.0
"""Pictures as data: panels of marks over two axes. `draw` makes SVG of a panel, `slides` files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from reports.notation.palette import INK, QUIET, Look
from reports.statistics.descriptive import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def above_axis(count: int) -> Axis:
    """A y axis of so many rows from the top down that have their names above what they show."""
    return Axis(ticks=dict.fromkeys(range(count), ""), low=count, high=0)


@dataclass(frozen=True, slots=True)
class Series:
    """Values along x as a line, markers or both.

    `low`, `high`: ends of a band; `points`: single launches (x, y). `width` of the line and `size`
    of the markers in points, 0 for none; `face`: colour inside the markers where it is not that of
    the look. `texts`: what each marker says under the pointer; a named series says its values.
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
    texts: Sequence[str] = ()

    @property
    def hovered(self) -> bool:
        """True where its markers have texts under the pointer; a line without any has none."""
        return bool(self.look.marker and (self.name or self.texts))


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across the whole panel at a place of the x or y axis; with `to`, a pale band."""

    at: float
    side: Side
    colour: str = QUIET
    width: float = 1.0
    dashes: tuple[float, ...] = ()
    to: float | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Text at a place; the sides named in `shares` are shares of the axes, not data. `offset` in
    points; `box`: on a ground that hides what it covers."""

    text: str
    x: float
    y: float
    colour: str = INK
    size: float = 9.0
    shares: str = ""
    offset: tuple[float, float] = (0, 0)
    right: bool = False
    vertical: str = "baseline"
    bold: bool = False
    box: bool = False


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


def rows_above(names: Sequence[str], bold: str = "") -> list[Text]:
    """The names of the rows of an `above_axis`."""
    return [
        Text(name, 0, row + 0.05, shares="x", vertical="top", bold=name == bold, box=True)
        for row, name in enumerate(names)
    ]


Mark = Series | Rule | Text | Bars | Heat


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
