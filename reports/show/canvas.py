# SPDX-License-Identifier: Apache-2.0
"""Small matplotlib panels as inline SVG: common axes, lines with bands, nothing cut."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from html import escape
from io import BytesIO, StringIO
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FixedFormatter, FuncFormatter, LogLocator, NullLocator

from reports.notation.palette import INK, PAPER, QUIET, RULE, Look
from reports.notation.units import bytes_text, fixed
from reports.show.arrange import arrange

WIDTH_IN = 4.3
#: What the anchors of pictures with panels of double width begin with.
WIDE_ANCHOR = "wide"
HEIGHT_IN = 3.2
#: Dots an inch of a panel that is taken out as PNG.
PNG_DPI = 200
#: More launch points than this in one panel are not drawn one by one; the caption says so.
MOST_POINTS = 1200
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"

#: The style while pictures are made; drawing functions rely on it being set.
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "assay",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": RULE,
    "axes.labelcolor": QUIET,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": QUIET,
    "text.parse_math": False,
}
#: Stands before each id of a panel until the page numbers its panels.
ID_MARK = "\x02"
#: Marks lines whose markers tell their values under the pointer.
HOVER = "hover"
#: Colours that the page's theme replaces, by the name of its property.
_THEMED = {INK: "ink", QUIET: "quiet", RULE: "rule", PAPER: "paper"}
#: Digits of a coordinate that nobody sees.
_FINE_DIGITS = re.compile(r"(\.\d\d)\d+")


@dataclass(frozen=True, slots=True)
class Line:
    """One environment's curve: x ascending, centre and half band in the panel's unit; points are
    single launches (x, y); `log_band` has the ends of the band on a logarithmic axis."""

    name: str
    look: Look
    x: Sequence[float]
    centre: Sequence[float]
    band: Sequence[float]
    points: Sequence[tuple[float, float]] = ()
    log_band: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture: inline SVG, what it shows in words for those who cannot see it, and what it rests
    on; as PNG only where pictures are taken out."""

    svg: str
    alt: str
    footer: str = ""
    png: bytes = b""


_AS_PNG: ContextVar[bool] = ContextVar("as_png", default=False)


@contextmanager
def styled(*, as_png: bool = False) -> Iterator[None]:
    """The style that drawing functions rely on; `as_png`: panels are made as PNG too."""
    token = _AS_PNG.set(as_png or _AS_PNG.get())
    try:
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        _AS_PNG.reset(token)


def new_panel(
    title: str, footer: str, height_in: float = HEIGHT_IN, *, wide: bool = False
) -> tuple[Figure, Axes]:
    """An empty panel; the page prints the footer below it. `finish` places what it holds.

    `wide`: of double width, for a picture of one panel whose anchor begins with WIDE_ANCHOR.
    """
    figure = Figure(figsize=(2 * WIDTH_IN if wide else WIDTH_IN, height_in))
    figure.set_label(footer)
    axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    axes.set_title(title)
    axes.tick_params(length=3, width=0.8)
    return figure, axes


def log_band(values: Sequence[float], centre: float) -> tuple[float, float]:
    """exp(mean ± s) of the logarithms of the values above 0, within these, widened to hold
    `centre`: ends that a logarithmic axis has, where those of ± s may lie below 0."""
    logs = np.log([value for value in values if value > 0])
    if len(logs) < 2:
        return centre, centre
    low, high = np.exp(
        np.clip(logs.mean() + logs.std(ddof=1) * np.array([-1, 1]), logs.min(), logs.max())
    )
    return min(centre, float(low)), max(centre, float(high))


def draw_line(axes: Axes, line: Line, *, with_points: bool, log_y: bool = False) -> None:
    """Mean line with marker, single launches faint behind, a band: ± s, or with `log_y`, for an
    axis that is or becomes logarithmic, that of the logarithms."""
    look = line.look
    low = [centre - band for centre, band in zip(line.centre, line.band, strict=True)]
    high = [centre + band for centre, band in zip(line.centre, line.band, strict=True)]
    if log_y and line.log_band:
        low, high = ([ends[side] for ends in line.log_band] for side in (0, 1))
    if len(line.x) > 1:
        axes.fill_between(line.x, low, high, color=look.colour, alpha=0.18, linewidth=0)
    else:
        axes.vlines(line.x, low, high, color=look.colour, alpha=0.5, linewidth=1.6)
    if with_points and line.points:
        # With limits from the points: those of a patch are found segment by segment.
        axes.update_datalim(line.points)
        axes.add_artist(
            PathPatch(
                # One path of empty strokes: a tenth of the text of as many markers.
                Path(
                    [point for point in line.points for _ in range(2)],
                    [Path.MOVETO, Path.LINETO] * len(line.points),
                ),
                fill=False,
                edgecolor=look.colour,
                alpha=0.4,
                linewidth=2.4,
                capstyle="round",
            )
        )
    axes.plot(
        line.x,
        line.centre,
        color=look.colour,
        linewidth=1.6,
        linestyle=(0, look.dashes) if look.dashes else "-",
        marker=look.marker,
        markersize=4.6,
        markeredgecolor=PAPER,
        markeredgewidth=0.6,
        label=line.name,
        gid=HOVER,
    )


def log_bytes_axis(axes: Axes) -> None:
    """Message length on a logarithmic axis of powers of two."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(LogLocator(2, numticks=9))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: bytes_text(round(value))))
    axes.set_xlabel("message length")


def log_value_axis(axes: Axes) -> None:
    """Plain numbers on a logarithmic y axis: powers of ten, below two decades 2 and 5 as well."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    subs = (1.0, 2.0, 5.0) if high < 100 * low else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(10, subs=subs, numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: fixed(value, 0) if value >= 1 else f"{value:g}")
    )


