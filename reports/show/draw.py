# SPDX-License-Identifier: Apache-2.0
"""Drawer of panels: matplotlib's axes from marks, SVG that a page takes in; and of whole pictures
for a slide, each as SVG and PNG, with title, caption, legend and footer."""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import path as outlines
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from records.errors import InfrastructureError
from records.files import write_whole
from records.text.plain_text import plain
from reports.notation.labels import INK, PAPER, QUIET, RULE, Look
from reports.notation.units import as_stated, bytes_text, fixed
from reports.show.panel import (
    EDGE,
    LABEL_PT,
    NAME_IN,
    TITLE_PT,
    WIDTH_IN,
    Axis,
    Heat,
    Panel,
    Picture,
    Series,
    Side,
    draw_heat,
    heading,
    height_of,
    text_width_in,
    thin_ticks,
    wrapped,
)
from reports.show.tables import slug

FONT = "system-ui,sans-serif"
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "assay",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": RULE,
    "axes.labelcolor": QUIET,
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
#: Before each id of a panel until the page numbers its panels.
ID_MARK = "\x02"
#: Colours that the page's theme replaces, by the name of its property.
_THEMED = {INK: "ink", QUIET: "quiet", RULE: "rule", PAPER: "paper"}
#: Tags without the scale of an image, and digits of a coordinate that nobody sees.
_SHAPES = re.compile(r"<(?:path|use|text)\b[^>]+>")
_FINE_DIGITS = re.compile(r"(\d\d\.\d|\.\d\d)\d+")
_EMPTY_STROKE = re.compile(r"M ([\d.]+ [\d.]+) L \1(?= )")
#: Markers of a line, and the style that all of them have.
_MARKERS = re.compile(r'<g clip-path="[^"]*"> <use [^>]*?( style="[^"]*").*?</g>')
#: What no SVG of ours tells, so that the same panel gives the same bytes.
NO_METADATA: Any = dict.fromkeys(("Date", "Creator", "Format", "Type"))


@contextmanager
def styled() -> Iterator[None]:
    """The style in which panels are drawn."""
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@lru_cache(maxsize=64)  # a picture that is too long for its page is rendered again, in parts
def svg_of(panel: Panel) -> str:
    """The panel as SVG to be put into HTML: nothing cut, ids marked, size left to the page."""
    buffer = StringIO()
    with styled():
        figure = Figure(size_in(panel))
        draw(figure, [(figure, panel)])
        for patch in (figure.patch, *(part.patch for part in figure.axes)):
            patch.set_visible(False)
        figure.savefig(buffer, format="svg", metadata=NO_METADATA)
    return _for_a_page(buffer.getvalue())


def draw(figure: Figure, parts: Iterable[tuple[Figure | SubFigure, Panel]]) -> None:
    """Draw panels, each into the figure or a part of it, and give everything its final place."""
    drawn = [(put(frame, panel), panel) for frame, panel in parts]
    settle(figure)
    for axes, panel in drawn:
        thin_ticks(axes)
        if panel.label:
            panel.label(axes)


def settle(figure: Figure) -> None:
    """Give all axes of a figure their final place by constrained layout."""
    FigureCanvasAgg(figure)
    figure.set_layout_engine("constrained", w_pad=EDGE, h_pad=EDGE, hspace=0.03, wspace=0.0)
    engine: Any = figure.get_layout_engine()
    engine.execute(figure)
    # None, not "none": with any engine the figure would be drawn twice.
    figure.set_layout_engine(None)
    for part in figure.axes:
        # The title of the y axis reads level and begins where the panel's title does.
        axes: Any = part
        left = axes.get_figure(root=False).bbox.x0 + EDGE * figure.dpi
        axes._left_title.set_x((left - axes.bbox.x0) / axes.bbox.width)


def size_in(panel: Panel) -> tuple[float, float]:
    """Width and height of a panel in inches."""
    height = panel.height_in
    for mark in panel.marks:
        height = height or (height_of(mark) if isinstance(mark, Heat) else 0.0)
    return 2 * WIDTH_IN if panel.wide else WIDTH_IN, height


def put(frame: Figure | SubFigure, panel: Panel) -> Axes:
    """Draw the panel, not laid out yet; gives its axes."""
    width, _ = size_in(panel)
    heat = next((mark for mark in panel.marks if isinstance(mark, Heat)), None)
    axes = frame.add_subplot() if heat is None else draw_heat(frame, heat)
    axes.tick_params(length=3 if heat is None else 0, width=0.8)
    for mark in panel.marks:
        if isinstance(mark, Series):
            _draw_series(mark, axes)
        elif not isinstance(mark, Heat):
            mark(axes)
    if heat is None:
        series = [mark for mark in panel.marks if isinstance(mark, Series) and mark.name]
        _set_axis(axes, "y", panel.y)
        _set_axis(axes, "x", panel.x, sorted({x for mark in series for x in mark.x}))
        lines = (heading(line, LABEL_PT, width - 1.0) for line in panel.x.title.split("\n"))
        axes.set_xlabel("\n".join(lines))
    if not panel.frame:
        axes.spines[:].set_visible(False)
    if panel.title:
        look: Any = {"fontsize": TITLE_PT, "fontweight": "bold", "color": INK, "ha": "left"}
        frame.suptitle(heading(panel.title, TITLE_PT * 1.1, width), x=EDGE / width, **look)
    if panel.y.title:
        axes.set_title(heading(panel.y.title, LABEL_PT, width), size=LABEL_PT, color=QUIET, y=1.0)
    if panel.key:
        patches = [Patch(color=colour, linewidth=0) for colour in panel.key.values()]
        sizes: Any = {"ncols": 3, "fontsize": 9, "handlelength": 1, "columnspacing": 1.1}
        frame.legend(patches, [*panel.key], loc="outside lower left", frameon=False, **sizes)
    return axes


