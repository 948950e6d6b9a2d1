# SPDX-License-Identifier: Apache-2.0
"""Names written into a panel, next to what they name and not across each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from reports.show.layout import thin_ticks

#: Size of the letters, in points.
_SIZE = 7.4
#: Lines that a name may stand above or below its point.
_FAR = 14


@dataclass(frozen=True, slots=True)
class Label:
    """A name and the place it belongs to, in data coordinates."""

    name: str
    x: float
    y: float
    colour: str


#: Left, bottom, right and top as shares of the axes.
_Box = tuple[float, float, float, float]


def _meet(one: _Box, other: _Box) -> bool:
    across = one[0] < other[2] and other[0] < one[2]
    return across and one[1] < other[3] and other[1] < one[3]


def label_near(axes: Axes, ends: Sequence[Label]) -> None:
    """Each name at the nearest free place round its point, joined to it where that is not beside.

    The axes must have their final place and limits. A name without a free place is left out.
    """
    height, letter = _letter(axes)
    to_axes = axes.transData + axes.transAxes.inverted()
    spots = [(float(x), float(y)) for x, y in (to_axes.transform((e.x, e.y)) for e in ends)]
    taken = [(x - letter, y - height / 2, x + letter, y + height / 2) for x, y in spots]
    for end, (x, y) in zip(ends, spots, strict=True):
        width = letter * len(end.name)
        lefts = (x + 1.2 * letter, x - 1.2 * letter - width, x - width / 2)
        for step, left in product(sorted(range(-_FAR, _FAR + 1), key=abs), lefts):
            middle = y + step * height
            box = (left, middle - height / 2, left + width, middle + height / 2)
            inside = min(box) > 0 and max(box) < 1
            if inside and not any(_meet(box, other) for other in taken):
                side = 0.0 if left > x else 1.0 if left + width < x else 0.5
                _write(axes, end, (left, middle), "-" if abs(step) > 1 else "", side)
                taken.append(box)
                break


def label_beside(axes: Axes, ends: Sequence[Label]) -> None:
    """Names of lines in a column on the right, each joined to the end of its line; the x axis is
    made longer for them, without further ticks.

    The axes must have their final place.
    """
    height, letter = _letter(axes)
    width = letter * max(len(end.name) for end in ends)
    low, high = (float(place) for place in axes.get_xlim())
    ticks = [float(place) for place in axes.get_xticks() if low <= place <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    share, is_log = 1 / (1 - min(width + 0.05, 0.6)), axes.get_xscale() == "log"
    axes.set_xlim(low, low * (high / low) ** share if is_log else low + (high - low) * share)
    for name in axes.get_xticklabels():
        name.set_visible(True)
    thin_ticks(axes)
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [(float(to_axes.transform((end.x, end.y))[1]), end) for end in ends]
    # From the top down, with as much room below each as those that are left need.
    step, top = 1.05 * height, 1.0
    heights.sort(key=lambda item: -item[0])
    for place, (y, end) in enumerate(heights):
        middle = max(min(y, top - step / 2), (len(heights) - place - 0.5) * step)
        top = middle - step / 2
        _write(axes, end, (1 - width, middle), ":", 0.0)


def _write(axes: Axes, end: Label, at: tuple[float, float], line: str, side: float) -> None:
    """The name at a place, as shares of the axes, joined from one side of it by a line."""
    joined = {"arrowstyle": "-", "color": end.colour, "lw": 0.5, "ls": line, "relpos": (side, 0.5)}
    axes.annotate(
        end.name,
        (end.x, end.y),
        at,
        textcoords="axes fraction",
        fontsize=_SIZE,
        color=end.colour,
        va="center",
        arrowprops={**joined, "shrinkA": 1, "shrinkB": 2} if line else None,
    )


def _letter(axes: Axes) -> tuple[float, float]:
    """Height of a line and width of a letter, as shares of the axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    size = figure.dpi * _SIZE / 72
    return 1.15 * size / axes.bbox.height, 0.58 * size / axes.bbox.width
