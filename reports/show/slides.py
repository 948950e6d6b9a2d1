# SPDX-License-Identifier: Apache-2.0
"""Pictures taken out, for a slide: each as SVG and PNG, with title, caption, legend and footer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from records.errors import InfrastructureError
from records.files import write_whole
from records.text.plain_text import plain
from reports.notation.labels import PAPER, QUIET, Look
from reports.show.draw import NO_METADATA, draw, size_in, styled
from reports.show.panel import EDGE, Picture, text_width_in, wrapped
from reports.show.tables import slug

#: Dots an inch of the PNG.
PNG_DPI = 200
_MOST_ACROSS = 3
#: Sizes of title and legend, and of what stands below; height of a line over its size.
_HEAD_PT, _TEXT_PT, _FOOT_PT, _LINE = 16.0, 10.5, 9.0, 1.3 / 72


def write_pictures(
    pictures: Iterable[Picture], looks: Mapping[str, Look], folder: Path
) -> list[Path]:
    """Write each picture into `folder`, made anew where it is missing; gives the files."""
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, picture in enumerate(pictures):
            name = f"{number:02d}-{slug(picture.anchor.removeprefix('picture-'))}"
            for suffix, content in zip(("svg", "png"), _taken_out(picture, looks), strict=True):
                write_whole(folder / f"{name}.{suffix}", content)
                written.append(folder / f"{name}.{suffix}")
    except OSError as error:
        raise InfrastructureError(
            f"{folder}: the pictures could not be written ({error.strerror}); give another folder."
        ) from error
    return written


def _taken_out(picture: Picture, looks: Mapping[str, Look]) -> tuple[bytes, bytes]:
    """The picture as SVG and as PNG: title, legend, panels, caption with footer."""
    sizes = [size_in(panel) for panel in picture.panels]
    across = min(_MOST_ACROSS, len(sizes))
    rows = [sizes[first : first + across] for first in range(0, len(sizes), across)]
    heights = [max(height for _, height in row) for row in rows]
    width = across * max(own for own, _ in sizes)
    title = wrapped(picture.title, _HEAD_PT, width)
    below = [picture.caption, *picture.footers[:1]]
    foot = [line for text in below for line in wrapped(text, _FOOT_PT, width)]
    signs = {name: _sign(looks[name]) for name in picture.environments}
    widest = max((text_width_in(name, _TEXT_PT) for name in signs), default=0.0)
    columns = max(1, int(width / (0.7 + widest)))
    text_lines = -(-len(signs) // columns) + 1.5
    text_in = _LINE * (_HEAD_PT * len(title) + _TEXT_PT * text_lines + _FOOT_PT * len(foot))
    left: Any = {"x": EDGE / width, "ha": "left"}
    svg, png = StringIO(), BytesIO()
    with styled():
        figure = Figure((width, sum(heights) + text_in))
        figure.suptitle("\n".join(title), fontsize=_HEAD_PT, weight="bold", **left)
        figure.supxlabel("\n".join(foot), fontsize=_FOOT_PT, color=QUIET, **left)
        inner: Any = figure.subfigures()
        look: Any = {"ncols": columns, "fontsize": _TEXT_PT, "frameon": False, "borderpad": 0}
        if signs:
            inner.legend(signs.values(), signs.keys(), loc="outside upper left", **look)
        places = inner.subfigures(len(rows), across, height_ratios=heights, squeeze=False).flat
        draw(figure, zip(places, picture.panels, strict=False))
        figure.savefig(svg, format="svg", facecolor=PAPER, metadata=NO_METADATA)
        figure.savefig(png, dpi=PNG_DPI, facecolor=PAPER, metadata={"Software": None})
    return plain(svg.getvalue()).encode(), png.getvalue()


def _sign(look: Look) -> Line2D:
    """The line and marker of an environment in a legend."""
    style: Any = (0, look.dashes) if look.dashes else "-"
    return Line2D([], [], color=look.colour, marker=look.marker, linestyle=style)
