# SPDX-License-Identifier: Apache-2.0
"""Ping-pong, echo and NetPIPE as laws: lines per protocol segment, switches, tables, picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from records.flags import OVERSUBSCRIBED
from reports.analysis import Analysis, Row
from reports.models.parts import LEAST_POINTS
from reports.models.point_to_point import (
    MOST_SIZES,
    Break,
    Line,
    Segmentation,
    direct_half_length,
    plain_line,
    segmented,
    straight_line,
)
from reports.notation.palette import QUIET, Look
from reports.notation.units import bytes_text, fixed, percent, signed_percent
from reports.show.canvas import Panel, finish, log_bytes_axis, log_value_axis, new_panel
from reports.show.lines import MOST_PANELS, Picture, footer
from reports.show.tables import Cell, Table, columns_of

#: Curves beyond these are not fitted; the note says so.
MOST_CURVES = 24
#: The metric that a check's curves are made of, where it is not the half round trip of our own.
_METRICS = {"netpipe": "netpipe_half_round_trip"}
#: Parameters in which the cases of one curve may differ.
JOINED = (
    *("sizes", "iterations", "warmup", "seed"),
    *("least_bytes", "greatest_bytes", "perturbation_bytes", "repeats"),
)


@dataclass(frozen=True)
class Curve:
    """Median half round trip, s, over launches for each length of one placement and environment.

    Cases that differ only in sizes, iterations and warm-up are one curve; where two have the same
    length, the one of more iterations counts.
    """

    title: str
    environment: str
    sizes: list[int]
    times_s: list[float]
    launches: tuple[int, int]
    flags: tuple[str, ...]
    model: Segmentation

    @property
    def name(self) -> str:
        """Title, where there is one, and environment."""
        return f"{self.title}, {self.environment}" if self.title else self.environment


@lru_cache(maxsize=16)
def curves(analysis: Analysis, check: str) -> tuple[Curve, ...]:
    """The curves of a check with enough sizes, at most MOST_CURVES; one construct of each."""
    fitted = list(_groups(analysis, check).items())[:MOST_CURVES]
    return tuple(_curve(*key, found) for key, found in fitted)


@lru_cache(maxsize=16)
def _groups(analysis: Analysis, check: str) -> dict[tuple[str, str], dict[int, Row]]:
    """By title and environment, the row of each size; in reading order."""
    groups: dict[tuple[str, str], dict[int, Row]] = {}
    for row in _rows(analysis, check):
        case = analysis.case(row)
        title = ", ".join(analysis.labels[check].parts(case, JOINED))
        found = groups.setdefault((title, case.environment), {})
        size = int(row.series.at_value("message_bytes") or 0)
        if size not in found or _iterations(analysis, found[size]) < _iterations(analysis, row):
            found[size] = row
    order = list(analysis.looks)
    keys = [key for key, found in groups.items() if LEAST_POINTS <= len(found) <= MOST_SIZES]
    keys.sort(key=lambda key: (key[0], order.index(key[1])))
    return {key: groups[key] for key in keys}


def _left_out(analysis: Analysis, check: str) -> str:
    count = len(_groups(analysis, check)) - MOST_CURVES
    return f" {count} further curves are not fitted." if count > 0 else ""


def _rows(analysis: Analysis, check: str) -> list[Row]:
    rows = analysis.rows_of(check, _METRICS.get(check, "half_round_trip"))
    constructs = [row.series.at_value("construct") for row in rows]
    chosen = "Send/Recv" if "Send/Recv" in constructs else next(iter(constructs), None)
    return [row for row, one in zip(rows, constructs, strict=True) if one == chosen]


def _iterations(analysis: Analysis, row: Row) -> int:
    params = analysis.case(row).params
    return int(params.get("iterations") or params.get("repeats") or 0)


def _curve(title: str, environment: str, found: dict[int, Row]) -> Curve:
    sizes = sorted(found)
    times_s = [found[size].summary.median for size in sizes]
    counts = [row.summary.n for row in found.values()]
    flags = tuple(dict.fromkeys(flag for size in sizes for flag in found[size].flags))
    return Curve(
        title,
        environment,
        sizes,
        times_s,
        (min(counts), max(counts)),
        tuple(flag for flag in flags if flag.startswith(OVERSUBSCRIBED)),
        segmented(sizes, times_s),
    )


def fits_table(check: str) -> Callable[[Analysis], Table | None]:
    """The table of lines of a check: each protocol segment, then one line over all sizes."""

    def table(analysis: Analysis) -> Table | None:
        found = curves(analysis, check)
        rows: list[list[Cell]] = []
        groups = set()
        for curve in found:
            groups.add(len(rows))
            rows += _fit_rows(curve)
        return (
            Table(
                f"table-{check}-fits",
                "Start-up time and rate by protocol segment",
                columns_of(
                    ["case", "environment", "law"],
                    ["sizes", "points", "α, µs", "R∞ = 1/β, MB/s", "n½ = α/β", "rms of residuals"],
                ),
                rows,
                _FITS_NOTE + _left_out(analysis, check),
                groups=frozenset(groups),
            )
            if found
            else None
        )

    return table


_FITS_NOTE = (
    "t(m) = α + β·m for the median half round trip over launches, α, β ≥ 0, least squares of"
    " relative residuals in each segment. One line over all sizes, by relative and by plain least"
    " squares as the papers of 1988 and 1996 fitted theirs, stands below for comparison: where the"
    " protocol changes it gives neither latency nor rate. Direct n½: the least length that reaches"
    " half of the greatest rate measured. Ping-pong with several constructs: Send/Recv."
)


def _fit_rows(curve: Curve) -> list[list[Cell]]:
    laws = [("segment", line) for line in curve.model.segments]
    laws.append(("one line, relative", straight_line(curve.sizes, curve.times_s)))
    laws.append(("one line, plain", plain_line(curve.sizes, curve.times_s)))
    rows = [_fit_row(curve, law, line, first=i == 0) for i, (law, line) in enumerate(laws)]
    direct = bytes_text(direct_half_length(curve.sizes, curve.times_s))
    dash = Cell("–")
    rows.append([*_lead(curve, first=False), Cell("direct n½"), *[dash] * 4, Cell(direct), dash])
    return rows


def _lead(curve: Curve, *, first: bool) -> list[Cell]:
    environment = Cell(
        curve.environment, environment=curve.environment, badges=curve.flags if first else ()
    )
    return [Cell(curve.title or "all parameters fixed", quiet=not first), environment]


def _fit_row(curve: Curve, law: str, line: Line, *, first: bool) -> list[Cell]:
    rate, half = line.bandwidth_bytes_per_s, line.half_length_bytes
    return [
        *_lead(curve, first=first),
        Cell(law),
        Cell(f"{bytes_text(line.first_bytes)} … {bytes_text(line.last_bytes)}"),
        Cell(str(line.points)),
        Cell(fixed(line.alpha_s * 1e6, 2), title=f"{line.alpha_s:.9g} s"),
        Cell(
            "–" if rate is None else fixed(rate / 1e6, 2),
            title=f"β = {line.beta_s_per_byte:.9g} s/byte",
        ),
        Cell("–" if half is None or half < 0 else bytes_text(round(half))),
        Cell(percent(line.rms)),
    ]


def switches_table(check: str) -> Callable[[Analysis], Table | None]:
    """The table of breaks of a check: protocol switches, and bends of the slope."""

    def table(analysis: Analysis) -> Table | None:
        found = curves(analysis, check)
        if not found:
            return None
        rows = [row for curve in found for row in _break_rows(curve)]
        return Table(
            f"table-{check}-switches",
            "Protocol switches",
            columns_of(
                ["case", "environment", "what"],
                ["between", "step of the time", "found again in", "95 % interval"],
            ),
            rows,
            "A switch: the time steps, by more than 5 % and three times the scatter, between the"
            " last size below and the first above. A bend: only the slope changes, as where a link"
            " or a cache fills. Found again: of 100 bootstrap replicates, the share that breaks in"
            " the same interval.",
        )

    return table


def _break_rows(curve: Curve) -> list[list[Cell]]:
    if not curve.model.breaks:
        return [[*_lead(curve, first=True), Cell("none"), *[Cell("–")] * 4]]
    return [[*_lead(curve, first=True), *_break_cells(one)] for one in curve.model.breaks]


def _break_cells(one: Break) -> list[Cell]:
    return [
        Cell("switch" if one.is_switch else "bend", quiet=not one.is_switch),
        Cell(f"{bytes_text(one.below_bytes)} … {bytes_text(one.above_bytes)}"),
        Cell(signed_percent(1 + one.step)),
        Cell(percent(one.support, 0)),
        Cell(f"{bytes_text(one.low_bytes)} … {bytes_text(one.high_bytes)}"),
    ]


def fits_picture(check: str) -> Callable[[Analysis], Picture | None]:
    """The picture of a check's lines over its points, one panel a curve; dashed: switches."""

    def picture(analysis: Analysis) -> Picture | None:
        found = curves(analysis, check)
        if not found:
            return None
        shown = found[:MOST_PANELS]
        caption = (
            "One panel for each curve: dots are medians over launches, lines the laws of the"
            " protocol segments. Dashed: protocol switches; dotted: bends of the slope. 0 bytes"
            " are not drawn."
        )
        if len(found) > MOST_PANELS:
            caption += f" The first {MOST_PANELS} of {len(found)} curves; all are in the table."
        return Picture(
            f"picture-{check}-fits",
            "Half round trip and its laws",
            caption,
            [_panel(analysis, curve) for curve in shown],
            _environments(analysis, shown),
        )

    return picture


