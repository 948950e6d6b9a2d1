# SPDX-License-Identifier: Apache-2.0
"""PVM's protocols: their order of cost, and where the time of a round trip goes."""

from __future__ import annotations

import math

from reports.analysis import Analysis, Row
from reports.checks.common.cells import name_cell
from reports.notation.units import ReadableUnit, bytes_text
from reports.notation.values import between, not_resolved
from reports.show.lines import joined
from reports.show.rows import environment_cell, message_bytes, value_cell
from reports.show.section import Section
from reports.show.tables import Cell, Column, Table, Value, pivot
from reports.statistics.descriptive import summarise

_CHECK = "pvm_echo"
#: In the order of cost of 1995: psend, then InPlace and Raw, then Default (XDR).
PROTOCOLS = ("psend", "InPlace", "Raw", "Default")
#: Which protocol costs no more than which, by the study.
ORDER = (("psend", "InPlace"), ("psend", "Raw"), ("InPlace", "Default"), ("Raw", "Default"))
STEPS = ("pack_time", "send_time", "wait_time", "unpack_time")
LEAST_N = 3

_US = ReadableUnit("µs", 1e-6)


_ORDER_NOTE = (
    "Ratio of the launches' median half round trips, paired by block: geometric mean and"
    " its 95 % interval (Student's, of the logarithms). “as in 1995”: the whole interval is at"
    " or above 1; “reversed”: below 1; else the order is not resolved at this n. This is the"
    " order of the study's bandwidths; in latency it found InPlace, two messages on the"
    " network, dearer than Raw."
)


def order_table(analysis: Analysis) -> Table | None:
    """Does what was dearer in 1995 cost as much or more here? Each pair, route and length."""
    #: By placement, environment and route, then by message length and protocol: s by block.
    found: dict[tuple[str, str, str], dict[int, dict[str, dict[int, float]]]] = {}
    for row in analysis.rows_of(_CHECK, "half_round_trip"):
        case = analysis.case(row)
        placement, route = (str(case.params.get(name, "")) for name in ("placement", "route"))
        sizes = found.setdefault((placement, case.environment, route), {})
        protocols = sizes.setdefault(message_bytes(row), {})
        protocols.setdefault(str(row.series.at_value("construct")), {}).update(
            row.series.by_block()
        )
    places = sorted(found, key=lambda place: (place[0], place[1], place[2] != "direct"))
    lines = [
        (place, size, found[place][size])
        for place in places
        for size in sorted(found[place])
        if any(set(pair) <= found[place][size].keys() for pair in ORDER)
    ]
    return pivot(
        lines,
        [
            ("tasks", lambda line: line[0][0].replace("-", " ")),
            ("environment", lambda line: name_cell(line[0][1])),
            ("route", lambda line: line[0][2]),
            (Column("message", numeric=True), lambda line: bytes_text(line[1])),
        ],
        [
            (
                [f"{dear} over {cheap}" for cheap, dear in ORDER],
                lambda line: [_ratio_cell(line[0][2], *pair) for pair in ORDER],
            )
        ],
        anchor="table-pvm-order",
        title="The order of cost: psend ≤ InPlace, Raw ≤ Default",
        note=_ORDER_NOTE,
        group=3,
    )


def _ratio_cell(times: dict[str, dict[int, float]], cheap: str, dear: str) -> Cell:
    a, b = times.get(cheap, {}), times.get(dear, {})
    logs = [math.log(b[block] / a[block]) for block in sorted(a.keys() & b.keys())]
    if not logs:
        return Cell("–")
    summary = summarise(logs)
    ratio = f"{math.exp(summary.mean):.3g}"
    interval = summary.mean_interval
    if interval is None or summary.n < LEAST_N:
        return Cell(f"{ratio}: {not_resolved(summary.n)}")
    ends = between(interval.low, interval.high, lambda log: f"{math.exp(log):.3g}")
    word = "as in 1995" if interval.low >= 0 else "reversed" if interval.high < 0 else ""
    return Cell(f"{ratio} ({ends}): {word or not_resolved(summary.n)}")


_STEPS_NOTE = (
    "Steps of the asking task, timed in round trips of their own: packing (pvm_initsend"
    " and pvm_pk…), the send call, waiting for the answer to be in, unpacking; the partner's"
    " own packing and unpacking lies in the waiting. One copy: memcpy of the message. Mean and"
    " standard deviation over launches of the launch's median."
)


def steps_table(analysis: Analysis) -> Table | None:
    """Where the time of a round trip goes on the asking task, beside the price of one copy."""
    rows = analysis.rows_of(_CHECK, *STEPS)
    copies = {
        (row.series.case, message_bytes(row)): [row]
        for row in analysis.rows_of(_CHECK, "copy_time")
    }

    def message(row: Row) -> str:
        parts = analysis.labels[_CHECK].parts(analysis.case(row))
        return joined(*parts, bytes_text(message_bytes(row)))

    def order(row: Row) -> tuple[int, int, int]:
        protocol = PROTOCOLS.index(str(row.series.at_value("construct")))
        return row.series.case, message_bytes(row), protocol

    def step(name: str) -> Value[Row]:
        def cell(rows: list[Row]) -> Cell:
            return value_cell([row for row in rows if row.series.metric == name], _US)

        return f"{name.removesuffix('_time')}, µs", cell

    def of_copy(rows: list[Row]) -> Cell:
        return value_cell(copies.get((rows[0].series.case, message_bytes(rows[0])), []), _US)

    return pivot(
        sorted(rows, key=order),
        [
            ("case, message", message),
            ("environment", lambda row: environment_cell(analysis, row)),
            ("protocol", lambda row: str(row.series.at_value("construct"))),
        ],
        [
            *map(step, STEPS),
            ("one copy, µs", of_copy),
            ("n", lambda rows: str(max(row.summary.n for row in rows))),
        ],
        anchor="table-pvm-steps",
        title="Where the time of a PVM round trip goes",
        note=_STEPS_NOTE,
        group=2,
    )


SECTION = Section(tables=(order_table, steps_table))
