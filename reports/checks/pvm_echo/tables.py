# SPDX-License-Identifier: Apache-2.0
"""Tables of PVM's protocols, after the study of 1995."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reports.analysis import Analysis, Row
from reports.checks.common.cells import name_cell
from reports.checks.pvm_echo.measured import PVM, Key, Line, cost_ratios, lines_of
from reports.notation.units import ReadableUnit, bytes_text
from reports.notation.values import between, not_resolved, with_spread
from reports.show.lines import joined
from reports.show.rows import environment_cell, message_bytes, value_cell
from reports.show.tables import Cell, Column, Table, Value, pivot
from reports.statistics.descriptive import summarise

#: In the study's order of cost: psend, then InPlace and Raw, then Default (XDR).
PROTOCOLS = ("psend", "InPlace", "Raw", "Default")
#: Which protocol costs no more than which, by the study.
ORDER = (("psend", "InPlace"), ("psend", "Raw"), ("InPlace", "Default"), ("Raw", "Default"))
STEPS = ("pack_time", "send_time", "wait_time", "unpack_time")
LEAST_N = 3

_US = ReadableUnit("µs", 1e-6)
_MB_PER_S = ReadableUnit("MB/s", 1e6)


def protocols_table(analysis: Analysis) -> Table | None:
    """Protocol against latency and bandwidth, MPI's on the same nodes above PVM's."""
    lines = lines_of(analysis, "half_round_trip_mean")
    if not any(line.key.check == PVM for line in lines):
        return None
    names = list(analysis.looks)
    medians = {line.key: line for line in lines_of(analysis, "half_round_trip")}

    def order(line: Line) -> tuple[object, ...]:
        key, own = line.key, line.key.check == PVM
        place = PROTOCOLS.index(key.protocol) if own else 0
        environment = names.index(key.environment)
        return key.placement, own, key.check, environment, key.route != "direct", place

    def protocol(line: Line) -> str:
        key = line.key
        return key.protocol if key.check == PVM else f"{key.protocol} ({key.check})"

    def shortest(lines: list[Line]) -> list[Cell]:
        size, times_s = medians.get(lines[0].key, lines[0]).shortest()
        return [_mean_cell(times_s, _US), Cell(bytes_text(size))]

    def longest(lines: list[Line]) -> list[Cell]:
        size, rates = lines[0].bandwidths()
        launches = len(lines[0].points[size])
        return [_mean_cell(rates, _MB_PER_S), Cell(bytes_text(size)), Cell(str(launches))]

    return pivot(
        sorted(lines, key=order),
        [
            ("tasks", lambda line: line.key.placement.replace("-", " ")),
            ("environment", lambda line: name_cell(line.key.environment, sorted(line.flags))),
            ("protocol", protocol),
            ("route", lambda line: line.key.route or "–"),
        ],
        [
            ("latency ± s, µs", lambda lines: _mean_cell(lines[0].latencies(), _US)),
            (["shortest message ± s, µs", "at"], shortest),
            (["bandwidth ± s, MB/s", "at", "n"], longest),
        ],
        anchor="table-pvm-protocols",
        title="PVM's protocols beside MPI's: latency and bandwidth",
        note="From the mean of each launch's half round trips, as in the study"
        " of 1995 (H. Casanova, J. Dongarra, W. Jiang): latency is the intercept of a straight line"
        " through the messages up to 1024"
        " bytes, no measured time; bandwidth is that of the longest message. Beside them the half"
        " round trip of the shortest message, as the launches' medians have it. Mean and standard"
        " deviation over launches, n of them. direct: a TCP connection of the two tasks; daemon:"
        " from daemon to daemon. psend: pvm_psend and pvm_precv; the others: pvm_send and"
        " pvm_recv with this encoding.",
        group=1,
    )


def _mean_cell(values: Sequence[float], unit: ReadableUnit) -> Cell:
    if not values:
        return Cell("–")
    summary = summarise(values)
    return Cell(with_spread(summary.mean, summary.stddev, unit))


def order_table(analysis: Analysis) -> Table | None:
    """Does what was dearer in 1995 cost as much or more here? Each pair, route and length."""
    lines = {line.key: line for line in lines_of(analysis, "half_round_trip")}
    places = sorted(
        {(k.placement, k.environment, k.route) for k in lines if k.check == PVM},
        key=lambda place: (place[0], place[1], place[2] != "direct"),
    )
    #: A place, a message length, and the cell of each pair of protocols there.
    found: list[tuple[tuple[str, str, str], int, dict[tuple[str, str], Cell]]] = []
    for place in places:
        placement, environment, route = place
        own = {p: lines.get(Key(placement, environment, PVM, p, route)) for p in PROTOCOLS}
        cells: dict[int, dict[tuple[str, str], Cell]] = {}
        for pair in ORDER:
            cheap, dear = own[pair[0]], own[pair[1]]
            if cheap is not None and dear is not None:
                for size, logs in cost_ratios(cheap, dear):
                    cells.setdefault(size, {})[pair] = _ratio_cell(logs)
        found += [(place, size, cells[size]) for size in sorted(cells)]
    return pivot(
        found,
        [
            ("tasks", lambda line: line[0][0].replace("-", " ")),
            ("environment", lambda line: name_cell(line[0][1])),
            ("route", lambda line: line[0][2]),
            (Column("message", numeric=True), lambda line: bytes_text(line[1])),
        ],
        [
            (
                [f"{dear} over {cheap}" for cheap, dear in ORDER],
                lambda line: [line[0][2].get(pair, Cell("–")) for pair in ORDER],
            )
        ],
        anchor="table-pvm-order",
        title="The order of cost: psend ≤ InPlace, Raw ≤ Default",
        note="Ratio of the launches' median half round trips, paired by block: geometric mean and"
        " its 95 % interval (Student's, of the logarithms). “as in 1995”: the whole interval is at"
        " or above 1; “reversed”: below 1; else the order is not resolved at this n. This is the"
        " order of the study's bandwidths; in latency it found InPlace, two messages on the"
        " network, dearer than Raw.",
        group=3,
    )


def _ratio_cell(logs: Sequence[float]) -> Cell:
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


def steps_table(analysis: Analysis) -> Table | None:
    """Where the time of a round trip goes on the asking task, beside the price of one copy."""
    rows = analysis.rows_of(PVM, *STEPS)
    copy = {
        (row.series.case, message_bytes(row)): row for row in analysis.rows_of(PVM, "copy_time")
    }

    def message(row: Row) -> str:
        parts = analysis.labels[PVM].parts(analysis.case(row))
        return joined(*parts, bytes_text(message_bytes(row)))

    def order(row: Row) -> tuple[int, int, int]:
        protocol = PROTOCOLS.index(str(row.series.at_value("construct")))
        return row.series.case, message_bytes(row), protocol

    def step(name: str) -> Value[Row]:
        def cell(rows: list[Row]) -> Cell:
            return value_cell([row for row in rows if row.series.metric == name], _US)

        return f"{name.removesuffix('_time')}, µs", cell

    def of_copy(rows: list[Row]) -> Cell:
        found = copy.get((rows[0].series.case, message_bytes(rows[0])))
        return value_cell([found] if found else [], _US)

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
        note="Steps of the asking task, timed in round trips of their own: packing (pvm_initsend"
        " and pvm_pk…), the send call, waiting for the answer to be in, unpacking; the partner's"
        " own packing and unpacking lies in the waiting. One copy: memcpy of the message. Mean and"
        " standard deviation over launches of the launch's median.",
        group=2,
    )
