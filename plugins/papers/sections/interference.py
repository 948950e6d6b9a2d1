# SPDX-License-Identifier: Apache-2.0
"""Messages and computing at the same time.

After Dunigan's routing test of 1988 (ORNL/TM-10881, section 4): a counting loop on a node with and
without messages passing; there about 30 % slow-down for short messages on machines whose processor
forwarded them, none where the network did.
"""

from __future__ import annotations

from plugins.papers.paired import case_and_message, over_lengths
from reports.analysis.run import Analysis, Row
from reports.notation.units import PLAIN, ReadableUnit, readable_unit
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
    )


SECTION = Section(
    pictures=[
        over_lengths(
            _CHECK,
            metric,
            anchor=f"picture-interference-{metric.replace('_', '-')}",
            title=title,
            caption=caption,
        )
        for metric, title, caption in (
            ("compute_slowdown", "Slow-down of counting", "1: no interference."),
            ("message_slowdown", "Slow-down of messages", "1: no interference."),
            ("overlap", "Exchange hidden by computing", "1: the whole exchange hides."),
        )
    ],
    tables=(costs_table,),
)
