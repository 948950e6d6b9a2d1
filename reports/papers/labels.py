# SPDX-License-Identifier: Apache-2.0
"""Names written into a panel, beside what they name and not across each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from reports.statistics.descriptive import Matrix

#: Size of the letters, in points.
_SIZE = 7.4
#: Lines that a name may stand above or below its point.
_FAR = 14
#: Lines that a curve's name may stand from its end to be free of curves.
_NEAR = 3


@dataclass(frozen=True, slots=True)
class End:
    """A name and the place it belongs to, in data coordinates."""

    name: str
    x: float
    y: float
    colour: str


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: _Box) -> bool:
        """Whether they share room."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    @property
    def middle(self) -> float:
        """Its height."""
        return (self.bottom + self.top) / 2

    def crossed(self, places: Matrix, margin: float) -> int:
        """How many of the places lie inside, or less than a margin above or below."""
        x, y = places.T
        above, below = self.bottom - margin < y, y < self.top + margin
        return int(np.count_nonzero((self.left < x) & (x < self.right) & above & below))


def label_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Each name at its place, moved up or down past names that are there already and past curves.

    The axes must have their final place and limits. A name that no place near its end keeps clear
    of curves stands across as few of them as can be; one without free room is left out.
    """
    placed: list[_Box] = []
    height, letter = _letter(axes)
    curves = _along_curves(axes)
    for end in sorted(ends, key=lambda one: -one.y):
        pixel = axes.transData.transform((end.x, end.y))
        x, y = axes.transAxes.inverted().transform(pixel)
        width = letter * len(end.name)
        left = min(max(0.0, x - width / 2), 1 - width)
        middles = sorted(
            (y + (0.8 + s / 2) * height for s in range(-80, 80)), key=lambda m: abs(m - y)
        )
        boxes = (_Box(left, m - height / 2, left + width, m + height / 2) for m in middles)
        inside = [box for box in boxes if box.bottom > 0 and box.top < 1.04]
        free = [one for one in inside if not any(one.meets(b) for b in placed)]
        if not free:
            continue
        lowest = min((b.bottom for b in placed), default=1.04)
        near = [one for one in free if abs(one.middle - y) < _NEAR * height] or free
        # The nearest across the fewest curves; of those one below the names of higher curves.
        near.sort(key=lambda one: one.top > lowest)
        box = min(near, key=lambda one: one.crossed(curves, height / 4))
        placed.append(box)
        axes.text(
            box.left,
            box.bottom,
            end.name,
            transform=axes.transAxes,
            fontsize=_SIZE,
            color=end.colour,
        )


def label_near(axes: Axes, ends: Sequence[End]) -> None:
    """Each name at the nearest free place round its point, joined to it where that is not beside.

    The axes must have their final place and limits. A name without a free place is left out.
    """
    height, letter = _letter(axes)
    to_axes = axes.transData + axes.transAxes.inverted()
    spots = [(float(x), float(y)) for x, y in (to_axes.transform((e.x, e.y)) for e in ends)]
    taken = [_Box(x - letter, y - height / 2, x + letter, y + height / 2) for x, y in spots]
    for end, (x, y) in zip(ends, spots, strict=True):
        width = letter * len(end.name)
        lefts = (x + 1.2 * letter, x - 1.2 * letter - width, x - width / 2)
        steps = sorted(range(-_FAR, _FAR + 1), key=abs)
        boxes = [
            (step, _Box(left, y + (step - 0.5) * height, left + width, y + (step + 0.5) * height))
            for step in steps
            for left in lefts
        ]
        inside = (
            (step, box)
            for step, box in boxes
            if box.left > 0 and box.right < 1 and box.bottom > 0 and box.top < 1
        )
        found = next((one for one in inside if not any(one[1].meets(b) for b in taken)), None)
        if found is None:
            continue
        step, box = found
        taken.append(box)
        side = 0.0 if box.left > x else 1.0 if box.right < x else 0.5
        line = {
            "arrowstyle": "-",
            "color": end.colour,
            "lw": 0.4,
            "shrinkA": 0,
            "shrinkB": 3,
            "relpos": (side, 0.5),
        }
        axes.annotate(
            end.name,
            (end.x, end.y),
            (box.left, (box.bottom + box.top) / 2),
            textcoords="axes fraction",
            fontsize=_SIZE,
            color=end.colour,
            va="center",
            arrowprops=line if abs(step) > 1 else None,
        )


def room_beside(axes: Axes, ends: Sequence[End]) -> None:
    """Longer logarithmic x axis, without further ticks, for the names of `label_beside`."""
    _, letter = _letter(axes)
    width = letter * max(len(end.name) for end in ends)
    low, high = (float(place) for place in axes.get_xlim())
    ticks = [float(place) for place in axes.get_xticks() if low <= place <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    share = 1 / (1 - min(width + 0.05, 0.6))
    axes.set_xlim(low, low * (high / low) ** share)


def label_beside(axes: Axes, ends: Sequence[End]) -> None:
    """Names of many lines in a column on the right, each joined to the end of its line.

    The axes must have their final place, and room for the names.
    """
    height, letter = _letter(axes)
    left = 1 - letter * max(len(end.name) for end in ends)
    to_axes = axes.transData + axes.transAxes.inverted()
    places = [to_axes.transform((end.x, end.y)) for end in ends]
    order = sorted(range(len(ends)), key=lambda number: -places[number][1])
    # From the top down, with as much room below each as those that are left need.
    step, top = 1.05 * height, 1.0
    for left_over, number in zip(range(len(order), 0, -1), order, strict=True):
        end, (x, y) = ends[number], places[number]
        middle = max(min(float(y), top - step / 2), (left_over - 0.5) * step)
        top = middle - step / 2
        axes.annotate(
            end.name,
            (float(x), float(y)),
            (left, middle),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=_SIZE,
            color=end.colour,
            va="center",
            arrowprops={
                "arrowstyle": "-",
                "color": end.colour,
                "lw": 0.6,
                "ls": ":",
                "relpos": (0.0, 0.5),
                "shrinkA": 1,
                "shrinkB": 0,
            },
        )


def _along_curves(axes: Axes) -> Matrix:
    """Places on all curves, in axes coordinates, closer to each other than a letter."""
    to_axes = axes.transData + axes.transAxes.inverted()
    found = [np.empty((0, 2))]
    for line in axes.lines:
        places = to_axes.transform(line.get_xydata())
        found += [np.linspace(start, end, 40) for start, end in pairwise(places)]
    return np.concatenate(found)


def _letter(axes: Axes) -> tuple[float, float]:
    """Height of a line and width of a letter, as shares of the axes."""
    figure = axes.get_figure()
    assert figure is not None
    width, height = figure.get_size_inches()  # type: ignore[union-attr]
    position = axes.get_position()
    size_in = _SIZE / 72
    return 1.15 * size_in / (height * position.height), 0.58 * size_in / (width * position.width)
