# SPDX-License-Identifier: Apache-2.0
"""Messages and computing at the same time: one table and one picture.

After Dunigan's routing test of 1988 (ORNL/TM-10881, section 4): a counting loop on a node with and
without messages passing; there about 30 % slow-down for short messages on machines whose processor
forwarded them, none where the network did.
"""

from __future__ import annotations

from reports.analysis.run import Analysis, Row
from reports.checks.common.curves import case_and_message
from reports.notation.units import ReadableUnit, count_text, readable_unit
from reports.notation.values import PLAIN
from reports.show.lines import MESSAGE_LENGTH, footer, lines_of, picture_of, ranges_text
from reports.show.panel import Axis, Panel, Picture, Rule
from reports.show.rows import environment_cell, message_bytes, value_cell
from reports.show.section import Section
from reports.show.tables import Cell, Table, across, pivot

_CHECK = "interference"
_WHO = {
    "endpoint": "on the rank they are for",
    "same-node": "on an endpoint's node",
    "other-node": "on a node they do not touch",
}
_PERCENT = ReadableUnit("%", 0.01)
#: Columns of the table, by metric and, where it has several points, whose: heading and unit, None:
#: a readable one after each value.
_COLUMNS: dict[tuple[str, str], tuple[str, ReadableUnit | None]] = {
    **{("compute_slowdown", k): (f"counting {v}: slow-down", PLAIN) for k, v in _WHO.items()},
    ("exchange_time", ""): ("exchange, µs", ReadableUnit("µs", 1e-6)),
    ("overlap", ""): ("overlap, %", _PERCENT),
    ("availability", ""): ("availability, %", _PERCENT),
    ("stream_rate", "resting"): ("stream, neighbours resting", None),
    ("stream_rate", "computing"): ("neighbours computing", None),
    ("message_slowdown", ""): ("slow-down of messages", PLAIN),
}
#: Panels: metric, whose, title, and whether it is a share.
_PANELS = (
    *(("compute_slowdown", who, f"counting {text}", False) for who, text in _WHO.items()),
    ("message_slowdown", "", "beside computing neighbours", False),
    ("overlap", "", "exchange hidden by computing", True),
    ("availability", "", "processor left to computing", True),
)


def costs_table(analysis: Analysis) -> Table | None:
    """Slow-downs, stream rates and overlap by message length, environments below each other."""
    names = list(analysis.looks)

    def order(row: Row) -> tuple[object, ...]:
        case = analysis.case(row)
        label = ", ".join(analysis.labels[_CHECK].parts(case))
        return label, message_bytes(row), names.index(case.environment)

    def column(row: Row) -> tuple[str, str]:
        whose = row.series.at_value("counting") or row.series.at_value("neighbours") or ""
        return row.series.metric, str(whose)

    def cell(rows: list[Row]) -> Cell:
        if not rows:
            return Cell("–", title="no such neighbour, or no valid launch")
        if (unit := _COLUMNS[column(rows[0])][1]) is not None:
            return value_cell(rows, unit)
        return value_cell(rows, readable_unit(rows[0].unit, [rows[0].summary.mean]), label=True)

    return pivot(
        sorted(analysis.rows_of(_CHECK), key=order),
        [
            ("case, message", lambda row: case_and_message(analysis, row)),
            ("environment", lambda row: environment_cell(analysis, row)),
        ],
        [across(_COLUMNS, column, cell, lambda key: _COLUMNS[key][0])],
        anchor="table-interference",
        title="What messages and computing cost each other",
        note="Slow-down: time of a counting loop while messages pass over its time while all other"
        " ranks rest, or of a stream's window beside computing neighbours over beside resting ones;"
        " mean ± s over launches of medians. Overlap = 1 − (t_both − t_compute)/t_exchange;"
        " availability = t_compute/t_both, computing as long as the exchange. In 1988 counting on"
        " nodes that forwarded messages took about 30 % longer on iPSC/1 and Ncube, no longer on"
        " iPSC/2.",
        group=1,
    )


def costs_picture(analysis: Analysis) -> Picture | None:
    """Slow-down of counting, and overlap, against message length; a panel each."""
    panels = []
    for metric, who, title, is_share in _PANELS:
        rows = analysis.rows_of(_CHECK, metric)
        rows = [row for row in rows if not who or row.series.at_value("counting") == who]
        if rows:
            # Neighbours by the case of most ranks, endpoints by that of fewest.
            choose = min if is_share or who == "endpoint" else max
            ranks = choose(analysis.case(row).ranks for row in rows)
            kept = {
                (analysis.case(row).environment, message_bytes(row)): row
                for row in rows[::-1]
                if analysis.case(row).ranks == ranks
            }
            panels.append(
                (f"{title}, {count_text(ranks, 'rank')}", metric, is_share, [*kept.values()])
            )
    return picture_of(
        analysis,
        panels,
        lambda panel: _panel(analysis, *panel),
        anchor="picture-interference",
        title="Messages and computing beside each other",
        caption="Slow-down 1: no interference. Overlap 100 %: the whole exchange hides behind"
        " computing. Lines: means; bands: ± s; dots: single launches. Of several cases the one of"
        " fewest ranks for endpoints, of most for neighbours.",
    )


def _panel(analysis: Analysis, title: str, metric: str, is_share: bool, rows: list[Row]) -> Panel:
    unit = _PERCENT if is_share else PLAIN
    lines = lines_of(analysis, rows, lambda row: float(max(1, message_bytes(row))), unit)
    lengths = [place for line in lines for place in line.x]
    greatest = max(most for line in lines for most in line.y)
    return Panel(
        title,
        [*lines, Rule(1 / unit.factor, "y")],
        f"{title}: {ranges_text(lines, unit.label)}",
        Axis(MESSAGE_LENGTH, scale="bytes", low=min(lengths) / 1.4, high=max(lengths) * 1.4),
        Axis(
            f"{metric}, %" if is_share else "slow-down, ratio of times",
            low=0,
            high=105 if is_share else 1.15 * max(1.0, greatest),
        ),
        footer(analysis, rows),
    )


SECTION = Section(pictures=(costs_picture,), tables=(costs_table,))
