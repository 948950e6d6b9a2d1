# SPDX-License-Identifier: Apache-2.0
"""Ping-pong, echo and NetPIPE as laws: lines per protocol segment, and protocol switches; what laws
add to the checks of a report."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from plugins.predict.launches import with_launches
from plugins.predict.operations import CHECK, against_counts, expressions, latencies
from plugins.predict.parts import LEAST_POINTS
from plugins.predict.point_to_point import MOST_SIZES, Line, Segmentation, segmented
from reports.analysis.run import Analysis, Row, flags_of
from reports.checks.common import chosen_construct
from reports.notation import units
from reports.notation.units import between, quantity
from reports.show.lines import EFFORT, iterations, line_rate
from reports.show.panel import Picture
from reports.show.rows import message_bytes, name_cell
from reports.show.tables import Cell, Column, Heading, Lead, Table, numeric, pivot
from reports.statistics.descriptive import Interval

#: Curves beyond these are not fitted; the note says so.
MOST_CURVES = 24
#: Fewer launches give no n½: of two, one outlier decides the quotient.
LEAST_FOR_HALF = 3
#: A start-up time below this is none that a message can have.
LEAST_START_S = 10e-9
#: A rate of more than this share of the line rate is none that the link can carry.
MOST_OF_LIMIT = 1.02
#: Checks with curves, and the metric of each.
_METRICS = {
    **dict.fromkeys(("echo", "pt2pt"), "half_round_trip"),
    "netpipe": "netpipe_half_round_trip",
}


@dataclass(frozen=True)
class Curve:
    """Median half round trip, s, over launches for each length of one placement and environment.

    Cases that differ only in sizes, iterations and warm-up are one curve; where two have the same
    length, the one of more iterations counts. `limit_bytes_per_s`: the line rate, between nodes;
    `launches`: of the length that has the fewest.
    """

    title: str
    environment: str
    sizes: list[int]
    times_s: list[float]
    launches: int
    flags: tuple[str, ...]
    model: Segmentation
    limit_bytes_per_s: float | None = None


@lru_cache(maxsize=16)
def curves(analysis: Analysis, check: str) -> tuple[Curve, ...]:
    """The curves of a check with enough sizes, at most MOST_CURVES; one construct of each."""
    fitted = []
    for (title, environment), by_size in [*_groups(analysis, check).items()][:MOST_CURVES]:
        sizes = sorted(by_size)
        rows = [by_size[size] for size in sizes]
        times_s = [row.summary.median for row in rows]
        # The launches' times, a row a size, a column a block; NaN where there is none.
        known = [row.series.by_block() for row in rows]
        blocks = sorted({block for times in known for block in times})
        launches = np.array([[times.get(block, np.nan) for block in blocks] for times in known])
        fitted.append(
            Curve(
                title,
                environment,
                sizes,
                times_s,
                min(row.summary.n for row in rows),
                flags_of(rows),
                with_launches(segmented(sizes, times_s), sizes, launches),
                line_rate(analysis) if analysis.case(rows[0]).nodes > 1 else None,
            )
        )
    return tuple(fitted)


@lru_cache(maxsize=16)
def _groups(analysis: Analysis, check: str) -> dict[tuple[str, str], dict[int, Row]]:
    """By title and environment, the row of each size; in reading order."""
    rows = analysis.rows_of(check, _METRICS[check])
    chosen = chosen_construct(rows)
    groups: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        if row.series.at_value("construct") == chosen:
            case = analysis.case(row)
            title = analysis.labels[check].name(case, EFFORT)
            by_size = groups.setdefault((title, case.environment), {})
            known = by_size.setdefault(message_bytes(row), row)
            if iterations(analysis, known) < iterations(analysis, row):
                by_size[message_bytes(row)] = row
    order = list(analysis.looks)
    keys = [key for key, sizes in groups.items() if LEAST_POINTS <= len(sizes) <= MOST_SIZES]
    keys.sort(key=lambda key: (key[0], order.index(key[1])))
    return {key: groups[key] for key in keys}


#: A line of a table: its curve, its sizes, and its cells.
_Told = tuple[Curve, str, list[str | Cell]]


def _lines(
    lines: Sequence[_Told],
    sizes: str,
    headings: list[Heading],
    *,
    anchor: str,
    title: str,
    note: str,
) -> Table | None:
    leads: list[Lead[_Told]] = [
        ("case", lambda line: line[0].title),
        ("environment", lambda line: name_cell(line[0].environment, line[0].flags)),
        (numeric(sizes), lambda line: line[1]),
    ]
    cells = [(headings, lambda line: line[0][2])]
    return pivot(lines, leads, cells, anchor=anchor, title=title, note=note)


def fits_table(analysis: Analysis, check: str) -> Table | None:
    """Start-up time, rate and n½ of each protocol segment of a check."""
    every = curves(analysis, check)
    rates = (line.bandwidth_bytes_per_s for curve in every for line in curve.model.segments)
    unit = units.readable_unit("bytes/s", filter(None, rates))
    more = len(_groups(analysis, check)) - MOST_CURVES
    return _lines(
        [
            (
                curve,
                between(line.first_bytes, line.last_bytes, units.bytes_text),
                _numbers(line, unit, curve.limit_bytes_per_s, curve.launches),
            )
            for curve in every
            for line in curve.model.segments
        ],
        "sizes",
        numeric(
            *("points", "α, µs", f"R∞ = 1/β, {unit.label}"),
            *("n½ = α/β", "rms of residuals", "lack of fit"),
        ),
        anchor=f"table-{check}-fits",
        title="Start-up time and rate by protocol segment",
        note="t(m) = α + β·m for the median one-way time over launches, α, β ≥ 0, least squares"
        " of relative residuals in each segment. In brackets: the 95 % interval (93.75 % of five"
        " launches) from launches drawn anew, from five on. Lack of fit: p that launches of such"
        " scatter lie on a line. No line, so neither latency nor rate, where the residuals have"
        " more than 15 % rms, or more than 5 % at p < 0.01, or α would be negative."
        " Ping-pong with several constructs: Send/Recv."
        + (f" {more} further curves are not fitted." if more > 0 else ""),
    )


def _numbers(
    line: Line, unit: units.ReadableUnit, limit: float | None, launches: int = LEAST_FOR_HALF
) -> list[str | Cell]:
    """Points, α, R∞, n½, rms and lack of fit of a line.

    What no machine has, no start-up time or a rate above the line rate `limit`, is not shown as a
    number, nor n½ of fewer than LEAST_FOR_HALF launches; the reason stands in its place.
    """
    points, rms, lack = str(line.points), units.percent(line.rms), line.lack_of_fit
    fit = "–" if lack is None else units.p_text(lack)
    if line.poor:
        why = Cell("–", title=f"no line: {line.poor}")
        return [points, why, why, why, rms, Cell(fit, badges=(f"no line: {line.poor}",))]
    start_text, beta = f"{line.alpha_s:.9g} s", f"β = {line.beta_s_per_byte:.9g} s/byte"
    start = _known(line.alpha_s, line.alpha, lambda s: units.significant(s * 1e6), start_text)
    fastest = line.bandwidth_bytes_per_s
    rate = _known(fastest, line.bandwidth, lambda rate: units.significant(rate / unit.factor), beta)
    half = _known(line.half_length_bytes, line.half_length, units.about_bytes_text)
    if launches < LEAST_FOR_HALF:
        half = Cell("–", badges=(f"needs {LEAST_FOR_HALF} launches",))
    no_half = Cell("–", title="needs a start-up time and a rate")
    if (line.alpha is None or line.alpha.low > 0) and line.alpha_s < LEAST_START_S:
        start, half = Cell("–", title=start_text, badges=("no start-up time is seen",)), no_half
    if limit is not None and fastest is not None and fastest > MOST_OF_LIMIT * limit:
        above = f"above the line rate, {quantity(limit, units.readable_unit('bytes/s', [limit]))}"
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
        for end in curve.model.breaks:
            sizes = between(end.below_bytes, end.above_bytes, units.bytes_text)
            step, kind = units.signed_percent(1 + end.step), "switch" if end.is_switch else "bend"
            known = ["–", "–"]
            if end.support is not None:
                ends = between(end.low_bytes, end.high_bytes, units.bytes_text)
                known = [units.percent(end.support, 0), ends]
            lines.append((curve, sizes, [kind, step, *known]))
        if not curve.model.breaks:
            lines.append((curve, "–", ["none", "–", "–", "–"]))
    return _lines(
        lines,
        "between",
        [Column("what"), "step of the time", "found again in", "95 % interval"],
        anchor=f"table-{check}-switches",
        title="Protocol switches",
        note="A switch: the time steps, by more than 5 % and three times the scatter, between the"
        " last size below and the first above. A bend: only the slope changes, as where a link or"
        " a cache fills. Found again: from five launches on, the share of resampled launches"
        " whose time breaks in the same interval.",
    )


def check_parts(
    analysis: Analysis, check: str
) -> tuple[Callable[[], list[Picture]], Callable[[], list[Table]]]:
    """Functions that make the pictures and tables that laws add to a check."""
    pictures: tuple[Callable[[], Picture | None], ...] = ()
    tables: tuple[Callable[[], Table | None], ...] = ()
    if check in _METRICS:
        tables = partial(fits_table, analysis, check), partial(switches_table, analysis, check)
    elif check == CHECK:
        pictures = (partial(against_counts, analysis),)
        tables = partial(expressions, analysis), partial(latencies, analysis)
    return (
        lambda: [picture for make in pictures if (picture := make())],
        lambda: [table for make in tables if (table := make())],
    )
