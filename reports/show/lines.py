# SPDX-License-Identifier: Apache-2.0
"""Pictures of lines: one panel a group of cases, one line an environment, launches as dots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from records.axes import beside_curve
from reports.analysis import Analysis, Row
from reports.notation.labels import value_text
from reports.notation.palette import QUIET
from reports.notation.units import ReadableUnit, fixed, readable_unit
from reports.show.canvas import (
    MOST_POINTS,
    Line,
    Panel,
    draw_line,
    finish,
    log_bytes_axis,
    log_value_axis,
    new_panel,
)

#: Panels of one picture; what is beyond is in the tables, and the caption says how many.
MOST_PANELS = 8
#: A line of more points is thinned to every k-th; the caption says so.
MOST_LINE_POINTS = 250


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels that belong together, with a caption and the environments to name in the legend."""

    anchor: str
    title: str
    caption: str
    panels: list[Panel]
    environments: list[str]


@dataclass(frozen=True, slots=True)
class Curves:
    """What one panel shows."""

    title: str
    rows: list[Row]


def size_picture(
    analysis: Analysis,
    rows: Sequence[Row],
    anchor: str,
    title: str,
    caption: str = "One panel for each pair of send and receive.",
) -> Picture | None:
    """A metric against message length, log-x; times log–log, rates beside the line rate."""
    is_time = any(row.unit == "s" for row in rows)
    return lines_picture(
        analysis,
        grouped(analysis, rows),
        anchor=anchor,
        title=f"{title} against message length",
        caption=caption,
        x=lambda row: float(row.series.at_value("message_bytes") or 0),
        x_label=None,
        log_y=is_time,
        line_rate=None if is_time else line_rate(analysis),
        from_zero=not is_time,
    )


def lines_picture(  # noqa: PLR0917
    analysis: Analysis,
    curves: Sequence[Curves],
    anchor: str,
    title: str,
    caption: str,
    x: Callable[[Row], float],
    x_label: str | None,
    *,
    ticks: Sequence[str] = (),
    log_y: bool = False,
    from_zero: bool = False,
    line_rate: float | None = None,
) -> Picture | None:
    """One panel for each of `curves`, at most MOST_PANELS; None without any.

    `x` gives a row's place; x_label None: message length on a logarithmic axis; `ticks` are texts
    for the places 0, 1, …; `line_rate` in SI units is drawn across.
    """
    if not curves:
        return None
    unit = readable_unit(
        curves[0].rows[0].unit, (row.summary.mean for item in curves for row in item.rows)
    )
    panels, hidden = [], False
    thin = any(len(item.rows) > MOST_LINE_POINTS * len(analysis.looks) for item in curves)
    for item in curves[:MOST_PANELS]:
        lines = _lines(analysis, item.rows, x, unit)
        count = sum(len(line.points) for line in lines)
        hidden |= count > MOST_POINTS
        first = item.rows[0]
        figure, axes = new_panel(item.title, footer(analysis, *_ns(item.rows)))
        for line in lines:
            draw_line(axes, line, with_points=count <= MOST_POINTS)
        if x_label is None:
            log_bytes_axis(axes)
        else:
            axes.set_xlabel(x_label)
            places = sorted({place for line in lines for place in line.x})
            if ticks:
                axes.set_xticks(range(len(ticks)), list(ticks))
            elif len(places) <= 6:
                axes.set_xticks(places, [fixed(place, 0) for place in places])
        if log_y:
            log_value_axis(axes)
        axes.set_ylabel(f"{analysis.register.metric_title(first.series.metric)} / {unit.label}")
        if line_rate and analysis.case(first).params.get("placement") != "within-node":
            _draw_line_rate(axes, line_rate / unit.factor, unit.label)
        if from_zero and not log_y:
            axes.set_ylim(bottom=0)
        panels.append(finish(figure, _alt(title, item, lines, unit)))
    names = {analysis.case(row).environment for item in curves[:MOST_PANELS] for row in item.rows}
    return Picture(
        anchor,
        title,
        caption + _caption_end(len(curves), hidden=hidden, thin=thin),
        panels,
        [name for name in analysis.looks if name in names],
    )


def _caption_end(panels: int, *, hidden: bool, thin: bool) -> str:
    text = " Lines: means; bands: ± s; dots: single launches."
    if hidden:
        text = f" Lines: means; bands: ± s; panels of over {MOST_POINTS} launches show no dots."
    if thin:
        text += f" Long lines are thinned to about {MOST_LINE_POINTS} points, evenly spaced."
    if panels > MOST_PANELS:
        text += f" The first {MOST_PANELS} of {panels} panels; the others are in the tables."
    return text


