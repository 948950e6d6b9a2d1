# SPDX-License-Identifier: Apache-2.0
"""Pictures taken out, for a slide: each as SVG and PNG, with title, caption, legend and footer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.lines import Line2D

from records.errors import InfrastructureError
from records.files import write_whole
from records.plain_text import plain
from reports.notation.palette import INK, PAPER, QUIET, Look
from reports.show.arrange import text_width_in, wrapped
from reports.show.canvas import ID_MARK, PNG_DPI, WIDTH_IN, Panel, in_light, styled
from reports.show.lines import Picture
from reports.show.tables import slug

_EDGE_IN, _GAP_IN, _LEGEND_IN = 0.2, 0.25, 0.3
_MOST_ACROSS = 3
_TITLE_PT, _TEXT_PT, _FOOT_PT = 16.0, 10.5, 8.5
_VIEW = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


def write_pictures(
    pictures: Iterable[Picture], looks: Mapping[str, Look], folder: Path
) -> list[Path]:
    """Write each picture into `folder`, made anew where it is missing; gives the files.

    The panels must have been drawn with `styled(as_png=True)`.
    """
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
    """The picture as SVG and as PNG."""
    sizes = [_size_in(panel) for panel in picture.panels]
    across = min(_MOST_ACROSS, len(sizes))
    rows = [sizes[first : first + across] for first in range(0, len(sizes), across)]
    heights = [max(height for _, height in row) for row in rows]
    width = 2 * _EDGE_IN + across * WIDTH_IN + (across - 1) * _GAP_IN
    head = _Text(width)
    head.add(picture.title, _TITLE_PT, color=INK, fontweight="bold")
    head.add(picture.caption, _TEXT_PT, color=QUIET)
    legend_at = head.down
    across_legend = _legend_columns(picture.environments, width)
    head.down += _LEGEND_IN * -(-len(picture.environments) // across_legend)
    first = head.down + _GAP_IN / 2
    foot = _Text(width)
    for text in picture.footers[:1] or [""]:
        foot.add(text, _FOOT_PT, color=QUIET)
    foot_at = first + sum(heights) + _GAP_IN * len(heights)
    height = foot_at + foot.down
    with styled():
        frame = Figure(figsize=(width, height))
        head.draw(frame, 0.0)
        foot.draw(frame, foot_at - _EDGE_IN)
        _legend(frame, picture.environments, looks, legend_at, across_legend)
        places = [
            (
                _EDGE_IN + column * (WIDTH_IN + _GAP_IN),
                first + sum(heights[:row]) + row * _GAP_IN,
            )
            for row, items in enumerate(rows)
            for column in range(len(items))
        ]
        svg = _as_svg(frame, picture.panels, places)
        for panel, (left, top), (_, tall) in zip(picture.panels, places, sizes, strict=True):
            pixels = imread(BytesIO(panel.png), format="png")
            frame.figimage(
                pixels,
                round(left * PNG_DPI),
                round((height - top - tall) * PNG_DPI),
                origin="upper",
                zorder=0,
            )
        out = BytesIO()
        frame.savefig(out, format="png", dpi=PNG_DPI, facecolor=PAPER, metadata={"Software": None})
    return plain(svg).encode(), out.getvalue()


def _size_in(panel: Panel) -> tuple[float, float]:
    found = _VIEW.search(panel.svg)
    assert found is not None
    return float(found[1]) / 72, float(found[2]) / 72


class _Text:
    """Lines of text from the top edge down, wrapped to the width of the picture."""

    def __init__(self, width_in: float) -> None:
        self.width_in, self.down = width_in, _EDGE_IN
        self._lines: list[tuple[float, str, float, dict[str, Any]]] = []

    def add(self, text: str, size_pt: float, **look: str) -> None:
        """One more paragraph."""
        room = self.width_in - 2 * _EDGE_IN
        for line in wrapped(text, size_pt, room, look.get("fontweight", "normal")):
            self._lines.append((self.down, line, size_pt, look))
            self.down += 1.3 * size_pt / 72

    def draw(self, frame: Figure, below_in: float) -> None:
        """Put the lines on the frame, from so far below its top."""
        width, height = frame.get_size_inches()
        for down, line, size_pt, look in self._lines:
            place = _EDGE_IN / width, 1 - (below_in + down) / height
            frame.text(*place, line, fontsize=size_pt, va="top", **look)


def _legend_columns(names: Sequence[str], width_in: float) -> int:
    """How many names of a legend stand side by side; 1 without any."""
    widest = max((text_width_in(name, _TEXT_PT) for name in names), default=0.0)
    room = (width_in - 2 * _EDGE_IN) / (widest + 4.6 * _TEXT_PT / 72)
    return max(1, min(len(names), int(room)))


def _legend(
    frame: Figure, names: Sequence[str], looks: Mapping[str, Look], down_in: float, columns: int
) -> None:
    if not names:
        return
    width, height = frame.get_size_inches()
    signs = [
        Line2D(
            [],
            [],
            color=looks[name].colour,
            marker=looks[name].marker,
            linestyle=(0, looks[name].dashes) if looks[name].dashes else "-",
        )
        for name in names
    ]
    frame.legend(
        signs,
        list(names),
        loc="upper left",
        bbox_to_anchor=(_EDGE_IN / width, 1 - down_in / height),
        ncols=columns,
        fontsize=_TEXT_PT,
        frameon=False,
        borderpad=0.2,
        borderaxespad=0,
        handlelength=2.6,
    )


def _as_svg(frame: Figure, panels: Sequence[Panel], places: Sequence[tuple[float, float]]) -> str:
    """The frame's SVG with the panels' in it, each at its place."""
    buffer = StringIO()
    frame.savefig(buffer, format="svg", facecolor=PAPER, metadata={"Date": None, "Creator": None})
    parts = []
    for number, (panel, (left, top)) in enumerate(zip(panels, places, strict=True)):
        width, height = _size_in(panel)
        box = f'<svg x="{72 * left:.2f}" y="{72 * top:.2f}" width="{72 * width:.2f}"'
        inner = in_light(panel.svg).replace(ID_MARK, f"p{number}-")
        parts.append(inner.replace("<svg", f'{box} height="{72 * height:.2f}"', 1))
    return buffer.getvalue().replace("</svg>", "".join(parts) + "</svg>")
