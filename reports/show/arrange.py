# SPDX-License-Identifier: Apache-2.0
"""The parts of a panel get their places by their measured sizes, so that nothing is cut.

On top, from the left edge: title, legend, and the y axis' title, which reads level and so is never
longer than the panel. Below them the axes with the room that their ticks need, and last a colour
bar.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from reports.notation.palette import INK, QUIET
from reports.notation.units import unbroken

TITLE_PT, LABEL_PT = 11.5, 10.0
#: Room round a panel, and between its parts, in inches.
EDGE, GAP = 0.04, 0.06
_LINE = 1.28 / 72
_BAR_IN = 0.11
#: Share of a line that is filled: browsers set a few per cent wider than it is measured.
_SURE = 0.96
#: Between the names of two neighbouring ticks, in pixels.
_APART = 5.0
#: Room that changes by less is right, in inches.
_FINE_IN = 0.02


@lru_cache(maxsize=4096)
def text_width_in(text: str, size_pt: float, weight: str = "normal") -> float:
    """How wide a text is at most, in inches: browsers' fonts are narrower than the one measured."""
    font = FontProperties(family="DejaVu Sans", size=size_pt, weight=weight)
    width, _, _ = _renderer(72).get_text_width_height_descent(text, font, False)
    return float(width) / 72


@lru_cache(maxsize=4)
def _renderer(dpi: float) -> Any:
    """Measures texts; one for all panels, for what it has measured is kept with it."""
    return RendererAgg(8, 8, dpi)  # type: ignore[no-untyped-call]


def wrapped(text: str, size_pt: float, width_in: float, weight: str = "normal") -> list[str]:
    """The text in lines of at most this width, no quantity in two; a longer word is broken, after a
    hyphen if it can be."""
    lines: list[str] = []
    for whole in unbroken(text).split(" "):
        word = whole
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width_in(longer, size_pt, weight) <= width_in:
            lines[-1] = longer
            continue
        while text_width_in(word, size_pt, weight) > width_in and len(word) > 1:
            fits = next(
                n
                for n in range(len(word) - 1, 0, -1)
                if n == 1 or text_width_in(word[:n], size_pt, weight) <= width_in
            )
            hyphen = max(word.rfind(mark, 1, fits) for mark in "-_/") + 1
            lines.append(word[: hyphen or fits])
            word = word[hyphen or fits :]
        lines.append(word)
    return [line.replace("\u00a0", " ") for line in lines if line]


def arrange(figure: Figure) -> None:
    """Place title, legend, y title, axes and colour bar of a panel."""
    renderer = _renderer(figure.dpi)
    axes, *bars = figure.axes
    width, height = figure.get_size_inches()
    top = _heading(
        figure, axes.get_title(loc="left"), height - EDGE, TITLE_PT, color=INK, fontweight="bold"
    )
    if (legend := axes.get_legend()) is not None:
        legend.set_loc("upper left")
        legend.set_bbox_to_anchor((EDGE / width, top / height), transform=figure.transFigure)
        top -= legend.get_window_extent(renderer).height / figure.dpi + GAP
    top = _heading(figure, axes.get_ylabel(), top, LABEL_PT, color=QUIET) - 2 * GAP
    axes.set_title("", loc="left")
    axes.set_ylabel("")
    for part in figure.axes:
        label = wrapped(part.get_xlabel(), LABEL_PT, 0.8 * width)
        part.set_xlabel("\n".join(label))
    floor = EDGE
    for bar in bars:
        ticks = bar.xaxis.get_tightbbox(renderer)
        below = bar.bbox.y0 - ticks.y0 if ticks else 0.0
        floor += below / figure.dpi + _BAR_IN + 2 * GAP
    left, right = _room(figure, axes, renderer, top, floor)
    left, right = left + _BAR_IN, right + 2 * _BAR_IN
    for bar in bars:
        low = floor - _BAR_IN - 2 * GAP
        bar.set_position(
            (left / width, low / height, (width - left - right) / width, _BAR_IN / height)
        )
    for part in figure.axes:
        widths = (text_width_in(line, LABEL_PT) for line in part.get_xlabel().split("\n"))
        if max(widths) > part.get_position().width * width:
            # Wider than its axes it ends where they end, and begins below the names beside them.
            part.xaxis.label.set(x=1.0, horizontalalignment="right")


def _heading(figure: Figure, text: str, top: float, size_pt: float, **look: Any) -> float:
    """Lines of text from the left edge down; gives where they end."""
    width, height = figure.get_size_inches()
    room = _SURE * (width - 2 * EDGE)
    for line in wrapped(text, size_pt, room, look.get("fontweight", "normal")):
        figure.text(
            EDGE / width,
            top / height,
            line,
            fontsize=size_pt,
            va="top",
            **look,
        )
        top -= _LINE * size_pt
    return top


def _room(
    figure: Figure, axes: Axes, renderer: RendererAgg, top: float, floor: float
) -> tuple[float, float]:
    """Set the axes so that their ticks and titles end at the edges; gives the room at their left
    and right in inches."""
    width, height = figure.get_size_inches()
    left, right, bottom = 0.5, EDGE, floor + 0.4

    def set_place() -> None:
        across, up = width - left - right, max(top - bottom, 0.2)
        axes.set_position((left / width, bottom / height, across / width, up / height))

    # Ticks may change with the room, and names that are turned need more of it.
    for _ in range(3):
        set_place()
        found = (axis.get_tightbbox(renderer) for axis in (axes.xaxis, axes.yaxis))
        boxes = [box for box in found if box is not None]
        if not boxes:
            break
        before = left, right, bottom
        left = max(EDGE, left + EDGE - min(box.x0 for box in boxes) / figure.dpi)
        right = max(EDGE, right + max(box.x1 for box in boxes) / figure.dpi - width + EDGE)
        bottom += floor - min(box.y0 for box in boxes) / figure.dpi
        set_place()
        turned = _thin_ticks(axes, renderer)
        if (
            not turned
            and max(abs(a - b) for a, b in zip(before, (left, right, bottom), strict=True))
            < _FINE_IN
        ):
            break
    return left, right


def _thin_ticks(axes: Axes, renderer: RendererAgg) -> bool:
    """Turn names below the axis that would meet; of numbers that would, leave out every other.
    Gives whether they were turned."""
    axis = axes.xaxis
    while True:
        low, high = sorted(axis.get_view_interval())
        shown = [
            (place, label)
            for place, label in zip(axis.get_ticklocs(), axis.get_majorticklabels(), strict=False)
            if low <= place <= high and label.get_text()
        ]
        boxes = [label.get_window_extent(renderer) for _, label in shown]
        if all(a.x1 + _APART <= b.x0 or b.x1 + _APART <= a.x0 for a, b in pairwise(boxes)):
            return False
        texts = [label.get_text() for _, label in shown]
        named = any(text[0].isalpha() or "×" in text for text in texts)
        if named and not shown[0][1].get_rotation():
            axes.tick_params(axis="x", labelrotation=90)
            return True
        axis.set_ticks([place for place, _ in shown][::2], texts[::2])