def finish(figure: Figure, alt: str, placed: Callable[[], None] | None = None) -> Panel:
    """The figure as SVG to be put into HTML: nothing cut, ids marked, size left to the page.

    `placed` is called when the axes have their final place.
    """
    texts = [
        _hover_texts(axes, line)
        for axes in figure.axes
        for line in axes.lines
        if line.get_gid() == HOVER
    ]
    arrange(figure)
    if placed:
        placed()
    png = BytesIO()
    if _AS_PNG.get():
        figure.savefig(png, format="png", dpi=PNG_DPI, facecolor=PAPER)
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    buffer = StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(buffer, format="svg", metadata=metadata)
    text = _with_titles(buffer.getvalue(), texts)
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", " ", text)
    text = re.sub(r"<[^>]+>", lambda tag: _FINE_DIGITS.sub(r"\1", tag[0]), text)
    text = re.sub("|".join(_THEMED), lambda found: f"var(--{_THEMED[found[0]]},{found[0]})", text)
    text = re.sub(r'\bid="', f'id="{ID_MARK}', text)
    text = re.sub(r'(xlink:href|href)="#', f'href="#{ID_MARK}', text)
    text = text.replace("url(#", f"url(#{ID_MARK}")
    text = re.sub(r"'DejaVu Sans'(, [^;\"]*?sans-serif)?", FONT.replace('"', "'"), text)
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height|xmlns|xmlns:xlink|version)="[^"]*"', "", head)
    svg = f'{head} stroke-linejoin="round" aria-hidden="true" focusable="false">{rest}'.strip()
    return Panel(svg, alt, str(figure.get_label()), png.getvalue())


def in_light(svg: str) -> str:
    """A panel for where no page gives colours."""
    return re.sub(r"var\(--[a-z]+,(#[0-9a-f]{6})\)", r"\1", svg)


def _hover_texts(axes: Axes, line: Line2D) -> list[str]:
    """What each marker says under the pointer: environment, place, value with its axis; or the
    lines of the line's own label, one a marker, when that begins with a line's end."""
    if str(line.get_label()).startswith("\n"):
        return str(line.get_label()).split("\n")[1:]
    places, values = (np.asarray(ends, dtype=np.float64).tolist() for ends in line.get_data())
    formatter = axes.xaxis.get_major_formatter()
    named: dict[float, str] = {}
    if isinstance(formatter, FixedFormatter) and axes.get_xscale() != "log":
        named = dict(zip(axes.get_xticks().tolist(), formatter.seq, strict=False))
    texts = [named.get(x) or (fixed(x, 0) if x.is_integer() else f"{x:g}") for x in places]
    return [
        f"{line.get_label()}: {y:.5g} at {text} ({axes.get_ylabel()})"
        for text, y in zip(texts, values, strict=True)
    ]


def _with_titles(svg: str, texts: list[list[str]]) -> str:
    """Each marker of a hovered line gets its text as <title>: browsers show it without script."""
    parts = svg.split(f'<g id="{HOVER}">')
    for number, (part, found) in enumerate(zip(parts[1:], texts, strict=True), start=1):
        end = _group_end(part)
        uses = re.findall(r"<use [^>]*/>", part[:end])
        if len(uses) != len(found):
            continue
        said = iter(found)
        titled = re.sub(
            r"<use ([^>]*)/>",
            lambda use: f"<use {use[1]}><title>{escape(next(said))}</title></use>",  # noqa: B023
            part[:end],
        )
        parts[number] = titled + part[end:]
    return "<g>".join(parts)


def _group_end(text: str) -> int:
    """Where the group that `text` begins inside of ends."""
    depth = 1
    for tag in re.finditer(r"<(/?)g[ >]", text):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag.start()
    return len(text)


def legend_sign(look: Look) -> str:
    """A small SVG of line and marker for legends and tables."""
    shapes = {
        "o": '<circle cx="14" cy="6" r="3.6"/>',
        "s": '<rect x="10.6" y="2.6" width="6.8" height="6.8"/>',
        "^": '<path d="M14 1.6 18.2 9.4H9.8z"/>',
        "D": '<path d="M14 1.4 18.6 6 14 10.6 9.4 6z"/>',
        "v": '<path d="M14 10.4 18.2 2.6H9.8z"/>',
        "P": '<path d="M12.4 2h3.2v2.4H18v3.2h-2.4V10h-3.2V7.6H10V4.4h2.4z"/>',
        "X": '<path d="M10.4 4 12 2.4l2 2 2-2L17.6 4l-2 2 2 2L16 9.6l-2-2-2 2L10.4 8l2-2z"/>',
        "<": '<path d="M9.6 6 17.4 1.8v8.4z"/>',
        ">": '<path d="M18.4 6 10.6 1.8v8.4z"/>',
        "h": '<path d="M14 1.8 17.6 4v4L14 10.2 10.4 8V4z"/>',
    }
    dashes = " ".join(f"{length:g}" for length in look.dashes) or "none"
    return (
        f'<svg class="sign" viewBox="0 0 28 12" width="28" height="12" aria-hidden="true">'
        f'<path d="M0 6H28" stroke="{look.colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
        f'<g fill="{look.colour}" stroke="#fff" stroke-width=".8">{shapes[look.marker]}</g></svg>'
    )
