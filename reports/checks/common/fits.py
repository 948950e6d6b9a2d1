# SPDX-License-Identifier: Apache-2.0
"""Ping-pong, echo and NetPIPE as laws: lines per protocol segment, switches, tables, picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from records.flags import shares_cores
from reports.analysis.run import Analysis, Row, flags_of
from reports.checks.common.curves import chosen_construct
from reports.models.launches import LEAST_LAUNCHES, fewest_launches, with_launches
from reports.models.parts import LEAST_POINTS
from reports.models.point_to_point import (
    MOST_SIZES,
    Line,
    Segmentation,
    direct_half_length,
    plain_line,
    segmented,
    straight_line,
)
from reports.notation.palette import Look
from reports.notation.units import (
    ReadableUnit,
    about_bytes_text,
    bytes_text,
    p_text,
    percent,
    readable_unit,
    signed_percent,
    significant,
)
from reports.notation.values import between, quantity
from reports.show.lines import (
    EFFORT,
    MESSAGE_LENGTH,
    counted_footer,
    iterations,
    joined,
    line_rate,
    picture_of,
)
from reports.show.panel import Axis, Mark, Panel, Picture, Rule, Series
from reports.show.rows import message_bytes, name_cell
from reports.show.tables import Cell, Heading, Lead, Table, numeric, pivot
from reports.statistics.descriptive import Interval

#: Curves beyond these are not fitted; the note says so.
MOST_CURVES = 24
#: Fewer launches give no n½: of two, one outlier decides the quotient.
LEAST_FOR_HALF = 3
#: A start-up time below this is none that a message can have.
LEAST_START_S = 10e-9
#: A rate of more than this share of the line rate is none that the link can carry.
MOST_OF_LIMIT = 1.02
#: The metric that a check's curves are made of, where it is not the half round trip of our own.
_METRICS = {"netpipe": "netpipe_half_round_trip"}


@dataclass(frozen=True)
class Curve:
    """Median half round trip, s, over launches for each length of one placement and environment.

    Cases that differ only in sizes, iterations and warm-up are one curve; where two have the same
    length, the one of more iterations counts. `limit_bytes_per_s`: the line rate, between nodes.
    """

    title: str
    environment: str
    sizes: list[int]
    times_s: list[float]
    launches: tuple[int, int]
    flags: tuple[str, ...]
    model: Segmentation
    limit_bytes_per_s: float | None = None


@lru_cache(maxsize=16)
def curves(analysis: Analysis, check: str) -> tuple[Curve, ...]:
    """The curves of a check with enough sizes, at most MOST_CURVES; one construct of each."""
    fitted = []
    for (title, environment), found in list(_groups(analysis, check).items())[:MOST_CURVES]:
        sizes = sorted(found)
        rows = [found[size] for size in sizes]
        times_s = [row.summary.median for row in rows]
        counts = [row.summary.n for row in rows]
        # The launches' times, a row a size, a column a block; NaN where there is none.
        known = [row.series.by_block() for row in rows]
        blocks = sorted({block for times in known for block in times})
        launches = np.array([[times.get(block, np.nan) for block in blocks] for times in known])
        # With launches enough their own draws tell where breaks may lie, residuals need not.
        replicates = 1 if fewest_launches(launches) >= LEAST_LAUNCHES else 100
        fitted.append(
            Curve(
                title,
                environment,
                sizes,
                times_s,
                (min(counts), max(counts)),
                flags_of(rows),
                with_launches(segmented(sizes, times_s, replicates=replicates), sizes, launches),
                line_rate(analysis) if analysis.case(rows[0]).nodes > 1 else None,
            )
        )
    return tuple(fitted)


@lru_cache(maxsize=16)
def _groups(analysis: Analysis, check: str) -> dict[tuple[str, str], dict[int, Row]]:
    """By title and environment, the row of each size; in reading order."""
    rows = analysis.rows_of(check, _METRICS.get(check, "half_round_trip"))
    chosen = chosen_construct(rows)
    groups: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        if row.series.at_value("construct") == chosen:
            case = analysis.case(row)
            title = analysis.labels[check].name(case, EFFORT)
            found = groups.setdefault((title, case.environment), {})
            size = message_bytes(row)
            if size not in found or iterations(analysis, found[size]) < iterations(analysis, row):
                found[size] = row
    order = list(analysis.looks)
    keys = [key for key, found in groups.items() if LEAST_POINTS <= len(found) <= MOST_SIZES]
    keys.sort(key=lambda key: (key[0], order.index(key[1])))
    return {key: groups[key] for key in keys}


#: A line of a table: its curve, what it tells, of which sizes, and its numbers.
_Told = tuple[Curve, str, str, list[str | Cell]]


def _leads(what: str, sizes: str) -> list[Lead[_Told]]:
    return [
        ("case", lambda line: line[0].title),
        ("environment", lambda line: name_cell(line[0].environment, line[0].flags)),
        (what, lambda line: line[1]),
        (numeric(sizes), lambda line: line[2]),
    ]


def fits_table(analysis: Analysis, check: str) -> Table | None:
    """The lines of a check: each protocol segment, then one line over all sizes."""
    lines: list[_Told] = []
    every = curves(analysis, check)
    rates = (line.bandwidth_bytes_per_s for curve in every for line in curve.model.segments)
    unit = readable_unit("bytes/s", filter(None, rates))
    for curve in every:
        laws = [("segment", line) for line in curve.model.segments]
        laws.append(("one line, relative", straight_line(curve.sizes, curve.times_s)))
        laws.append(("one line, plain", plain_line(curve.sizes, curve.times_s)))
        limit, n = curve.limit_bytes_per_s, curve.launches[0]
        for law, line in laws:
            sizes = between(line.first_bytes, line.last_bytes, bytes_text)
            numbers = _numbers(line, unit, limit, told=law == "segment", launches=n)
            lines.append((curve, law, sizes, numbers))
        direct = bytes_text(direct_half_length(curve.sizes, curve.times_s))
        lines.append((curve, "direct n½", "–", ["–", "–", "–", direct, "–", "–"]))
    more = len(_groups(analysis, check)) - MOST_CURVES
    headings = numeric(
        *("points", "α, µs", f"R∞ = 1/β, {unit.label}"),
        *("n½ = α/β", "rms of residuals", "lack of fit"),
    )
    return pivot(
        lines,
        _leads("law", "sizes"),
        [(headings, lambda line: line[0][3])],
        anchor=f"table-{check}-fits",
        title="Start-up time and rate by protocol segment",
        note="t(m) = α + β·m for the median one-way time over launches, α, β ≥ 0, least squares"
        " of relative residuals in each segment. In brackets: the 95 % interval (93.75 % of five"
        " launches) from launches drawn anew, from five on. Lack of fit: p that launches of such"
        " scatter lie on a line. No line, so neither latency nor rate, where the residuals have"
        " more than 15 % rms, or more than 5 % at p < 0.01, or α would be negative. One line over"
        " all sizes, by relative and by plain least squares as the papers of 1988 and 1996 fitted"
        " theirs, stands below for comparison: where the protocol changes it gives neither latency"
        " nor rate. Direct n½: the least length that reaches half of the greatest rate measured."
        " Ping-pong with several constructs: Send/Recv."
        + (f" {more} further curves are not fitted." if more > 0 else ""),
        group=2,
    )


def _numbers(
    line: Line,
    unit: ReadableUnit,
    limit: float | None,
    *,
    told: bool,
    launches: int = LEAST_FOR_HALF,
) -> list[str | Cell]:
    """Points, α, R∞, n½, rms and lack of fit of a line; `told`: whether it must be one.

    What no machine has, no start-up time or a rate above the line rate `limit`, is not told as a
    number, nor n½ of fewer than LEAST_FOR_HALF launches; the reason stands in its place.
    """
    points, rms, lack = str(line.points), percent(line.rms), line.lack_of_fit
    fit = "–" if lack is None else p_text(lack)
    if told and line.poor:
        why = Cell("–", title=f"no line: {line.poor}")
        return [points, why, why, why, rms, Cell(fit, badges=(f"no line: {line.poor}",))]
    start_text, beta = f"{line.alpha_s:.9g} s", f"β = {line.beta_s_per_byte:.9g} s/byte"
    start = _known(line.alpha_s, line.alpha, lambda s: significant(s * 1e6), start_text)
    fastest = line.bandwidth_bytes_per_s
    rate = _known(fastest, line.bandwidth, lambda rate: significant(rate / unit.factor), beta)
    half_bytes = line.half_length_bytes
    half_bytes = None if half_bytes is None or half_bytes < 0 else half_bytes
    half = _known(half_bytes, line.half_length, about_bytes_text)
    if launches < LEAST_FOR_HALF:
        half = Cell("–", badges=(f"needs {LEAST_FOR_HALF} launches",))
    no_half = Cell("–", title="needs a start-up time and a rate")
    if (line.alpha is None or line.alpha.low > 0) and line.alpha_s < LEAST_START_S:
        start, half = Cell("–", title=start_text, badges=("no start-up time is seen",)), no_half
    if limit is not None and fastest is not None and fastest > MOST_OF_LIMIT * limit:
        above = f"above the line rate, {quantity(limit, readable_unit('bytes/s', [limit]))}"
        rate, half = Cell("–", title=beta, badges=(above,)), no_half
    return [points, start, rate, half, rms, fit]


def _known(
    value: float | None, interval: Interval | None, text: Callable[[float], str], title: str = ""
) -> Cell:
    """A value with its interval, or the side of it that is known."""
    shown = "–" if value is None else text(value)
    if interval is None:
        return Cell(shown, title=title)
    if math.isinf(interval.high):
        return Cell(f"> {text(interval.low)}" if interval.low > 0 else "–", title=title)
    if interval.low <= 0:
        return Cell(f"< {text(interval.high)}", title=title)
    return Cell(f"{shown} ({between(interval.low, interval.high, text)})", title=title)


def switches_table(analysis: Analysis, check: str) -> Table | None:
    """The breaks of a check: protocol switches, and bends of the slope."""
    lines: list[_Told] = []
    for curve in curves(analysis, check):
        for one in curve.model.breaks:
            step, support = signed_percent(1 + one.step), percent(one.support, 0)
            interval = between(one.low_bytes, one.high_bytes, bytes_text)
            place = between(one.below_bytes, one.above_bytes, bytes_text)
            what = "switch" if one.is_switch else "bend"
            lines.append((curve, what, place, [step, support, interval]))
        if not curve.model.breaks:
            lines.append((curve, "none", "–", ["–", "–", "–"]))
    columns: list[Heading] = ["step of the time", "found again in", "95 % interval"]
    return pivot(
        lines,
        _leads("what", "between"),
        [(columns, lambda line: line[0][3])],
        anchor=f"table-{check}-switches",
        title="Protocol switches",
        note="A switch: the time steps, by more than 5 % and three times the scatter, between the"
        " last size below and the first above. A bend: only the slope changes, as where a link or"
        " a cache fills. Found again: the share of bootstrap replicates that breaks in the same"
        " interval; from five launches on launches are drawn anew, below residuals.",
        group=2,
    )


def fits_picture(analysis: Analysis, check: str) -> Picture | None:
    """A check's lines over its points, one panel a curve; dashed: switches."""
    return picture_of(
        analysis,
        curves(analysis, check),
        lambda curve: _panel(analysis, curve),
        anchor=f"picture-{check}-fits",
        title="One-way time and its laws",
        caption="One panel for each curve: dots are medians over launches, lines the laws of the"
        " protocol segments that are lines. Dashed: protocol switches; dotted: bends of the slope."
        " 0 bytes are not drawn.",
    )


