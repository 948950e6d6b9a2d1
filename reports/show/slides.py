# SPDX-License-Identifier: Apache-2.0
"""Pictures taken out, for a slide: each as SVG and PNG, with title, caption, legend and footer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from records.errors import InfrastructureError
from records.files import write_whole
from records.plain_text import plain
from reports.notation.palette import INK, PAPER, QUIET, Look
from reports.show.draw import put, size_in, styled, texts_of, with_titles
from reports.show.layout import Canvas, settle, text_width_in, wrapped
from reports.show.panel import Picture
from reports.show.tables import slug

#: Dots an inch of the PNG.
PNG_DPI = 200
_EDGE_IN, _LEGEND_IN = 0.2, 0.3
_MOST_ACROSS = 3
_TITLE_PT, _TEXT_PT, _FOOT_PT = 16.0, 10.5, 8.5


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
    heights = [
        max(height for _, height in sizes[first : first + across])
        for first in range(0, len(sizes), across)
    ]
    width = 2 * _EDGE_IN + across * max(own for own, _ in sizes)
    head = [
        *_lines(picture.title, _TITLE_PT, width, color=INK, fontweight="bold"),
        *_lines(picture.caption, _TEXT_PT, width, color=QUIET),
    ]
    foot = _lines("".join(picture.footers[:1]), _FOOT_PT, width, color=QUIET)
    columns = _legend_columns(picture, width)
    parts = [
        _height(head) + _LEGEND_IN * -(-len(picture.environments) // columns) + 1.6 * _EDGE_IN,
        sum(heights),
        _height(foot) + _EDGE_IN,
    ]
    svg, png = StringIO(), BytesIO()
    with styled():
        figure = Figure((width, sum(parts)))
        Canvas(figure)
        rows: Any = figure.subfigures(3, 1, height_ratios=parts)
        top, middle, bottom = rows
        _write(top, head, parts[0], width)
        _write(bottom, foot, parts[2], width)
        _legend(top, picture, looks, columns, width)
        edge = _EDGE_IN / width
        inner = middle.subfigures(1, 3, width_ratios=[edge, 1 - 2 * edge, edge])[1]
        frames = inner.subfigures(len(heights), across, height_ratios=heights, squeeze=False).flat
        drawn = [put(frame, panel) for frame, panel in zip(frames, picture.panels, strict=False)]
        settle(figure, drawn)
        for axes, panel in zip(drawn, picture.panels, strict=True):
            if panel.label:
                panel.label(axes)
        metadata = {"Date": None, "Creator": None}
        figure.savefig(svg, format="svg", facecolor=PAPER, metadata=metadata)
        png_metadata = {"Software": None}
        figure.savefig(png, format="png", dpi=PNG_DPI, facecolor=PAPER, metadata=png_metadata)
    texts = (found for panel in picture.panels for found in texts_of(panel))
    return plain(with_titles(svg.getvalue(), texts)).encode(), png.getvalue()


#: A line of text with its size and look.
_Line = tuple[str, float, dict[str, Any]]


def _lines(text: str, size_pt: float, width_in: float, **look: str) -> list[_Line]:
    """A paragraph wrapped to the width of the picture."""
    weight = look.get("fontweight", "normal")
    found = wrapped(text, size_pt, width_in - 2 * _EDGE_IN, weight) if text else []
    return [(line, size_pt, look) for line in found]


def _height(lines: Iterable[_Line]) -> float:
    return sum(1.3 * size_pt / 72 for _, size_pt, _ in lines)


def _write(frame: SubFigure, lines: Iterable[_Line], height_in: float, width_in: float) -> None:
    """Lines of text from the top edge down."""
    down = _EDGE_IN
    for line, size_pt, look in lines:
        place = _EDGE_IN / width_in, 1 - down / height_in
        frame.text(*place, line, fontsize=size_pt, va="top", **look)
        down += 1.3 * size_pt / 72


def _legend_columns(picture: Picture, width_in: float) -> int:
    """How many names of a legend are side by side; 1 without any."""
    names = picture.environments
    widest = max((text_width_in(name, _TEXT_PT) for name in names), default=0.0)
    room = (width_in - 2 * _EDGE_IN) / (widest + 4.6 * _TEXT_PT / 72)
    return max(1, min(len(names), int(room)))


def _legend(
    frame: SubFigure, picture: Picture, looks: Mapping[str, Look], columns: int, width_in: float
) -> None:
    signs = []
    for name in picture.environments:
        look = looks[name]
        style: Any = (0, look.dashes) if look.dashes else "-"
        signs.append(Line2D([], [], color=look.colour, marker=look.marker, linestyle=style))
    if signs:
        frame.legend(
            signs,
            picture.environments,
            loc="lower left",
            bbox_to_anchor=(_EDGE_IN / width_in, 0),
            ncols=columns,
            fontsize=_TEXT_PT,
            frameon=False,
            borderpad=0.2,
            borderaxespad=0,
            handlelength=2.6,
        )
