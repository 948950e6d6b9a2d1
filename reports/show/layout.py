# SPDX-License-Identifier: Apache-2.0
"""Layout of panels by matplotlib's constrained layout, and what it leaves open: texts in lines of a
measured width, ticks that would meet, titles that begin at the left edge."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from reports.notation.units import unbroken

TITLE_PT, LABEL_PT = 11.5, 10.0
#: Room for the names of rows, in inches.
NAME_IN = 1.75
#: Room round the parts of a panel in inches.
EDGE = 0.04
#: Share of a line that is filled: browsers set a few per cent wider than it is measured.
_SURE = 0.96
#: Size of names that would meet.
_SMALL_PT = 7.0
#: Between the names of two neighbouring ticks, in pixels.
_APART = 5.0


class Canvas(FigureCanvasBase):
    """Measures the texts of a figure with one renderer for all, which keeps what it measured."""

    def get_renderer(self) -> Any:
        """Used by the layout."""
        return _renderer(self.figure.dpi)


@lru_cache(maxsize=4)
def _renderer(dpi: float) -> Any:
    return RendererAgg(8, 8, dpi)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=4096)
def text_width_in(text: str, size_pt: float, weight: str = "normal") -> float:
    """How wide a text is at most, in inches: browsers' fonts are narrower than the one measured."""
    font = FontProperties(family="DejaVu Sans", size=size_pt, weight=weight)
    with warnings.catch_warnings():
        # Browsers have the characters that the measured font lacks.
        warnings.filterwarnings("ignore", "Glyph ", UserWarning)
        width, _, _ = _renderer(72).get_text_width_height_descent(text, font, False)
    return float(width) / 72


def wrapped(text: str, size_pt: float, width_in: float, weight: str = "normal") -> list[str]:
    """The text in lines of at most this width, no quantity in two; a longer word is broken, after a
    hyphen if it can be."""

    def fits(part: str) -> bool:
        return text_width_in(part, size_pt, weight) <= width_in

    lines: list[str] = []
    for whole in unbroken(text).split(" "):
        word = whole
        if lines and fits(f"{lines[-1]} {word}"):
            lines[-1] += f" {word}"
            continue
        while len(word) > 1 and not fits(word):
            most = next((n for n in range(len(word) - 1, 1, -1) if fits(word[:n])), 1)
            end = max(word.rfind(mark, 1, most) for mark in "-_/") + 1 or most
            lines.append(word[:end])
            word = word[end:]
        lines.append(word)
    return [line.replace("\u00a0", " ") for line in lines if line]


def heading(text: str, size_pt: float, width_in: float, weight: str = "normal") -> str:
    """A title in lines that fill a panel of this width at most."""
    return "\n".join(wrapped(text, size_pt, _SURE * (width_in - 2 * EDGE), weight))


def settle(figure: Figure, parts: Sequence[Axes]) -> None:
    """Give all axes of a figure their final place; `parts` are the main axes of its panels."""
    figure.set_layout_engine("constrained", w_pad=EDGE, h_pad=EDGE, hspace=0.03, wspace=0.0)
    engine: Any = figure.get_layout_engine()
    engine.execute(figure)
    turned = [axes for axes in parts if thin_ticks(axes)]
    if turned:
        engine.execute(figure)
    for axes in turned:
        thin_ticks(axes)
    # None, not "none": with any engine the figure would be drawn twice.
    figure.set_layout_engine(None)
    for part in figure.axes:
        frame: Any = part.get_figure(root=False)
        room, own = part.bbox.width, frame.bbox
        # The title of the y axis reads level and begins where the panel's title does.
        left: Any = part._left_title  # type: ignore[attr-defined]
        left.set_x((own.x0 + EDGE * figure.dpi - part.bbox.x0) / room)
        lines = part.get_xlabel().split("\n")
        if figure.dpi * max(text_width_in(line, LABEL_PT) for line in lines) > room:
            # Wider than its axes it ends where they end, and begins below the names beside them.
            part.xaxis.label.set(x=1.0, horizontalalignment="right")


def thin_ticks(axes: Axes) -> bool:
    """Turn names below the axis that would meet; of numbers that would, leave out every other.
    Gives whether they were turned."""
    axis, renderer = axes.xaxis, _renderer(axes.get_figure(root=True).dpi)  # type: ignore[union-attr]
    while True:
        low, high = sorted(axis.get_view_interval())
        shown = [
            (place, label)
            for place, label in zip(axis.get_ticklocs(), axis.get_majorticklabels(), strict=False)
            if low <= place <= high and label.get_text() and label.get_visible()
        ]
        boxes = [label.get_window_extent(renderer) for _, label in shown]
        if all(a.x1 + _APART <= b.x0 or b.x1 + _APART <= a.x0 for a, b in pairwise(boxes)):
            return False
        texts = [label.get_text() for _, label in shown]
        named = any(text[0].isalpha() or "×" in text for text in texts)
        if named and not shown[0][1].get_rotation():
            axes.tick_params(axis="x", labelrotation=90)
            return True
        if named and float(shown[0][1].get_fontsize()) > _SMALL_PT:
            axes.tick_params(axis="x", labelsize=_SMALL_PT)  # a name is never left out
            continue
        for _, label in shown[1::2]:
            label.set_visible(False)
