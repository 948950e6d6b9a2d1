# SPDX-License-Identifier: Apache-2.0
"""Layout of panels: texts in lines of an estimated width, labels of ticks that would meet."""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap

from matplotlib.axes import Axes

from reports.notation.units import unbroken

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