def _environments(analysis: Analysis, shown: Iterable[Curve]) -> list[str]:
    names = {curve.environment for curve in shown}
    return [name for name in analysis.looks if name in names]


def _panel(analysis: Analysis, curve: Curve) -> Panel:
    figure, axes = new_panel(curve.name, footer(analysis, *curve.launches))
    look = analysis.looks[curve.environment]
    drawn = [(m, t * 1e6) for m, t in zip(curve.sizes, curve.times_s, strict=True) if m > 0]
    axes.plot(*zip(*drawn, strict=True), look.marker, color=look.colour, markersize=4, alpha=0.6)
    for line in curve.model.segments:
        _draw_law(axes, line, look, [m for m, _ in drawn])
    for one in curve.model.breaks:
        place = (max(one.below_bytes, 1) * one.above_bytes) ** 0.5
        style = (0, (4, 3)) if one.is_switch else (0, (1, 2))
        axes.axvline(place, color=QUIET, linewidth=1.1, linestyle=style)
    log_bytes_axis(axes)
    log_value_axis(axes)
    axes.set_ylabel("half round trip / µs")
    return finish(figure, _alt(curve))


def _draw_law(axes: Any, line: Line, look: Look, sizes: Sequence[int]) -> None:
    inside = [m for m in sizes if line.first_bytes <= m <= line.last_bytes]
    times_us = [line.at(m) * 1e6 for m in inside]
    axes.plot(inside, times_us, color=look.colour, linewidth=1.6)


def _alt(curve: Curve) -> str:
    laws = "; ".join(
        f"{bytes_text(line.first_bytes)} to {bytes_text(line.last_bytes)}:"
        f" {line.alpha_s * 1e6:.3g} µs and {line.beta_s_per_byte * 1e9:.3g} ns a byte"
        for line in curve.model.segments
    )
    return f"{curve.name}: {laws}"