def _draw_line_rate(axes: Any, rate: float, unit: str) -> None:
    axes.axhline(rate, color=QUIET, linewidth=1.1, linestyle=(0, (4, 3)))
    axes.annotate(
        f"line rate {rate:g} {unit}",
        (0.02, rate),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=8.5,
        color=QUIET,
    )


def grouped(analysis: Analysis, rows: Iterable[Row], without: tuple[str, ...] = ()) -> list[Curves]:
    """Rows by all varying parameters but `without` and the words of the point; smallest first."""
    titles: dict[tuple[int, str], str] = {}
    groups: dict[str, list[Row]] = {}
    for row in rows:
        construct = ", ".join(_own_words(row, analysis.case(row).params))
        title = titles.get((row.series.case, construct))
        if title is None:
            case = analysis.case(row)
            parts = analysis.labels[case.check].parts(case, without)
            title = titles[row.series.case, construct] = joined(construct, ", ".join(parts))
        groups.setdefault(title, []).append(row)
    curves = [Curves(title or "all cases", found) for title, found in groups.items()]
    return sorted(curves, key=lambda item: _size(analysis, item.rows[0], without))


def _own_words(row: Row, params: Mapping[str, Any]) -> list[str]:
    """The point in words, without its message length and what the case says anyway."""
    return [str(value) for name, value in beside_curve(row.series.at) if params.get(name) != value]


def _size(analysis: Analysis, row: Row, without: tuple[str, ...]) -> tuple[float, float]:
    """Ranks and N of a row, 0 for what its picture has on an axis of its own."""
    if not without:
        return 0, 0
    p, q = grid_of(analysis, row)
    n = analysis.case(row).params.get("n", 0)
    return 0 if "p" in without else p * q, n if isinstance(n, int | float) else 0


def _lines(
    analysis: Analysis, rows: Iterable[Row], x: Callable[[Row], float], unit: ReadableUnit
) -> list[Line]:
    by_environment: dict[str, list[Row]] = {}
    for row in rows:
        by_environment.setdefault(analysis.case(row).environment, []).append(row)
    result = []
    for name in analysis.looks:
        found = thinned(sorted(by_environment.get(name, []), key=x))
        if found:
            result.append(
                Line(
                    name,
                    analysis.looks[name],
                    [x(row) for row in found],
                    [row.summary.mean / unit.factor for row in found],
                    [(row.summary.stddev or 0.0) / unit.factor for row in found],
                    [
                        (x(row), v / unit.factor)
                        for row in found
                        for v in row.series.values.tolist()
                    ],
                )
            )
    return result


def thinned(rows: list[Row]) -> list[Row]:
    """Every k-th row where a line would have too many points."""
    return rows[:: -(-len(rows) // MOST_LINE_POINTS)] if rows else rows


def grid_of(analysis: Analysis, row: Row) -> tuple[int, int]:
    """The process grid of a row's case; 0 × 0 for a check without one."""
    params = analysis.case(row).params
    return int(params.get("p", 0)), int(params.get("q", 0))


def _ns(rows: Iterable[Row]) -> tuple[int, int]:
    counts = [row.summary.n for row in rows]
    return min(counts), max(counts)


def footer(analysis: Analysis, least_n: int, greatest_n: int | None = None) -> str:
    """n, nodes, date, seed and run, in two lines."""
    run = analysis.run
    n = f"{least_n}" if greatest_n in (None, least_n) else f"{least_n}–{greatest_n}"
    nodes = value_text(", ".join(run.nodes[:4]) + (" …" if len(run.nodes) > 4 else ""))
    date = (run.provenance.started_at or "")[:10] or "date not recorded"
    first = f"n = {n} launches a point · nodes {nodes} · {date}"
    return f"{first}\nseed {run.plan.seed} · run {run.run_id[:48]}"


def line_rate(analysis: Analysis) -> float | None:
    """The network's rate in bytes/s when the provenance tells it (`bits_per_second`)."""
    bits = analysis.run.provenance.site.network.bits_per_second
    return bits / 8 if bits and bits > 0 else None


def _alt(title: str, item: Curves, lines: Sequence[Line], unit: ReadableUnit) -> str:
    ranges = "; ".join(
        f"{line.name} {min(line.centre):.3g} to {max(line.centre):.3g} {unit.label}"
        for line in lines
    )
    return f"{title}, {item.title}: {ranges}"


def joined(first: str, second: str) -> str:
    """Both texts with a comma, without what says nothing."""
    return ", ".join(part for part in (first, second) if part and part != "all cases")
