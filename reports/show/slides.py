# SPDX-License-Identifier: Apache-2.0
"""Pictures taken out, for a slide: each as SVG and PNG, with title, caption, legend and footer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from records.errors import InfrastructureError
from records.files import write_whole
from records.text.plain_text import plain
from reports.notation.palette import INK, PAPER, QUIET, Look
from reports.show.draw import NO_METADATA, draw, size_in, styled, texts_of, with_titles
from reports.show.layout import text_width_in, wrapped
from reports.show.panel import HOLLOW, Picture
from reports.show.tables import slug

#: Dots an inch of the PNG.
PNG_DPI = 200
_EDGE_IN, _LEGEND_IN = 0.2, 0.3
_MOST_ACROSS = 3
_TEXT_PT = 10.5
_HEAD: Any = {"fontsize": 16.0, "fontweight": "bold", "color": INK}
_CAPTION: Any = {"fontsize": _TEXT_PT, "fontweight": "normal", "color": QUIET}
_FOOT: Any = {"fontsize": 8.5, "fontweight": "normal", "color": QUIET}


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
    """The picture as SVG and as PNG: head, panels and foot below each other."""
    sizes = [size_in(panel) for panel in picture.panels]
    across = min(_MOST_ACROSS, len(sizes))
    rows = [sizes[first : first + across] for first in range(0, len(sizes), across)]
    heights = [max(height for _, height in row) for row in rows]
    width = 2 * _EDGE_IN + across * max(own for own, _ in sizes)
    head, head_in = _lines([(picture.title, _HEAD), (picture.caption, _CAPTION)], width)
    foot, foot_in = _lines([("".join(picture.footers[:1]), _FOOT)], width)
    legend = _legend(picture, looks, width)
    head_in += _LEGEND_IN * -(-len(legend["labels"]) // legend["ncols"]) + 0.6 * _EDGE_IN
    parts = [head_in, sum(heights), foot_in]
    svg, png, edge = StringIO(), BytesIO(), _EDGE_IN / width
    with styled():
        figure = Figure((width, sum(parts)))
        frames: Any = figure.subfigures(3, 1, height_ratios=parts)
        for frame, height, lines in ((frames[0], head_in, head), (frames[2], foot_in, foot)):
            for down_in, line, look in lines:
                frame.text(edge, 1 - down_in / height, line, va="top", **look)
        if legend["labels"]:
            frames[0].legend(**legend, loc="lower left", bbox_to_anchor=(edge, 0), frameon=False)
        inner = frames[1].subfigures(1, 3, width_ratios=[edge, 1 - 2 * edge, edge])[1]
        places = inner.subfigures(len(rows), across, height_ratios=heights, squeeze=False).flat
        draw(figure, zip(places, picture.panels, strict=False))
        figure.savefig(svg, format="svg", facecolor=PAPER, metadata=NO_METADATA)
        figure.savefig(png, dpi=PNG_DPI, facecolor=PAPER, metadata={"Software": None})
    texts = (found for panel in picture.panels for found in texts_of(panel))
    return plain(with_titles(svg.getvalue(), texts)).encode(), png.getvalue()


def _lines(
    paragraphs: Sequence[tuple[str, Any]], width_in: float
) -> tuple[list[tuple[float, str, Any]], float]:
    """Paragraphs in lines that fit the picture: how far down, text, look; their height."""
    found, height_in = [], _EDGE_IN
    for text, look in paragraphs:
        size_pt = look["fontsize"]
        for line in wrapped(text, size_pt, width_in - 2 * _EDGE_IN, look["fontweight"]):
            found.append((height_in, line, look))
            height_in += 1.3 * size_pt / 72
    return found, height_in


def _legend(picture: Picture, looks: Mapping[str, Look], width_in: float) -> dict[str, Any]:
    """The legend of a picture, as many entries side by side as it is wide for."""
    signs, names = [], [*picture.environments, *([HOLLOW] if picture.hollow else [])]
    for look in (looks[name] for name in picture.environments):
        style: Any = (0, look.dashes) if look.dashes else "-"
        signs.append(Line2D([], [], color=look.colour, marker=look.marker, linestyle=style))
    if picture.hollow:
        signs.append(Line2D([], [], color=QUIET, marker="o", linestyle="none", fillstyle="none"))
    widest = max((text_width_in(name, _TEXT_PT) for name in names), default=0.0)
    fit = int((width_in - 2 * _EDGE_IN) / (widest + 4.6 * _TEXT_PT / 72))
    sizes = {"fontsize": _TEXT_PT, "borderpad": 0.2, "borderaxespad": 0, "handlelength": 2.6}
    columns = max(1, min(len(names), fit))
    return {"handles": signs, "labels": names, "ncols": columns, **sizes}