def _set_axis(axes: Axes, side: Side, asked: Axis, places: Sequence[float] = ()) -> None:
    """Scale, ends and ticks of an axis; its marks are drawn already."""
    axis = axes.xaxis if side == "x" else axes.yaxis
    write = asked.text
    if asked.margin is not None:
        getattr(axes, f"set_{side}margin")(asked.margin)
        axes.autoscale_view()
    if asked.scale != "linear":
        base = 10 if asked.scale == "log" else 2
        getattr(axes, f"set_{side}scale")("log", base=base)
        low, high = sorted(axis.get_view_interval())
        # Plain numbers: powers, of ten below two decades 2 and 5 as well.
        subs = (1.0, 2.0, 5.0) if base == 10 and high < 100 * low else (1.0,)
        axis.set_major_locator(LogLocator(base, subs=subs, numticks=8 if base == 10 else 9))
        axis.set_minor_locator(NullLocator())
        lengths = asked.scale == "bytes"
        write = (lambda value: bytes_text(round(value))) if lengths else write or as_stated
    if write is not None:
        axis.set_major_formatter(lambda value, _: write(value))
    if asked.counts and len(places) <= (6 if asked.scale == "linear" else 10):
        axis.set_ticks(list(places), [fixed(place, 0) for place in places])
    elif isinstance(asked.ticks, Mapping):
        names = [str(name) for name in asked.ticks.values()]
        if side == "y":
            names = ["\n".join(wrapped(name, LABEL_PT, NAME_IN)) for name in names]
            axes.tick_params(axis="y", length=0, labelcolor=INK)
        elif sum(text_width_in(name, LABEL_PT) + 0.1 for name in names) > WIDTH_IN - 0.8:
            axes.tick_params(axis="x", labelrotation=90, labelsize=8)
        axis.set_ticks(list(asked.ticks), names)
    elif asked.ticks is not None:
        axis.set_ticks(list(asked.ticks))
    elif side == "x" and asked.scale == "linear":
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.set(**{f"{side}lim": (asked.low, asked.high)})
    if not asked.grid:
        axis.grid(visible=False)


def _draw_series(mark: Series, axes: Axes) -> None:
    look = mark.look
    if mark.low and len(mark.x) > 1:
        axes.fill_between(mark.x, mark.low, mark.high, color=look.colour, alpha=0.18, linewidth=0)
    elif mark.low:
        axes.vlines(mark.x, mark.low, mark.high, color=look.colour, alpha=0.5, linewidth=1.6)
    if mark.points:
        # With limits from the points: those of a patch are found segment by segment.
        axes.update_datalim(mark.points)
        # One path of empty strokes: a tenth of the text of as many markers.
        strokes = [point for point in mark.points for _ in range(2)]
        path = outlines.Path(
            strokes, [outlines.Path.MOVETO, outlines.Path.LINETO] * len(mark.points)
        )
        path.should_simplify = False
        patch = PathPatch(path, fill=False, edgecolor=look.colour, linewidth=2.4, alpha=0.4)
        patch.set_capstyle("round")
        axes.add_artist(patch)
    filled = mark.width and look.marker not in ("|", "x")
    axes.plot(
        mark.x,
        mark.y,
        color=look.colour,
        alpha=mark.alpha,
        linewidth=mark.width,
        linestyle=(0, look.dashes) if look.dashes else "-" if mark.width else "none",
        marker=look.marker,
        markersize=mark.size,
        markerfacecolor=look.colour,
        markeredgecolor=PAPER if filled else look.colour,
        markeredgewidth=0.6 if filled else 1.0,
    )


def _for_a_page(text: str) -> str:
    """Without what a page has no use for, its colours those of the page's theme."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", " ", text)
    text = _SHAPES.sub(lambda tag: _FINE_DIGITS.sub(r"\1", tag[0]), text)
    text = _EMPTY_STROKE.sub(r"M\1h0", text)
    text = _MARKERS.sub(lambda group: f"<g{group[1]}" + group[0][2:].replace(group[1], ""), text)
    text = re.sub(
        "|".join(_THEMED), lambda colour: f"var(--{_THEMED[colour[0]]},{colour[0]})", text
    )
    text = re.sub(r'\bid="', f'id="{ID_MARK}', text)
    text = re.sub(r'(xlink:href|href)="#', f'href="#{ID_MARK}', text)
    text = text.replace("url(#", f"url(#{ID_MARK}")
    text = re.sub(r"'DejaVu Sans'(, [^;\"]*?sans-serif)?", FONT, text)
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height|xmlns|xmlns:xlink|version)="[^"]*"', "", head)
    return f'{head} stroke-linejoin="round" aria-hidden="true" focusable="false">{rest}'.strip()


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
        '<svg width="28" height="12" viewBox="0 0 28 12">'
        f'<path d="M0 6H28" stroke="{look.colour}" stroke-width="2" stroke-dasharray="{dashes}"/>'
        f'<g fill="{look.colour}" stroke="#fff" stroke-width=".8">{shapes[look.marker]}</g></svg>'
    )


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
    signs = {}
    for name in picture.environments:
        sign = looks[name]
        style: Any = (0, sign.dashes) if sign.dashes else "-"
        signs[name] = Line2D([], [], color=sign.colour, marker=sign.marker, linestyle=style)
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