def _panel(analysis: Analysis, curve: Curve) -> Panel:
    name, look = joined(curve.title, curve.environment), analysis.looks[curve.environment]
    drawn = [(m, t * 1e6) for m, t in zip(curve.sizes, curve.times_s, strict=True) if m > 0]
    sizes, medians_us = zip(*drawn, strict=True)
    marks: list[Mark] = [
        Series(
            sizes,
            medians_us,
            look,
            curve.environment,
            width=0,
            size=4,
            alpha=0.6,
            hollow=[shares_cores(curve.flags)] * len(sizes),
        )
    ]
    told = []
    for line in curve.model.segments:
        law = f"no line, {line.poor}"
        if not line.poor:
            inside = [m for m in sizes if line.first_bytes <= m <= line.last_bytes]
            times_us = [line.at(m) * 1e6 for m in inside]
            marks.append(Series(inside, times_us, Look(look.colour, "", ())))
            law = f"{significant(line.alpha_s * 1e6)} µs and"
            law += f" {significant(line.beta_s_per_byte * 1e9)} ns a byte"
        told.append(f"{between(line.first_bytes, line.last_bytes, bytes_text)}: {law}")
    for one in curve.model.breaks:
        place = (max(one.below_bytes, 1) * one.above_bytes) ** 0.5
        dashes = (4, 3) if one.is_switch else (1, 2)
        marks.append(Rule(place, "x", width=1.1, dashes=dashes))
    return Panel(
        name,
        marks,
        f"{name}: {'; '.join(told)}",
        Axis(MESSAGE_LENGTH, scale="bytes"),
        Axis("one-way time, µs", scale="log"),
        counted_footer(analysis, curve.launches),
    )
