# SPDX-License-Identifier: Apache-2.0
"""Layout of panels: matplotlib's constrained layout, texts in lines of an estimated width, ticks
that would meet."""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from reports.notation.units import unbroken

TITLE_PT, LABEL_PT = 11.5, 10.0
#: Room for the names of rows, in inches.
NAME_IN = 1.75
#: Room round the parts of a panel in inches.
EDGE = 0.04
#: Width of a letter as a share of its size, in DejaVu Sans; of ticks, which are digits and units.
_LETTER, _BOLD_LETTER, _TICK_LETTER = 0.6, 0.66, 0.54
#: Size of turned names that would meet; room between the texts of two ticks in inches.
_SMALL_PT, _APART_IN = 7.0, 0.05


def text_width_in(text: str, size_pt: float, weight: str = "normal") -> float:
    """Greatest width of a text on one line, in inches."""
    letter = _BOLD_LETTER if weight == "bold" else _LETTER
    return len(text) * letter * size_pt / 72


def wrapped(text: str, size_pt: float, width_in: float, weight: str = "normal") -> list[str]:
    """The text in lines of at most this width, no quantity in two; a longer word is broken, after a
    hyphen if it can be."""
    letters = max(1, int(width_in / text_width_in("n", size_pt, weight)))
    return [line.replace("\u00a0", " ") for line in wrap(unbroken(text), letters)]


def heading(text: str, size_pt: float, width_in: float, weight: str = "normal") -> str:
    """A title in lines that fill a panel of this width at most."""
    return "\n".join(wrapped(text, size_pt, width_in - 2 * EDGE, weight))


def settle(figure: Figure) -> None:
    """Give all axes of a figure their final place."""
    FigureCanvasAgg(figure)
    figure.set_layout_engine("constrained", w_pad=EDGE, h_pad=EDGE, hspace=0.03, wspace=0.0)
    engine: Any = figure.get_layout_engine()
    engine.execute(figure)
    # None, not "none": with any engine the figure would be drawn twice.
    figure.set_layout_engine(None)
    for part in figure.axes:
        # The title of the y axis reads level and begins where the panel's title does.
        axes: Any = part
        left = axes.get_figure(root=False).bbox.x0 + EDGE * figure.dpi
        axes._left_title.set_x((left - axes.bbox.x0) / axes.bbox.width)


def thin_ticks(axes: Axes, room_in: float = 0.0, *, named: bool = False) -> None:
    """Turn names below the axis that would meet; of numbers that would, leave out every other.

    `room_in`: width of axes that have no final place yet.
    """
    axis, (low, high) = axes.xaxis, axes.get_xlim()
    room_in = room_in or axes.bbox.width / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    axis.get_majorticklabels()  # makes the texts
    ticks = [tick for tick in axis.get_major_ticks() if tick.label1.get_visible()]
    scaled = axis.get_transform().transform([low, high, *(tick.get_loc() for tick in ticks)])
    places = (scaled[2:] - scaled[0]) / (scaled[1] - scaled[0]) * room_in
    shown = [
        (place, tick.label1, len(tick.label1.get_text()) * _TICK_LETTER * LABEL_PT / 72)
        for place, tick in zip(places.tolist(), ticks, strict=True)
        if tick.label1.get_text() and -0.01 <= place <= room_in + 0.01
    ]
    while any(abs(b[0] - a[0]) < (a[2] + b[2]) / 2 + _APART_IN for a, b in pairwise(shown)):
        if named:
            close = min(abs(b[0] - a[0]) for a, b in pairwise(shown)) < 1.2 * LABEL_PT / 72
            size = _SMALL_PT if close else LABEL_PT
            axes.tick_params(axis="x", labelrotation=90, labelsize=size)
            return
        for _, label, _ in shown[1::2]:
            label.set_visible(False)
        shown = shown[::2]
