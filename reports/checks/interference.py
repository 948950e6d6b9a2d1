# SPDX-License-Identifier: Apache-2.0
"""Messages and computing beside each other: one table and one picture.

After Dunigan's routing test of 1988 (ORNL/TM-10881, section 4): a counting loop on a node with and
without messages passing; there about 30 % slow-down for short messages on machines whose processor
forwarded them, none where the network did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.analysis import Analysis, Row, flags_of
from reports.notation.labels import value_text
from reports.notation.palette import QUIET
from reports.notation.units import bytes_text, percent, three_digits
from reports.show.canvas import Line, Panel, draw_line, finish, log_bytes_axis, new_panel
from reports.show.lines import Picture, footer
from reports.show.tables import Cell, Table, columns_of

_CHECK = "interference"
_WHO = {
    "endpoint": "on the rank they are for",
    "same-node": "on an endpoint's node",
    "other-node": "on a node they do not touch",
}
_Key = tuple[str, str, int]


def interference_table(analysis: Analysis) -> Table | None:
    """Slow-downs, stream rates and overlap by message length, environments below each other."""
    groups: dict[_Key, list[Row]] = {}
    for row in analysis.rows_of(_CHECK):
        case = analysis.case(row)
        label = ", ".join(analysis.labels[_CHECK].parts(case))
        size = int(row.series.at_value("message_bytes") or 0)
        groups.setdefault((label, case.environment, size), []).append(row)
    if not groups:
        return None
    names = list(analysis.looks)
    order = sorted(groups, key=lambda key: (key[0], key[2], names.index(key[1])))
    rows = [_table_row(key, groups[key]) for key in order]
    starts = {i for i, key in enumerate(order) if i == 0 or key[::2] != order[i - 1][::2]}
    return Table(
        "table-interference",
        "What messages and computing cost each other",
        columns_of(
            ["case, message", "environment"],
            [
                *(f"counting {words}: slow-down" for words in _WHO.values()),
                "exchange, µs",
                "overlap",
                "availability",
                "stream, neighbours resting, MB/s",
                "neighbours computing, MB/s",
                "slow-down of messages",
            ],
        ),
        rows,
        "Slow-down: time of a counting loop while messages pass over its time while all other"
        " ranks rest, or of a stream's window beside computing neighbours over beside resting ones;"
        " mean over launches of medians. Overlap = 1 − (t_both − t_compute)/t_exchange;"
        " availability = t_compute/t_both, computing as long as the exchange. In 1988 counting on"
        " nodes that forwarded messages took about 30 % longer on iPSC/1 and Ncube, no longer on"
        " iPSC/2.",
        total=len(rows),
        groups=frozenset(starts),
    )


def _table_row(key: _Key, rows: Sequence[Row]) -> list[Cell]:
    label, environment, size = key
    head = ", ".join(part for part in (label, bytes_text(size)) if part)
    return [
        Cell(head),
        Cell(environment, environment=environment, badges=flags_of(rows)),
        *(_ratio(_find(rows, "compute_slowdown", "counting", who)) for who in _WHO),
        _scaled(_find(rows, "exchange_time"), 1e-6),
        _share(_find(rows, "overlap")),
        _share(_find(rows, "availability")),
        _scaled(_find(rows, "stream_rate", "neighbours", "resting"), 1e6),
        _scaled(_find(rows, "stream_rate", "neighbours", "computing"), 1e6),
        _ratio(_find(rows, "message_slowdown")),
    ]


def _find(rows: Sequence[Row], metric: str, key: str = "", value: str = "") -> Row | None:
    return next(
        (
            row
            for row in rows
            if row.series.metric == metric and (not key or row.series.at_value(key) == value)
        ),
        None,
    )


def _ratio(row: Row | None) -> Cell:
    return _cell(row, three_digits)


def _share(row: Row | None) -> Cell:
    return _cell(row, lambda value: percent(value, 0))


def _scaled(row: Row | None, unit: float) -> Cell:
    return _cell(row, lambda value: three_digits(value / unit))


def _cell(row: Row | None, text: Callable[[float], str]) -> Cell:
    if row is None:
        return Cell("–", title="no such neighbour, or no valid launch")
    spread = row.summary.stddev
    shown = text(row.summary.mean) + (f" ± {text(spread)}" if spread is not None else "")
    return Cell(shown, title=f"n = {row.summary.n}")


def interference_picture(analysis: Analysis) -> Picture | None:
    """Slow-down of counting, and overlap, against message length; a panel each."""
    panels: list[Panel] = []
    environments: set[str] = set()
    for metric, position, values in (
        ("compute_slowdown", "counting", tuple(_WHO)),
        ("message_slowdown", "", ("",)),
        ("overlap", "", ("",)),
        ("availability", "", ("",)),
    ):
        for value in values:
            rows = [
                row
                for row in analysis.rows_of(_CHECK, metric)
                if not position or row.series.at_value(position) == value
            ]
            if rows:
                panels.append(_panel(analysis, metric, value, rows))
                environments |= {analysis.case(row).environment for row in rows}
    if not panels:
        return None
    return Picture(
        "picture-interference",
        "Messages and computing beside each other",
        "Slow-down 1: no interference. Overlap 100 %: the whole exchange hides behind computing."
        " Lines: means; bands: ± s; dots: single launches. Of several cases"
        " the one of fewest ranks for endpoints, of most for neighbours.",
        panels,
        [name for name in analysis.looks if name in environments],
    )


_TITLES = {
    "message_slowdown": "beside computing neighbours",
    "overlap": "exchange hidden by computing",
    "availability": "processor left to computing",
}


def _panel(analysis: Analysis, metric: str, value: str, rows: list[Row]) -> Panel:
    """One quantity; neighbours by the case of most ranks, endpoints by that of fewest."""
    title = _TITLES.get(metric) or f"counting {_WHO.get(value, value_text(value))}"
    share = metric in ("overlap", "availability")
    choose = min if share or value == "endpoint" else max
    ranks = choose(analysis.case(row).ranks for row in rows)
    rows = [row for row in rows if analysis.case(row).ranks == ranks]
    ns = [row.summary.n for row in rows]
    figure, axes = new_panel(f"{title}, {ranks} ranks", footer(analysis, min(ns), max(ns)))
    scale = 100.0 if share else 1.0
    lines = [line for name in analysis.looks if (line := _line(analysis, name, rows, scale))]
    for line in lines:
        draw_line(axes, line, with_points=True)
    log_bytes_axis(axes)
    lengths = [place for line in lines for place in line.x]
    axes.set_xlim(min(lengths) / 1.4, max(lengths) * 1.4)
    axes.axhline(scale, color=QUIET, linewidth=1)
    axes.set_ylabel(f"{metric}, %" if share else "slow-down, ratio of times")
    greatest = max(most for line in lines for most in line.centre)
    axes.set_ylim(0, 105 if share else 1.15 * max(1.0, greatest))
    ranges = "; ".join(
        f"{line.name} {min(line.centre):.3g} to {max(line.centre):.3g}" for line in lines
    )
    return finish(figure, f"{title}: {ranges}")


def _line(analysis: Analysis, name: str, rows: Sequence[Row], scale: float) -> Line | None:
    found: dict[int, Row] = {}
    for row in rows:
        if analysis.case(row).environment == name:
            found.setdefault(max(1, int(row.series.at_value("message_bytes") or 0)), row)
    if not found:
        return None
    sizes = sorted(found)
    return Line(
        name,
        analysis.looks[name],
        [float(size) for size in sizes],
        [scale * found[size].summary.mean for size in sizes],
        [scale * (found[size].summary.stddev or 0.0) for size in sizes],
        [(float(s), scale * v) for s in sizes for v in found[s].series.values.tolist()],
    )
